"""Where a paid run is recorded, how a transcript is taken up again, and how a run that failed is finished."""

import hashlib
import json
import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from lapwing.errors import (
    BudgetError,
    CapacityError,
    DataError,
    LapwingError,
    LapwingWarning,
    ParameterError,
    ReleaseMismatchError,
    warn,
)
from lapwing.kernel.budget.accounts import CODE, DRAWING
from lapwing.kernel.budget.budget import Budget, BudgetRequest
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.budget.store import place_of
from lapwing.kernel.codec import KNOWN
from lapwing.kernel.noise.bits import BitSource, SystemBits
from lapwing.kernel.questions.questions import RECORDS, Answer
from lapwing.kernel.room.begun import BegunRun, finish_of
from lapwing.kernel.room.holds import transcripts_of
from lapwing.kernel.room.opening import CuratorHandle, open_room, public_terms
from lapwing.kernel.room.transcript import (
    AnswerSink,
    NoTranscript,
    TranscriptFile,
    WatchedSink,
    answer_line,
    continue_transcript,
    create_transcript,
    is_over,
)
from lapwing.kernel.terms import Relation, Terms
from lapwing.on_demand import extra
from lapwing.release.runs.account_terms import everywhere
from lapwing.release.runs.misfits import ENDED, remaining_budget
from lapwing.release.runs.settings import SETTINGS, Settings, spending_of
from lapwing.release.runs.transcripts import (
    is_answered,
    leave_folder,
    lost_debit_error,
    make_folder,
    unpaid_transcripts,
)
from lapwing.release.runs.unaccounted import UnaccountedRun, remember
from lapwing.rows.counting import CodedSource
from lapwing.rows.source import coded_table
from lapwing.schema.named_files import refuse_private
from lapwing.schema.scalars import path_text, safe_repr, visible
from lapwing.schema.schemas import Schema
from lapwing.version import code_fingerprint


class PaidSettings(Protocol):
    """What must be known of settings that are paid for: of a release, or of an evaluation."""

    @property
    def name(self) -> str:
        """What the budget is spent on, for the ledger."""

    @property
    def schema(self) -> Schema:
        """Gives the privacy unit."""

    @property
    def request(self) -> BudgetRequest:
        """Gives the budget."""

    @property
    def parts(self) -> Mapping[str, Any]:
        """The settings of each table, by name; of one table these, by ""."""

    @property
    def selection_delta(self) -> Fraction:
        """What the deltas of all selections together may be; 0 where nothing is selected."""

    @property
    def relation(self) -> Relation:
        """The neighbour relation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """Name the ledger entry and the transcript of one release.

    release_id: unique; the ledger debits it once, however often the release is resumed.
    """

    release_id: str
    ledger: str | None
    dataset: str | None
    transcript: Path | None = field(metadata=KNOWN)


def _nobody(_: Sequence[Answer]) -> None:
    """Watch nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A paid run: where it is recorded, what pays for it, and what was answered already.

    What is done with it is a task, ``task(source, settings, terms, run)``: it refuses what can be refused, asks at
    `curator`, and returns a function of the answers, the settings and the seed.

    debit: commits the ledger entry, once; raises when the ledger refuses; secret_bits: makes the source of secret
    randomness, after the debit; recorded: answers of an interrupted run, given again without a draw; parts: of several
    tables, which one each of them is of; earlier: answers under a schema that was mended since, which are paid for.
    """

    records: Records
    debit: Callable[[], None]
    sink: AnswerSink
    secret_bits: Callable[[], BitSource] = SystemBits
    recorded: Sequence[Answer] = ()
    parts: Sequence[str] = ()
    part: str = ""
    earlier: Sequence[Answer] = ()
    most_cells: int | None = None

    def of(self, part: str) -> "Run":
        """Return the run of one table of several: its lines of the record bear its name."""
        own = tuple(answer for name, answer in zip(self.parts, self.recorded, strict=True) if name == part)
        return replace(self, part=part, recorded=own)

    def curator(
        self,
        source: CodedSource,
        schema: Schema,
        terms: Terms,
        budget: Budget,
        *,
        watch: Callable[[Sequence[Answer]], None] = _nobody,
        delta: Fraction = Fraction(0),
    ) -> CuratorHandle:
        """Debit, and return where questions are answered, with what a budget has left after `earlier`.

        watch: is shown new answers once they are durable.
        """
        return open_room(
            source,
            schema,
            terms,
            remaining_budget(budget, self.earlier),
            debit=self.debit,
            secret_bits=self.secret_bits,
            sink=WatchedSink(self.sink, watch, self.part),
            recorded=self.recorded,
            delta=delta,
            most_cells=self.most_cells,
        )


def new_records(ledger: object, dataset: str | None, transcript: object, settings: PaidSettings) -> Records:
    """Choose a release id and the transcript's place, if ledger and policies allow the release as they are now.

    dataset: its data set; may be left out when the ledger has one; transcript: a file that does not exist; with a
    ledger and no path, a file in ``LEDGER.transcripts``.
    """
    release_id = uuid.uuid4().hex
    path = None if transcript is None else Path(path_text("transcript", transcript))
    if ledger is None:
        if dataset is not None:
            raise ParameterError(
                f"data set {safe_repr(dataset)} is an account of a ledger; give the ledger too", code="LW413"
            )
        _policy_check(settings)()
        return Records(release_id=release_id, ledger=None, dataset=None, transcript=path)
    place = everywhere(path_text("ledger", ledger))
    book = Ledger.open(place)
    name = book.balance(dataset).dataset
    lost = unpaid_transcripts(place)
    if lost:
        raise lost_debit_error(lost[0])
    _policy_check(settings)(opened=book.opening(name), entries=partial(book.history, name))
    if path is None:
        path = transcripts_of(place) / f"{release_id}.jsonl"
    return Records(release_id=release_id, ledger=place, dataset=name, transcript=path)


def _policy_check(settings: PaidSettings) -> Callable[..., None]:
    """Return what refuses, by the time and the account's entries, what a policy forbids."""
    return partial(extra("policy").check_spending, spending_of(settings), extra("policy").in_force())


