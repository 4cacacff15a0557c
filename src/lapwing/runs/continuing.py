"""Take up the transcript of the same paid run: its answers are given again, and nothing is spent again."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lapwing.errors import DataError
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.room.transcript import continue_transcript
from lapwing.kernel.terms import Terms
from lapwing.runs.records import AccountedSink, PaidSettings, Records, new_records, open_sink
from lapwing.schema.scalars import path_text

Begun = tuple[AccountedSink, Records, tuple[Answer, ...]]
"""Where answers become durable, where the run is recorded, and the answers that are there already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """Where a paid run is to be recorded, as its caller says; the transcript may be there, of the same run."""

    ledger: object
    dataset: str | None
    transcript: object

    @property
    def path(self) -> Path | None:
        """Where the transcript is, or is to be."""
        return None if self.transcript is None else Path(path_text("transcript", self.transcript))

    def fresh(self) -> Records | None:
        """Return where a new run is recorded once the ledger knows the data set; None if its file is there."""
        if self.path is not None and self.path.exists():
            return None
        return new_records(self.ledger, self.dataset, self.transcript)

    def begin(self, records: Records | None, settings: PaidSettings, terms: Terms) -> Begun:
        """Begin the run that `fresh` returned records of, or take up the transcript."""
        if records is not None:
            return open_sink(records, settings, terms), records, ()
        assert self.path is not None
        return _continued(self.path, settings, terms, self)


def _continued(path: Path, settings: PaidSettings, terms: Terms, book: Book) -> Begun:
    """Take up the transcript of the same run, or refuse it."""
    sink, header, recorded = continue_transcript(path)
    records = _same_records(path, header, settings, terms)
    is_same = records is not None and book.dataset in (None, records.dataset)
    if book.ledger is not None and records is not None:
        is_same &= os.path.abspath(path_text("ledger", book.ledger)) == records.ledger
    if records is not None and is_same:
        return AccountedSink(sink, records, recorded), records, recorded
    sink.close()
    raise DataError(
        f"the transcript {path} is of another run: of other tables, settings or ledger; give a new file, or repeat the "
        "call that it is of",
        code="LW611",
    )


def _same_records(path: Path, header: Mapping[str, Any], settings: PaidSettings, terms: Terms) -> Records | None:
    """Return where the run of a transcript was recorded, or None where it is another one."""
    wanted = json.loads(json.dumps({"settings": settings.to_dict(), "terms": terms.to_dict()}))
    if any(header.get(key) != value for key, value in wanted.items()):
        return None
    try:
        return Records(**header["records"], transcript=path)
    except (KeyError, TypeError):
        return None
