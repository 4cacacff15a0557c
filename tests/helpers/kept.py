"""Answers of a run that no file keeps."""

from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.room.transcript import NoTranscript


class Kept(NoTranscript):
    """Keep what is recorded, in order."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []

    def record(self, answers, part=""):
        """Keep answers."""
        self.answers.extend(answers)
