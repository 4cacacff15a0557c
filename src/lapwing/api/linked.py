"""Releases of linked tables: one debit, one transcript, one part for each table."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from lapwing.api.running import begun_release, read_header, warned
from lapwing.errors import LapwingWarning, ParameterError, warn
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.questions.misfit_rows.question import MisfitRows
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.room.curator import ReplayCurator
from lapwing.kernel.room.opening import public_terms
from lapwing.kernel.room.transcript import continue_transcript
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.registry import check_mechanism
from lapwing.model.certificate.cost_lines import Requested
from lapwing.model.linked_files import ONE_OF_SEVERAL, LinkedCertificate
from lapwing.release.linked.release import LinkedRelease
from lapwing.release.release import Release
from lapwing.release.runs.certify import promised_epsilons
from lapwing.release.runs.generators import generator
from lapwing.release.runs.linked import LinkedSettings, few_warnings, read_linked_settings, refuse_lost
from lapwing.release.runs.misfits import first_question
from lapwing.release.runs.records import AccountedSink, Book, Records, resumable
from lapwing.release.runs.settings import Settings
from lapwing.release.runs.watching import following, part_told, untold
from lapwing.release.runs.watching import told as tell_step
from lapwing.rows.guard import private_boundary
from lapwing.rows.linked import CodedTable, code_linked
from lapwing.rows.readers import at_hand
from lapwing.schema.linked.database import LinkedSchema, published
from lapwing.schema.scalars import told
from lapwing.typing import ProgressLike


@private_boundary
def release_linked(
    data: object,
    schema: object,
    *,
    book: Book,
    progress: ProgressLike,
    mechanism: object,
    **asked: Any,  # noqa: ANN401
) -> LinkedRelease:
    """Release linked tables, or one of events, as `lapwing.synthesize` says.

    data: tables by name, or in the schema's order, or one of events; asked: as `read_linked_settings`.
    """
    linked = LinkedSchema.load(cast("Any", schema))
    tables = tables_by_name(data, linked)
    settings = read_linked_settings(linked, mechanism=mechanism, transcript=book.path, **asked)
    with following(progress):
        return _run(tables, settings, book)


def resume_linked(
    path: Path, data: object, tell: Callable[[LinkedSettings, Records, int], None], *, schema: object
) -> LinkedRelease:
    """Finish an interrupted release of linked tables, as `lapwing.resume` says."""
    if schema is not None:
        raise ParameterError("linked tables are resumed under their own schema; leave schema out", code="LW305")
    sink, header, recorded = continue_transcript(path)
    sink.close()
    settings, _, records = read_header(path, header, LinkedSettings)
    tables = tables_by_name(data, settings.linked)
    resumable(path, partial(tell, settings, records, len(recorded)))
    return _run(tables, settings, Book(ledger=records.ledger, dataset=records.dataset, transcript=path))


def tables_by_name(data: object, linked: LinkedSchema) -> dict[str, object]:
    """Return the private tables by name; a ParameterError where there are others than the schema says."""
    if isinstance(data, Mapping):
        found = dict(data)
    elif linked.is_events:
        found = {linked.given[0]: data}
    elif isinstance(data, list | tuple):
        found = dict(zip(linked.given, data, strict=False)) if len(data) == len(linked.given) else {}
    else:
        found = {}
    if set(found) != set(linked.given):
        names = ", ".join(map(told, found)) if isinstance(data, Mapping) else told(type(data).__name__)
        raise ParameterError(
            f"linked tables must be given by name, those of the schema and no other, got {names}; give "
            f"{{{', '.join(f'{name!r}: ...' for name in linked.given)}}}",
            code="LW252",
        )
    return {name: at_hand(found[name]) for name in linked.given}


def _run(tables: Mapping[str, object], settings: LinkedSettings, book: Book) -> LinkedRelease:
    """Debit once for all parts, and release them one after the other."""
    for lookup in settings.linked.lookups:
        if lookup.file:  # whose rows stand in the schema itself has shown them
            warn(LapwingWarning(lookup.as_it_is, code="LW358"))
    fresh = book.fresh(settings)
    coded = code_linked(tables, settings.linked)
    terms = {
        name: public_terms(coded[name].source, part.schema, part.relation, part.expected_rows)
        for name, part in settings.parts.items()
    }
    firsts = {name: first_question(part, part.request.budget, terms[name]) for name, part in settings.parts.items()}
    for name, part in settings.parts.items():
        check_mechanism(part.mechanism, part.schema, firsts[name][1], terms[name])
    sink, records, recorded = book.begin(fresh, settings, terms[settings.linked.names[-1]])

    def released() -> dict[str, Release]:
        with closing(sink):
            known = _by_part(settings, terms, firsts, recorded)
            return _parts(coded, settings, terms, (sink, records), known)

    releases = resumable(records.transcript, released)
    parts = {
        name: replace(part, kind=coded[name].layout.kind, layout=coded[name].layout) for name, part in releases.items()
    }
    certificate = _certificate(settings, parts)
    warned(certificate)
    return LinkedRelease(
        parts=parts,
        certificate=certificate,
        seed=settings.first.seed if settings.first.is_seeded else None,
    )


def _parts(
    coded: Mapping[str, CodedTable],
    settings: LinkedSettings,
    terms: Mapping[str, Terms],
    paid: tuple[AccountedSink, Records],
    known: Mapping[str, Sequence[Answer]],
) -> dict[str, Release]:
    """Ask of all parts what is asked first, and release them one after the other unless that says that one is lost."""
    sink, records = paid
    debit = partial(sink.debit, settings)  # it is for all, and of later parts it changes nothing
    begun = {}
    for name, part in settings.parts.items():
        places: dict[str, Any] = {"debit": debit, "sink": sink, "secret_bits": SystemBits, "recorded": known[name]}
        with untold():
            said, finish = begun_release(coded[name].source, part, terms[name], records, **places)
        for answer in said:
            refuse_lost(settings, name, answer)
        begun[name] = finish
    releases: dict[str, Release] = {}
    before = 0.0
    for name, part in settings.parts.items():
        share = float(part.request.budget.amount / settings.request.budget.amount)
        parent = releases.get(settings.linked.table(name).parent or "")
        with part_told(name, before, share):
            tell_step("counting and adding noise", 0.0)
            releases[name] = _as_part(begun[name](), parent)
        before += share
    return releases


def _as_part(release: Release, parent: Release | None) -> Release:
    """Return the release of a part, whose certificate says that it is one of several, and where it has hardly a row."""
    few = () if parent is None else few_warnings(release.noisy, parent.noisy)
    verdict = release.certificate.verdict  # its next budget would be that of one part
    told_more = replace(
        release.certificate,
        warnings=(*release.certificate.warnings, *few, ONE_OF_SEVERAL),
        verdict=verdict and replace(verdict, better=""),
    )
    return replace(release, certificate=told_more)


def _by_part(
    settings: LinkedSettings,
    terms: Mapping[str, Terms],
    firsts: Mapping[str, tuple[Sequence[MisfitRows], Budget]],
    recorded: Sequence[Answer],
) -> dict[str, Sequence[Answer]]:
    """Return the recorded answers of each part: what is asked first of all parts comes before all else."""
    found: dict[str, Sequence[Answer]] = {}
    for name, (asked, _) in firsts.items():
        found[name], recorded = recorded[: len(asked)], recorded[len(asked) :]
    for name, part in settings.parts.items():
        is_last = name == settings.linked.names[-1]
        own = len(recorded) if is_last else _asked(part, firsts[name][1], terms[name], recorded)
        found[name], recorded = (*found[name], *recorded[:own]), recorded[own:]
    return found


def _asked(part: Settings, budget: Budget, terms: Terms, recorded: Sequence[Answer]) -> int:
    """Return how many recorded answers are a part's: as many as it asks for when it is run on them."""
    if not recorded:
        return 0
    counting = _Counting(terms, recorded)
    try:
        part.mechanism.run(cast("Any", counting), part.schema, budget, generator(part.seed, "fit"))
    except ParameterError:
        return len(recorded)  # the record ends before this part does
    return counting.asked


class _Counting:
    """Answer from a record, and count."""

    __slots__ = ("_replay", "asked", "terms")

    def __init__(self, terms: Terms, recorded: Sequence[Answer]) -> None:
        self._replay = ReplayCurator(terms, recorded)
        self.terms = terms
        self.asked = 0

    def ask(self, *questions: Any) -> Any:  # noqa: ANN401 - as `ReplayCurator.ask`
        """Return the next recorded answers."""
        answers = self._replay.ask(*questions)
        self.asked += len(answers)
        return answers


def _certificate(settings: LinkedSettings, parts: Mapping[str, Release]) -> LinkedCertificate:
    """Return the certificate of all parts."""
    request = settings.request
    first, *others = (part.certificate.total for part in parts.values())
    total = sum(others, first)
    assert total.amount <= request.budget.amount, "each part spends at most its own budget, and these sum to the whole"
    return LinkedCertificate(
        linked=settings.linked,
        published=published(settings.linked),
        parts={name: part.certificate for name, part in parts.items()},
        requested=Requested.of(request),
        epsilons=promised_epsilons(request, total),
    )