class AccountedSink:
    """Record answers in the transcript before they are returned, and note them in the ledger before more are drawn.

    That noise is about to be drawn is noted in both before: of copies of a transcript, the ledger lets one draw.

    recorded: answers that a resumed transcript holds already, with the part that each is of; None for a new release.
    """

    __slots__ = ("_digests", "_is_new", "_records", "_transcript")

    def __init__(
        self,
        transcript: TranscriptFile | NoTranscript,
        records: Records,
        recorded: Iterable[tuple[str, Answer]] | None = None,
    ) -> None:
        self._transcript = transcript
        self._records = records
        self._is_new = recorded is None
        self._digests = [_digest(answer_line(answer, part)) for part, answer in recorded or ()]

    def begin(self) -> None:
        """Make durable that noise is about to be drawn; what the ledger refuses leaves no mark."""
        self._transcript.begin()
        self._digests.append(DRAWING)
        try:
            self._note()
        except LapwingError:
            if not self._is_drawing():
                self._transcript.unmark()
            raise

    def refuse(self, code: str) -> None:
        """Make a refusal durable."""
        self._transcript.refuse(code)

    def record(self, answers: Sequence[Answer], part: str = "") -> None:
        """Make the answers durable; the ledger notes them with the next draw, or at the end."""
        self._transcript.record(answers, part)
        self._digests += [_digest(answer_line(answer, part)) for answer in answers]

    def debit(self, settings: PaidSettings) -> None:
        """Commit the ledger entry, once, unless a policy forbids it."""
        records, check = self._records, _policy_check(settings)
        if records.ledger is None:
            check()
            remember(records.release_id, _spent(settings))
        else:
            Ledger.open(records.ledger).debit(
                records.dataset,
                records.release_id,
                settings.request.budget,
                relation=settings.relation,
                privacy_unit=settings.schema.unit_label,
                description={
                    "mechanism": settings.name,
                    "settings": _digest(SETTINGS.write(settings)),
                    CODE: code_fingerprint(),
                },
                delta=settings.selection_delta,
                check=check,
            )
        self._is_new = False  # its answers are paid for, and stay
        self._note()

    def close(self) -> None:
        """Note the last answers and let go; a new release that was refused undebited leaves no file.

        Where the ledger fails to note them, it knows of their draw.
        """
        records = self._records
        with closing(self._transcript), suppress(LapwingError):
            if self._digests[-1:] not in ([], [DRAWING]):
                self._note()
            elif self._is_new and not _is_debited(records.ledger, records.dataset, records.release_id):
                self._transcript.discard()
                leave_folder(records.ledger)

    def _note(self) -> None:
        """Tell the ledger which answers were given, and whether more are about to be drawn."""
        if self._records.ledger is not None:
            Ledger(place_of(self._records.ledger)).note_answers(
                self._records.dataset, self._records.release_id, self._digests
            )

    def _is_drawing(self) -> bool:
        """Return whether the ledger has a draw all the same; False where it does not tell."""
        try:
            book = Ledger(place_of(str(self._records.ledger)))
            return book.is_drawing(self._records.dataset, self._records.release_id)
        except LapwingError:
            return False


def _spent(settings: PaidSettings) -> UnaccountedRun:
    """Return what is remembered of a run that no ledger knows."""
    schema, request = settings.schema, settings.request
    return UnaccountedRun(
        columns=frozenset(schema.names),
        relation=settings.relation,
        is_of_rows=schema.privacy_unit is None,
        budget=request.budget,
        delta=request.delta,
        selected=settings.selection_delta,
    )


