"""Record and replay: the main privacy test of a whole release.

A run on a table D is recorded: every question, answer and secret word. Then four things are checked against a
neighbour D'. (1) Every answer equals an independent recount plus the claimed noise law fed with the recorded words:
no short, reused, skipped or missing noise, also in empty cells and in decisions; every selection is what the
exponential mechanism draws from the recorded words on independent scores; every list of texts ends at the threshold of
its delta. (2) The exact losses of all answers between D and D' add up to at most the claim, so do their costs and
deltas, the certificate tells these, and no list shows a text that only one of the tables has. (3) The same answers on
D' lead to the same questions. (4) Output, messages and error type are identical, also those of reading the table. (5)
No secret bit comes before the debit, none before the transcript says that noise is drawn, and no secret word comes
twice.
"""

import contextlib
import io
import json
import logging
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from lapwing.api.running import run_release
from lapwing.errors import LapwingError
from lapwing.extras.audit.held import HeldRows, PlaybackBits, RecordingBits, UnlikelyBits
from lapwing.extras.audit.rechecks import loss_between, loss_flags_between, noise_flags, recount
from lapwing.extras.audit.worst_case import USUAL, Mode
from lapwing.extras.evaluate.bought import BoughtEvaluation, BoughtSettings, run_evaluation
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.room.opening import public_terms
from lapwing.kernel.terms import Terms
from lapwing.model.certificate.certificate import Certificate
from lapwing.release.release import Release
from lapwing.release.runs.learned.running import run_learning
from lapwing.release.runs.learned.settings import LearnSettings
from lapwing.release.runs.records import Records, Run
from lapwing.release.runs.settings import TableSettings
from lapwing.rows.counting import CodedSource
from lapwing.rows.source import code_table

AuditedSettings = TableSettings | BoughtSettings | LearnSettings

