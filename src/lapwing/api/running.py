"""Run a mechanism in the room, and read what the header of a transcript fixes.

Anybody may have written a header, so it is believed only after its types.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from lapwing.errors import CertificateWarning, DataError, ParameterError, warn
from lapwing.kernel.noise.bits import BitSource
from lapwing.kernel.questions.misfit_rows.question import NoisyRows
from lapwing.kernel.questions.questions import RECORDS, Answer
from lapwing.kernel.questions.registered import answer_from_dict
from lapwing.kernel.questions.select_worst.question import Selected
from lapwing.kernel.room.opening import Desk, open_room
from lapwing.kernel.room.transcript import AnswerSink, Watched
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.registry import check_mechanism
from lapwing.model.certificate.certificate import DOMAIN, EVALUATION, Certificate
from lapwing.model.linked_files import LinkedCertificate
from lapwing.present.certificates import verdict_facts
from lapwing.release.release import Release
from lapwing.release.runs.certify import certify
from lapwing.release.runs.finishing import finished_model
from lapwing.release.runs.generators import generator
from lapwing.release.runs.linked import LinkedSettings
from lapwing.release.runs.misfits import Stopping, first_question, left_of, of_mechanism, way_out_of
from lapwing.release.runs.records import Records
from lapwing.release.runs.settings import Settings
from lapwing.release.runs.unaccounted import tell
from lapwing.release.runs.watching import ReleaseProgress
from lapwing.rows.counting import CodedSource
from lapwing.schema.linked.database import LinkedSchema, with_files
from lapwing.schema.named_files import refuse_private

S = TypeVar("S", Settings, LinkedSettings)

# -- Run a mechanism in the room and certify what came out.


def run_release(*where: Any, **how: Any) -> Release:  # noqa: ANN401 - as `begun_release`
    """Check, debit, ask, solve, finish, certify."""
    _, finish = begun_release(*where, **how)
    return finish()


def begun_release(
    source: CodedSource,
    settings: Settings,
    terms: Terms,
    records: Records,
    *,
    debit: Callable[[], None],
    sink: AnswerSink,
    secret_bits: Callable[[], BitSource],
    recorded: Sequence[Answer] = (),
    earlier: Sequence[Answer] = (),
    most_cells: int | None = None,
) -> tuple[Sequence[NoisyRows], Callable[[], Release]]:
    """Check, debit, and ask what is asked before the mechanism.

    source: the private rows; only the room looks at them; debit: commits the ledger entry; raises when the ledger
    refuses; secret_bits: makes the source of secret randomness, after the debit; recorded: answers of an interrupted
    run, given again without a draw; earlier: answers under a schema that was mended since, which are paid for. Returns
    what was answered, and what asks the rest, solves, finishes and certifies: a function of the answers, the settings
    and the seed alone.
    """
    budget = left_of(settings.request.budget, earlier)
    first, own = first_question(settings, budget, terms)
    check_mechanism(settings.mechanism, settings.schema, own, terms)
    answers, progress = list(recorded), ReleaseProgress(settings, recorded)

    def keep(new: Sequence[Answer]) -> None:
        answers.extend(map(_as_recorded, new))
        progress.add(new)

    room = open_room(
        source,
        settings.schema,
        terms,
        budget,
        debit=debit,
        secret_bits=secret_bits,
        sink=Watched(sink, keep),
        recorded=recorded,
        most_cells=most_cells,
    )
    if settings.most_misfits < 1:
        room = Desk(terms, Stopping(room, settings, earlier, way_out_of(records.transcript)).ask)
    said = room.ask(*first) if first else ()

    def finish() -> Release:
        model = settings.mechanism.run(room, settings.schema, own, generator(settings.seed, "fit"))
        model.validate(settings.schema)
        finished = finished_model(model, settings.schema, settings.seed)
        return Release(
            schema=settings.schema,
            model=finished.model,
            certificate=certify(settings, terms, records, tuple(answers), model, finished=finished, earlier=earlier),
            noisy=of_mechanism(answers),
            seed=settings.seed if settings.is_seeded else None,
        )

    return said, finish


def _as_recorded(answer: Answer) -> Answer:
    """Return an answer as a record gives it back: a selection without its estimates, which are many megabytes."""
    return answer_from_dict(answer.to_dict()) if isinstance(answer, Selected) else answer


def warned(paid: Certificate | LinkedCertificate) -> None:
    """Warn of what a certificate warns of, and of a weak verdict, in the same words; and of what no ledger adds up."""
    tell()
    parts = (
        {f"{name}: ": part for name, part in paid.parts.items()} if isinstance(paid, LinkedCertificate) else {"": paid}
    )
    graded = [
        name + " ".join(fact.line for fact in verdict_facts(part.verdict))
        for name, part in parts.items()
        if part.verdict is not None and any(grade.word in ("weak", "none") for grade in part.verdict.grades)
    ]
    for said in (*map(str, paid.warnings), *graded):
        with suppress(CertificateWarning):  # a filter that makes errors of warnings does not lose what is paid for
            warn(CertificateWarning(said, code="LW907"))


_OTHERS = ((EVALUATION, "bought evaluation"), (DOMAIN, "learned domain"))


def linked_of(transcript: Path) -> LinkedSchema | None:
    """Return the schema of a transcript of linked tables; None of another, or where that cannot be read."""
    try:
        with transcript.open("rb") as file:
            settings = json.loads(file.readline())["settings"]
            linked = LinkedSchema.from_dict(settings["linked"]) if "linked" in settings else None
            return linked and with_files(linked, settings.get("published"))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None  # what is wrong with it is said where it is taken up


def read_header(path: Path, header: Mapping[str, Any], kind: type[S]) -> tuple[S, Terms, Records]:
    """Read what the header of a release's transcript fixes; kind: of its settings.

    No path in a header is followed but these: that of the ledger, which must be one of Lapwing's, and those of public
    points (``mu``) and priors, of which nothing is read but their bytes, unless these are those of the release.
    Otherwise a header by another hand could name private rows as public ones.
    """
    fixed = header.get("settings")
    for key, what in _OTHERS:
        if isinstance(fixed, dict) and key in fixed:
            raise DataError(
                f"the transcript {path} is of a {what}; repeat that, with the same transcript", code="LW611"
            )
    try:
        settings = kind.from_dict(header["settings"])
        terms = RECORDS.read(Terms, header["terms"])
        records = RECORDS.read(Records, header["records"], transcript=path)
        refuse_private(records.ledger, "the ledger that the transcript names")
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        pass
    except ParameterError as error:
        if error.code != "LW643":
            raise
    else:
        return settings.with_recorded_rows(header["settings"]), terms, records
    raise DataError(
        f"the header of the transcript {path} is damaged; give the file that the release wrote", code="LW610"
    )