def _digest(document: Mapping[str, Any]) -> str:
    """Return the fingerprint of an answer's line, or of all settings of a release."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumedTranscript:
    """A transcript that was taken up: nobody else goes on from it until it is closed."""

    path: Path
    file: TranscriptFile
    header: Mapping[str, Any]
    recorded: tuple[Answer, ...]

    @property
    def given(self) -> tuple[Answer, ...]:
        """All answers, with those under a schema that was mended since."""
        return (*self.header["earlier"], *self.recorded)

    def close(self) -> None:
        """Let go of it."""
        self.file.close()


def take_up(path: Path) -> ResumedTranscript:
    """Take up a transcript; a DataError where that cannot be."""
    file, header, recorded = continue_transcript(path)
    return ResumedTranscript(path=path, file=file, header=header, recorded=recorded)


def records_of(taken: ResumedTranscript) -> Records:
    """Return where the run of a transcript was recorded; the ledger must be one of Lapwing's."""
    records = RECORDS.read(Records, taken.header.get("records"), transcript=taken.path)
    refuse_private(records.ledger, "the ledger that the transcript names")
    return records


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecords:
    """Where a paid run is to be recorded, as its caller says; the transcript may be there, of the same run.

    taken: the transcript, where it was taken up before.
    """

    ledger: object = None
    dataset: str | None = None
    transcript: object = None
    taken: ResumedTranscript | None = None

    @property
    def path(self) -> Path | None:
        """Where the transcript is, or is to be."""
        return None if self.transcript is None else Path(path_text("transcript", self.transcript))

    def fresh(self, settings: PaidSettings) -> Records | None:
        """Return where a new run is recorded once the ledger knows the data set; None if its file is there."""
        if self.taken is not None or (self.path is not None and os.path.exists(self.path)):
            return None
        return new_records(self.ledger, self.dataset, self.transcript, settings)

    @contextmanager
    def taken_up(self, fresh: Records | None) -> Iterator["RunRecords"]:
        """Take up the transcript unless the run is `fresh`, and let go of it at the end."""
        if fresh is not None:
            yield self
            return
        assert self.path is not None
        with closing(self.taken or take_up(self.path)) as taken:
            if self.taken is None and taken.recorded:
                _say_repeated(taken)
            yield replace(self, taken=taken)

    def begin(
        self, fresh: Records | None, settings: PaidSettings, terms: Terms, mend: Schema | None = None
    ) -> tuple[AccountedSink, Run]:
        """Begin the run that `fresh` returned records of, or go on with the transcript that was taken up.

        settings: as they are, or were, debited; mend: a schema under which it goes on from here.
        """
        if fresh is not None:
            sink = _opened_sink(fresh, settings, terms)
            return sink, Run(records=fresh, debit=partial(sink.debit, settings), sink=sink)
        taken = self.taken
        assert taken is not None
        records = self._same(taken, settings, terms)
        is_other = taken.header["mended"] is not None and not (
            isinstance(settings, Settings) and settings.linked is None
        )
        if records is None or is_other or not settings.parts.keys() >= set(taken.header["parts"]):
            raise DataError(
                f"the transcript {taken.path} is of another run: of other tables, settings or ledger; give a new file, "
                "or repeat the call that it is of",
                code="LW611",
            )
        parts = taken.header["parts"]
        sink = AccountedSink(taken.file, records, zip(parts, taken.given, strict=True))

        def debit() -> None:
            """Pay once, by the settings of the first time, and only then note the schema."""
            sink.debit(settings)
            if mend is not None:
                taken.file.mend(mend.to_dict())

        earlier = taken.header["earlier"] if mend is None else taken.given
        recorded = taken.recorded if mend is None else ()
        own = parts[len(earlier) :]
        return sink, Run(records=records, debit=debit, sink=sink, recorded=recorded, parts=own, earlier=earlier)

    def _same(self, taken: ResumedTranscript, settings: PaidSettings, terms: Terms) -> Records | None:
        """Return where the run of a transcript was recorded, or None where it is another one."""
        wanted = json.loads(json.dumps({"settings": SETTINGS.write(settings), "terms": RECORDS.write(terms)}))
        if any(taken.header.get(key) != value for key, value in wanted.items()):
            return None
        try:
            records = records_of(taken)
        except ParameterError as error:
            if error.code != "LW643":
                raise
            return None
        is_same = self.dataset in (None, records.dataset)
        if self.ledger is not None:
            is_same &= everywhere(path_text("ledger", self.ledger)) == records.ledger
        return records if is_same else None


