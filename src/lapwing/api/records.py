"""Where a release is recorded: its ledger entry and its transcript."""

import os
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lapwing.api.settings import Settings
from lapwing.budget.ledger import Ledger
from lapwing.errors import LapwingError, ParameterError
from lapwing.release.terms import Terms
from lapwing.release.transcript import NoTranscript, TranscriptFile, create_transcript


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """Name the ledger entry and the transcript of one release.

    Parameters
    ----------
    release_id : str
        Unique; the ledger debits it once, however often the release is resumed.
    ledger : str or None
        Path of the ledger file.
    dataset : str or None
        Name of the data set in the ledger.
    transcript : Path or None
        Path of the transcript.
    """

    release_id: str
    ledger: str | None
    dataset: str | None
    transcript: Path | None

    def to_dict(self) -> dict[str, Any]:
        """Return ledger and release id as plain JSON values, for the transcript."""
        return {"release_id": self.release_id, "ledger": self.ledger, "dataset": self.dataset}


def new_records(ledger: object, dataset: str | None, transcript: object) -> Records:
    """Choose a release id and the transcript's place, and make sure that the ledger knows the data set.

    Parameters
    ----------
    ledger : path or None
        A ledger made by ``lapwing ledger init``.
    dataset : str or None
        Its data set; may be left out when the ledger has one.
    transcript : path or None
        A file that does not exist; with a ledger and no path, a file in ``LEDGER.transcripts``.

    Raises
    ------
    ParameterError
        If a data set is named without a ledger.
    BudgetError, DataError
        If the ledger cannot be used, or refuses.
    """
    release_id = uuid.uuid4().hex
    path = None if transcript is None else Path(os.fspath(transcript))  # type: ignore[call-overload]
    if ledger is None:
        if dataset is not None:
            raise ParameterError(f"dataset {dataset!r} names an account in a ledger; give the ledger too")
        return Records(release_id=release_id, ledger=None, dataset=None, transcript=path)
    place = os.path.abspath(os.fspath(ledger))  # type: ignore[call-overload]
    book = Ledger.open(place)
    name = book.balance(dataset).dataset
    if path is None:
        path = Path(f"{place}.transcripts") / f"{release_id}.jsonl"
    return Records(release_id=release_id, ledger=place, dataset=name, transcript=path)


def open_sink(records: Records, settings: Settings, terms: Terms) -> TranscriptFile | NoTranscript:
    """Write the transcript's header, so that a crash right after the debit can be resumed."""
    if records.transcript is None:
        return NoTranscript()
    if _keeps_own_folder(records):
        records.transcript.parent.mkdir(exist_ok=True)
    return create_transcript(records.transcript, header(records, settings, terms))


def forget(records: Records, sink: TranscriptFile | NoTranscript) -> None:
    """Leave no file of a release that was refused before any answer."""
    sink.discard()
    if records.transcript is not None and _keeps_own_folder(records):
        with suppress(OSError):  # other releases keep their transcripts there
            records.transcript.parent.rmdir()


def _keeps_own_folder(records: Records) -> bool:
    """Tell whether the transcript lies in the ledger's folder rather than where the caller said."""
    return records.transcript is not None and str(records.transcript.parent) == f"{records.ledger}.transcripts"


def header(records: Records, settings: Settings, terms: Terms) -> Mapping[str, Any]:
    """Return the transcript's header: public settings, terms and ledger entry."""
    return {"settings": settings.to_dict(), "terms": terms.to_dict(), "records": records.to_dict()}


def debit_of(records: Records, settings: Settings, on_refusal: Callable[[], None]) -> Callable[[], None]:
    """Return the action that commits the ledger entry of this release, once, and tidies up when the ledger refuses."""

    def debit() -> None:
        if records.ledger is None:
            return
        try:
            Ledger.open(records.ledger).debit(
                records.dataset,
                records.release_id,
                settings.request.budget,
                relation=settings.relation,
                privacy_unit=settings.schema.unit_label,
                description={"mechanism": settings.mechanism.name, "schema": settings.schema.fingerprint},
            )
        except LapwingError:
            on_refusal()
            raise

    return debit
