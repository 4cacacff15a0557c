"""Transcripts as runs leave them that end early."""

from pathlib import Path


def cut_after(path: Path, answers: int) -> str:
    """Return the text of a transcript as it was when so many answers were recorded, and no more were drawn."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return "".join(f"{line.rstrip()}\n" for line in lines[: 1 + answers])