def _say_repeated(taken: ResumedTranscript) -> None:
    """Warn whoever repeats a call that its rows are hardly asked; a filter that raises does not stop what is paid."""
    with suppress(LapwingWarning):
        warn(
            LapwingWarning(
                f"the transcript {taken.path} is there with {len(taken.recorded)} answers, so that the rows are asked "
                "only what it lacks; for other rows, or a new release, name another transcript",
                code="LW616",
            )
        )


def _opened_sink(records: Records, settings: PaidSettings, terms: Terms) -> AccountedSink:
    """Write the transcript's header, so that a crash right after the debit can be resumed."""
    if records.transcript is None:
        return AccountedSink(NoTranscript(), records)
    header: dict[str, Any] = {
        "settings": SETTINGS.write(settings),
        "terms": RECORDS.write(terms),
        "records": RECORDS.write(records),
    }
    if records.ledger is not None:
        make_folder(records.ledger)
        header["hold"] = f"{records.ledger}.transcripts/{records.release_id}.jsonl"
    try:
        return AccountedSink(create_transcript(records.transcript, header), records)
    except DataError:
        leave_folder(records.ledger)
        raise


T = TypeVar("T")


_ENDS: Final = (ENDED, "LW273")
"""Codes of ends that answers decide, and that going on does not change: they say themselves what was spent."""


def resumable(transcript: Path | None, work: Callable[[], T]) -> T:
    """Do the work of a release, and add to a failure of disk, ledger or size whether it can be resumed.

    transcript: where its answers are kept. A release that was refused before it was paid has removed the file.
    """
    failure: LapwingError
    try:
        return work()
    except (BudgetError, CapacityError, DataError) as error:
        failure = error
    except MemoryError:
        failure = DataError("memory ran out; free some, or give the release less to keep by memory", code="LW501")
    except OSError as error:
        failure = DataError(f"a temporary file cannot be used ({error.strerror}); free some space", code="LW902")
    is_told = isinstance(failure, ReleaseMismatchError) or failure.code in _ENDS
    if transcript is None or not transcript.exists() or is_told:
        raise failure
    way_out = "noise was drawn before that, so the budget of this release is spent, and a new one is debited anew"
    if not is_over(transcript):
        if isinstance(failure, CapacityError):
            raise failure
        way_out = f"{finish_of(transcript)} goes on from what is paid and answered"
    raise type(failure)(f"{failure}; {way_out}", code=failure.code)


def kept_transcript(begun: BegunRun) -> Path | None:
    """Return the transcript that finishes an interrupted run; None, and none is left, where nothing of it was paid."""
    path = begun.transcript
    if not begun.is_new or _is_debited(begun.ledger, begun.dataset, begun.release_id):
        return path
    if is_answered(path, unreadable=True):
        return path
    for each in (path, begun.lock):
        each.unlink(missing_ok=True)
    leave_folder(begun.ledger)
    return None


def _is_debited(ledger: str | None, dataset: str | None, release_id: str | None) -> bool:
    """Return whether a ledger has a debit; one that does not tell may have it."""
    if ledger is None or release_id is None:
        return False
    try:
        return Ledger.open(ledger).find(dataset, release_id) is not None
    except LapwingError:
        return True


def resumed_line(settings: Settings, records: Records, answers: int) -> str:
    """Say what resuming a transcript will finish, before anything is asked or debited.

    settings: that the transcript fixes; another hand may have chosen them.
    """
    budget = settings.request.budget
    booked = "no ledger"
    if records.ledger is not None:
        is_paid = Ledger.open(records.ledger).find(records.dataset, records.release_id) is not None
        paid = "debited before" if is_paid else f"would now debit {budget}"
        booked = f"ledger {records.ledger}, data set {records.dataset}: {paid}"
    line = (
        f"finishing {settings.name} at {budget} for {settings.relation} neighbours and privacy unit "
        f"{settings.schema.unit_label}; answers recorded: {answers}; {booked}"
    )
    return visible(" ".join(line.splitlines()))


def paid_run(sink: AccountedSink, run: Run, task: Callable[[Run], T]) -> T:
    """Do the task of a run that has begun, which is debited once however often it is done."""

    def done() -> T:
        with closing(sink):
            return task(run)

    return resumable(run.records.transcript, done)


def run_paid(data: object, settings: PaidSettings, book: RunRecords, task: Callable[..., T], *, rows: int | None) -> T:
    """Read the rows of one table, begin or take up the record, and do a task; rows: a public guess of their number."""
    fresh = book.fresh(settings)
    with coded_table(data, settings.schema, is_paid=True) as source:
        terms = public_terms(source, settings.schema, settings.relation, rows)
        with book.taken_up(fresh) as held:
            return paid_run(*held.begin(fresh, settings, terms), partial(task, source, settings, terms))
