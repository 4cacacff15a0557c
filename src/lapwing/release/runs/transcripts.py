"""Where this machine keeps the transcripts of a ledger, and which of them the ledger does not know."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from lapwing.errors import BudgetError, DataError
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.budget.store import is_address
from lapwing.kernel.room.holds import OWNER_ONLY, transcripts_of

_OF: Final = ".ledger"
"""Ends the name of an empty file that says whose a folder of transcripts is: addresses are spelled in many ways."""


def make_folder(ledger: str) -> None:
    """Make the folder of a ledger's transcripts, if it is not there; one that goes by an address notes whose it is."""
    folder = transcripts_of(ledger)
    try:
        folder.parent.mkdir(0o700, parents=True, exist_ok=True)
        folder.mkdir(0o700, exist_ok=True)  # unfinished releases are shown to nobody
        if is_address(ledger):
            (folder / f"{Ledger.open(ledger).identity()}{_OF}").touch(OWNER_ONLY)
    except OSError as error:
        reason = error.strerror
    else:
        return
    raise DataError(
        f"the folder {folder} cannot be made ({reason}); make the ledger's folder writable, with free space",
        code="LW115",
    )


def leave_folder(ledger: str | os.PathLike[str] | None) -> None:
    """Leave no empty folder of transcripts beside a ledger."""
    if ledger is None:
        return
    folder = transcripts_of(ledger)
    with suppress(OSError):  # other releases keep their transcripts there
        found = list(folder.iterdir())
        for each in found if all(each.suffix == _OF for each in found) else []:
            each.unlink()
        folder.rmdir()


def unpaid_transcripts(ledger: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Return the transcripts on this machine that hold answers of releases which their ledger does not know.

    A release is debited before it is answered, so each is a sign that an older copy of the ledger was put back.
    """
    # Answered ones first: whatever another process debits and answers from here on is no sign of anything.
    found = (path for folder in _folders(ledger) for path in sorted(folder.glob("*.jsonl")))
    answered = [path for path in found if is_answered(path)]
    unpaid = Ledger.open(ledger).unpaid([path.stem for path in answered]) if answered else frozenset()
    return tuple(path for path in answered if path.stem in unpaid)


def _folders(ledger: str | os.PathLike[str]) -> list[Path]:
    """Return the folders of a ledger's transcripts, also of one that goes by another spelling of its address."""
    own = transcripts_of(ledger)
    found = [own]
    if is_address(ledger):
        found += [each.parent for each in own.parent.glob(f"*/{Ledger.open(ledger).identity()}{_OF}")]
    return [each for each in dict.fromkeys(found) if each.is_dir()]


def lost_debit_error(transcript: Path) -> BudgetError:
    """Return the refusal of a ledger that lacks the debit of ``transcript``."""
    return BudgetError(
        f"the release of the transcript {transcript} has answers and the ledger beside it has no debit, so an older "
        "copy of the ledger was put back; put back the newest one, or resume that release, which debits it again",
        code="LW415",
    )


def is_answered(path: Path, *, unreadable: bool = False) -> bool:
    """Return whether a transcript has a whole line after its header; ``unreadable`` of one that cannot be read."""
    try:
        with open(path, "rb") as file:
            return all(file.readline().endswith(b"\n") for _ in range(2))
    except FileNotFoundError:
        return False
    except OSError:
        return unreadable
