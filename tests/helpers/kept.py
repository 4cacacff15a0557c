"""Answers of a run that no file keeps."""

from lapwing.release.questions import Answer
from lapwing.release.transcript import NoTranscript


class Kept(NoTranscript):
    """Keep what is recorded, in order."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []

    def record(self, answers):
        """Keep answers."""
        self.answers.extend(answers)