UNRECORDED = Records(release_id="audit", ledger=None, dataset=None, transcript=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """What one run showed.

    output: saved release and sampled rows; empty when the run failed; faults: what came in the wrong order: debit,
    secret bits, marks and records; is_refused: whether answers were refused after their noise was drawn.
    """

    answers: tuple[Answer, ...]
    output: bytes
    messages: str
    error: str
    certificate: Certificate | None
    faults: tuple[str, ...]
    is_refused: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """What reading one table showed; no source where it failed."""

    source: CodedSource | None
    messages: str
    error: str


@dataclass(frozen=True, slots=True)
class ReplayFindings:
    """What record and replay found on one pair of neighbours.

    flags: one sentence per broken promise; empty when all hold; loss_share: the exact loss of all answers between the
    two tables, as a share of the budget that was claimed: at most 1 where the promise holds; is_released: whether the
    run made a release; one that was refused asks nothing, and replay then compares two errors.
    """

    flags: tuple[str, ...]
    loss_share: Fraction
    answers: tuple[Answer, ...]
    is_released: bool

    @property
    def questions(self) -> frozenset[str]:
        """The kinds of question that were asked."""
        return frozenset(type(answer.question).__name__ for answer in self.answers)


def together(parts: Sequence[ReplayFindings], shares: Sequence[Fraction]) -> ReplayFindings:
    """Return what was found of runs that are paid by one budget, of which each claims a share."""
    loss = sum((part.loss_share * share for part, share in zip(parts, shares, strict=True)), Fraction(0))
    flags = tuple(flag for part in parts for flag in part.flags)
    if loss > 1:
        flags += (f"the parts lose {float(loss):.4g} times the claim together",)
    return ReplayFindings(
        flags,
        loss,
        tuple(answer for part in parts for answer in part.answers),
        is_released=all(part.is_released for part in parts),
    )


Runner = Callable[..., Any]
"""What runs a release, as `lapwing.api.running.run_release` does; its result has a certificate and a `to_dict`."""


def audit_pair(
    data: object, neighbour: object, settings: AuditedSettings, run: Runner | None = None, *, mode: Mode = USUAL
) -> tuple[str, ...]:
    """Record a run on one table and replay it on a neighbour."""
    return examine_pair(data, neighbour, settings, run, mode=mode).flags


def examine_pair(
    data: object,
    neighbour: object,
    settings: AuditedSettings,
    run: Runner | None = None,
    *,
    mode: Mode = USUAL,
    earlier: Sequence[Answer] = (),
) -> ReplayFindings:
    """Record a run on one table, replay it on a neighbour, and tell also how much of the claim was used.

    earlier: answers under a schema that was mended since, paid by the same budget.
    """
    one, other = _read(data, settings, mode), _read(neighbour, settings, mode)
    flags = tuple(
        f"{what} of reading the table differs between the neighbours"
        for what in ("messages", "error")
        if getattr(one, what) != getattr(other, what)
    )
    if one.source is None or other.source is None:
        unread = f"a table cannot be read: {one.error or other.error}"
        return ReplayFindings((*flags, unread), Fraction(0), (), is_released=False)
    found = examine_release(one.source, other.source, settings, run or _runner(settings), mode=mode, earlier=earlier)
    return replace(found, flags=(*flags, *found.flags))


def _runner(settings: AuditedSettings) -> Runner:
    """Return what runs these settings."""
    if isinstance(settings, LearnSettings):
        return run_learning
    return run_evaluation if isinstance(settings, BoughtSettings) else run_release


def examine_release(
    first: CodedSource,
    second: CodedSource,
    settings: AuditedSettings,
    run: Runner,
    *,
    mode: Mode = USUAL,
    earlier: Sequence[Answer] = (),
) -> ReplayFindings:
    """Return the promises that a release of the first table breaks, compared with the second, and what it loses."""
    drawn = RecordingBits(SystemBits())
    # A delta is a chance of unlikely words: what it allows is no broken promise.
    is_unlikely = mode.has_unlikely_words and not settings.selection_delta
    bits = RecordingBits(UnlikelyBits(drawn) if is_unlikely else drawn)
    recorded = _run(first, settings, run, bits, earlier=earlier)
    none_left = PlaybackBits(np.empty(0, dtype=np.uint64))
    replayed = _run(second, settings, run, none_left, recorded.answers, earlier=earlier)
    terms = _terms(first, settings)
    one, other = HeldRows(first), HeldRows(second)
    exact = [recount(answer, one, settings.schema) for answer in recorded.answers]
    flags = [*noise_flags(recorded.answers, exact, terms, bits.playback())]
    flags += ["a secret word came twice"] * drawn.has_repeats
    flags += _account_flags(recorded, settings, earlier)
    pairs = [
        (answer, counts, recount(answer, other, settings.schema))
        for answer, counts in zip(recorded.answers, exact, strict=True)
    ]
    loss = sum((loss_between(*pair) for pair in pairs), Fraction(0))
    for answer, counts, others in pairs:
        flags += loss_flags_between(answer, counts, others)
    claim = settings.request.budget.amount
    if loss > claim:
        flags.append(f"the answers lose {loss} between the neighbours, the claim is {claim}")
    if terms != _terms(second, settings):
        flags.append("the public terms differ between the neighbours")
    flags += [
        f"{what} differs when the same answers are replayed on the neighbour"
        for what in ("output", "messages", "error")
        # A refusal is an answer that replay does not know.
        if getattr(recorded, what) != getattr(replayed, what) and not recorded.is_refused
    ]
    return ReplayFindings(tuple(flags), loss / claim, recorded.answers, is_released=recorded.certificate is not None)


class _Journal:
    """Stand for ledger and transcript, an audit is no release: keep the answers, and what came in the wrong order."""

    __slots__ = ("_bits", "_is_paid", "_settled", "answers", "faults", "is_refused")

    def __init__(self, bits: RecordingBits | PlaybackBits, recorded: Sequence[Answer]) -> None:
        self._bits = bits
        self._is_paid = False
        self._settled: int | None = 0  # words whose answers are recorded; None while more may be drawn
        self.answers = list(recorded)
        self.faults: list[str] = []
        self.is_refused = False

    def debit(self) -> None:
        """Stand for the ledger entry."""
        self._is_paid = True

    def secret_bits(self) -> RecordingBits | PlaybackBits:
        """Return the bits."""
        if not self._is_paid:
            self.faults.append("secret bits were made before the debit")
        return self._bits

    def begin(self) -> None:
        """Stand for the mark of a draw."""
        self.check_settled()
        self._settled = None

    def record(self, answers: Sequence[Answer], part: str = "") -> None:  # noqa: ARG002 - as any sink
        """Keep answers."""
        if self._settled is not None:
            self.check_settled()
        self._settled = self._bits.drawn
        self.answers.extend(answers)

    def refuse(self, code: str) -> None:  # noqa: ARG002 - as any sink
        """Stand for a recorded refusal."""
        self.is_refused = True

    def check_settled(self) -> None:
        """Note words that were drawn before the transcript said so, or that no record followed."""
        if self._settled != self._bits.drawn:
            self.faults.append("secret words were drawn outside of mark and record")


def _read(data: object, settings: AuditedSettings, mode: Mode) -> _Reading:
    """Read a table and keep everything that this shows."""
    source, error = None, ""
    with _captured() as messages:
        try:
            source = code_table(data, settings.schema, chunk_rows=mode.chunk_rows)
        except LapwingError as failure:
            error = f"{type(failure).__name__}: {failure}"
    return _Reading(source=source, messages="".join(messages), error=error)


def _terms(source: CodedSource, settings: AuditedSettings) -> Terms:
    """Return the terms that a release of this table would have."""
    return public_terms(source, settings.schema, settings.relation, settings.expected_rows)


def _run(
    source: CodedSource,
    settings: AuditedSettings,
    run: Runner,
    bits: RecordingBits | PlaybackBits,
    recorded: Sequence[Answer] = (),
    *,
    earlier: Sequence[Answer] = (),
) -> Recording:
    """Run a release and keep everything that it shows."""
    journal = _Journal(bits, recorded)
    output, error, certificate = b"", "", None
    with _captured() as messages:
        try:
            terms = _terms(source, settings)
            paid = Run(
                records=UNRECORDED,
                debit=journal.debit,
                sink=journal,
                secret_bits=journal.secret_bits,
                recorded=recorded,
                earlier=earlier,
            )
            made = run(source, settings, terms, paid)
            certificate = made.certificate
            output = _bytes_of(made)
            journal.check_settled()
        except (LapwingError, EOFError) as failure:
            error = f"{type(failure).__name__}: {failure}"
    return Recording(
        answers=tuple(journal.answers),
        output=output,
        messages="".join(messages),
        error=error,
        certificate=certificate,
        faults=tuple(journal.faults),
        is_refused=journal.is_refused,
    )


def _bytes_of(release: Any) -> bytes:  # noqa: ANN401 - of any runner
    """Return the saved release followed by some rows, or all that something else shows."""
    if not isinstance(release, Release):
        summary = release.summary() if isinstance(release, BoughtEvaluation) else ""
        return json.dumps([release.to_dict(), summary, repr(release)]).encode()
    rows = b"".join(frame.write_csv().encode() for frame in release.frames(20, seed=1))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "release.lapwing"
        release.save(path)
        return path.read_bytes() + rows


@contextlib.contextmanager
def _captured():  # type: ignore[no-untyped-def]  # noqa: ANN202
    """Collect standard output and error, warnings and log records."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    handler.addFilter(lambda line: not line.name.startswith("numba"))  # of the engine's compilation, once
    messages: list[str] = []
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)  # some user will have asked for every line
    try:
        with (
            contextlib.redirect_stdout(text),
            contextlib.redirect_stderr(text),
            warnings.catch_warnings(record=True) as seen,
        ):
            warnings.simplefilter("always")
            yield messages
        messages.extend(str(each.message) for each in seen)
    finally:
        root.setLevel(level)
        root.removeHandler(handler)
    messages.append(text.getvalue())


def _account_flags(recorded: Recording, settings: AuditedSettings, earlier: Sequence[Answer]) -> list[str]:
    """Compare the certificate with the answers that were given; what came in the wrong order is flagged too."""
    flags = list(recorded.faults)
    claim = settings.request.budget.amount
    answers = (*earlier, *recorded.answers)
    spent = sum((answer.question.cost.amount for answer in answers), Fraction(0))
    if spent > claim:
        flags.append(f"the answers cost {spent}, the claim is {claim}")
    delta = sum((answer.question.delta for answer in answers), Fraction(0))
    if delta > settings.selection_delta:
        flags.append(f"the lists of texts have a delta of {delta}, the claim is {settings.selection_delta}")
    written = recorded.certificate
    if written is None:
        return flags
    if written.total.amount != spent:
        flags.append(f"the certificate tells a cost of {written.total.amount}, the answers cost {spent}")
    if written.delta != delta:
        flags.append(f"the certificate tells a delta of {written.delta}, the lists of texts have {delta}")
    if (written.relation, written.max_rows) != (settings.relation, settings.schema.max_rows):
        flags.append("the certificate tells another neighbour relation or privacy unit than was asked for")
    return flags
