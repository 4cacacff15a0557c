"""A release that was begun and not finished: what of it is paid, and how it goes on."""

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from lapwing.api.running import going_on, read_header
from lapwing.errors import DataError, LapwingError
from lapwing.extras.studio.asked import budget_words
from lapwing.extras.studio.jobs import Job, begun_release
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.room.holds import connect
from lapwing.release.runs.misfits import misfit_columns, remaining_budget
from lapwing.release.runs.records import Records, records_of, take_up
from lapwing.release.runs.settings import Settings
from lapwing.rows.entry import entering

TRANSCRIPT: Final = "transcript.jsonl"
_MADE: Final = ("*.certificate.json", "*.lapwing", "*-synthetic.*")
_HELD, _OVER = "LW612", "LW615"

State = Literal["open", "misfits", "spent", "held", "over", "broken"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfinishedRelease:
    """Say what there is of a release that was begun.

    state: `open` goes on free of charge; `misfits` ended by the stop rule, and goes on with a mended schema; `spent`
    ended so with all of its budget; `held` is being worked on by another process; `over` and `broken` do not go on;
    said: why; asked: its budget in words; is_paid: whether the ledger has its debit, or, without a ledger, whether it
    has answers; share: part of the budget that is answered, left: the rest, in words; misfits: columns with the least
    share of their cells that fit nothing; schema: fingerprint of the last one.
    """

    place: Path
    state: State
    said: str = ""
    asked: str = ""
    mechanism: str = ""
    is_paid: bool = True
    has_ledger: bool = False
    answers: int = 0
    share: float = 0.0
    misfits: tuple[tuple[str, float], ...] = ()
    left: str = ""
    schema: str = ""

    @property
    def transcript(self) -> Path:
        """Where its answers are."""
        return self.place / TRANSCRIPT


@contextmanager
def alone(job: Job, patience: float = 2.0) -> Iterator[None]:
    """Hold a job, so that no other process makes a release of it; one that is held for longer is refused."""
    until = time.monotonic() + patience
    while True:
        try:
            connection = connect(job.file("release"))
        except DataError as error:
            if error.code != _HELD:
                raise
        else:
            break
        if time.monotonic() > until:
            raise DataError(
                "another studio is making a release of this table at this moment; wait for it, and load this page "
                "again",
                code="LW612",
            )
        time.sleep(0.05)
    with closing(connection):
        yield


def unfinished_release(job: Job) -> UnfinishedRelease | None:
    """Return what there is of a release that was begun and not finished; a folder without answers is cleared away."""
    place = begun_release(job)
    if place is None:
        return None
    try:
        with alone(job, patience=0.2):
            clear_folder(place)
            with entering(job.data):
                found = _read(place, place / TRANSCRIPT) if place.exists() else None
            if found is not None and found.state == "open" and not found.is_paid and not found.answers:
                shutil.rmtree(place)  # it was ended before anything was paid
                found = None
            return found
    except LapwingError as error:
        state: dict[str, State] = {_HELD: "held", _OVER: "over"}
        return UnfinishedRelease(place=place, state=state.get(error.code or "", "broken"), said=str(error))


def clear_folder(place: Path) -> None:
    """Remove a folder in which nothing was paid for."""
    transcript = place / TRANSCRIPT
    with suppress(OSError):
        if transcript.is_file() and transcript.stat().st_size == 0:
            transcript.unlink()
        if not transcript.exists() and not any(list(place.glob(each)) for each in _MADE):
            shutil.rmtree(place)


def _read(place: Path, transcript: Path) -> UnfinishedRelease:
    """Read a transcript, which nobody else may hold."""
    with closing(take_up(transcript)) as taken:
        read = read_header(taken)
        if not isinstance(read, Settings) or read.linked is not None:
            what = "linked tables" if isinstance(read, Settings) else "a release without a schema"
            raise DataError(f"the transcript {transcript} is of {what}; finish it with `lapwing resume`", code="LW611")
        settings, _ = going_on(read, taken, None)
        records, given = records_of(taken), taken.given
    is_paid = _is_paid(place, records, given)
    if given and not is_paid:  # to finish it would debit it now
        raise DataError(
            f"{records.ledger} has no debit of the release in {place.name}, which has answers; put back the ledger "
            "that has it",
            code="LW611",
        )
    found = UnfinishedRelease(
        place=place,
        state="open",
        asked=budget_words(settings),
        mechanism=settings.name,
        is_paid=is_paid,
        has_ledger=records.ledger is not None,
        answers=len(given),
        share=_share(settings, given),
        schema=settings.schema.fingerprint,
    )
    bad = misfit_columns(settings.first, taken.recorded)
    if not bad:
        return found
    rest = remaining_budget(settings.request.budget, given)
    state: State = "misfits" if rest.amount > 0 else "spent"
    return replace(found, state=state, misfits=tuple(sorted(bad.items())), left=f"{100 * (1 - found.share):.0f} %")


def _is_paid(place: Path, records: Records, given: Sequence[Answer]) -> bool:
    """Return whether a release is paid for."""
    if records.ledger is None:
        return bool(given)
    if Path(records.ledger).resolve().parent != place.parents[2].resolve():  # another hand wrote this transcript
        raise DataError(
            f"{place.name} names the ledger {records.ledger}, which is not in the working folder; put the release and "
            "its ledger back into one",
            code="LW611",
        )
    return Ledger.open(records.ledger).find(records.dataset, records.release_id) is not None


def _share(settings: Settings, given: Sequence[Answer]) -> float:
    budget = settings.request.budget
    return 1.0 - float(remaining_budget(budget, given).amount / budget.amount)
