"""Release tables as settings say: what every door to a release does, and how one goes on from its transcript.

Anybody may have written a transcript, so its header is believed only after its types.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from lapwing.errors import CertificateWarning, DataError, LapwingWarning, ParameterError, warn
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.plain import read_key
from lapwing.kernel.questions.misfit_rows.question import MisfitRows, NoisyRows
from lapwing.kernel.questions.questions import RECORDS, Answer
from lapwing.kernel.questions.registered import answer_from_dict
from lapwing.kernel.questions.select_worst.question import Selection
from lapwing.kernel.room.opening import CuratorHandle, public_terms
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.registry import check_mechanism
from lapwing.model.certificate.certificate import DOMAIN, EVALUATION, Certificate
from lapwing.model.certificate.linked import ONE_OF_SEVERAL, published_tables
from lapwing.model.certificate.notices import Notice
from lapwing.model.files import SavedRelease
from lapwing.release.linked.rows import order_warnings
from lapwing.release.release import Release
from lapwing.release.runs.certify import LearnedSchema, certify
from lapwing.release.runs.finishing import postprocess_model
from lapwing.release.runs.generators import generator
from lapwing.release.runs.learned.schemaless import SchemalessSettings
from lapwing.release.runs.linked import certificate_of, few_warnings, refuse_lost
from lapwing.release.runs.misfits import (
    Stopping,
    first_question,
    mended_settings,
    of_mechanism,
    refuse_going_on,
    remaining_budget,
    way_out_of,
)
from lapwing.release.runs.plan.effort import Caches, Memory, caches_within
from lapwing.release.runs.records import ResumedTranscript, Run, RunRecords, paid_run, records_of
from lapwing.release.runs.settings import Settings, TableSettings
from lapwing.release.runs.unaccounted import tell
from lapwing.release.runs.watching import ReleaseProgress, part_told, report_progress, untold
from lapwing.rows.counting import CodedSource
from lapwing.rows.entry import source_of, tables_by_name
from lapwing.rows.layouts import layout_of
from lapwing.rows.linked import LinkedTableRows, code_linked
from lapwing.rows.source import coded_table
from lapwing.schema.linked.database import LinkedTables, with_files
from lapwing.schema.scalars import visible

# -- Release one table, or several one after the other: one debit, one record.


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """One table of a release, of which all is checked that can be before anything is paid.

    first: what is asked before the mechanism; own: what that leaves to the mechanism.
    """

    source: CodedSource
    settings: TableSettings
    terms: Terms
    first: tuple[MisfitRows, ...]
    own: Budget


def _checked(source: CodedSource, settings: TableSettings, terms: Terms, earlier: Sequence[Answer] = ()) -> _Part:
    """Return a part of a release, or refuse it."""
    first, own = first_question(settings, remaining_budget(settings.request.budget, earlier), terms)
    check_mechanism(settings.mechanism, settings.schema, own, terms, generator(settings.seed, "fit"))
    return _Part(source=source, settings=settings, terms=terms, first=first, own=own)


def run_release(
    source: CodedSource, settings: TableSettings, terms: Terms, run: Run, learned: LearnedSchema | None = None
) -> Release:
    """Check, debit, ask, solve, finish, certify: a task of `Run`; learned: where earlier answers taught the schema."""
    _, finish = _begun(_checked(source, settings, terms, run.earlier), run, learned)
    return finish()


def _begun(
    part: _Part, run: Run, learned: LearnedSchema | None = None
) -> tuple[Sequence[NoisyRows], Callable[[], Release]]:
    """Debit, and ask what is asked before the mechanism.

    Returns what was answered, and what asks the rest, solves, finishes and certifies: a function of the answers, the
    settings and the seed alone.
    """
    settings, terms = part.settings, part.terms
    answers, progress = list(run.recorded), ReleaseProgress(settings, run.recorded)

    def keep(new: Sequence[Answer]) -> None:
        answers.extend(map(_as_recorded, new))
        progress.add(new)

    curator = run.curator(part.source, settings.schema, terms, settings.request.budget, watch=keep)
    if settings.most_misfits < 1:
        curator = CuratorHandle(terms, Stopping(curator, settings, run.earlier, way_out_of(run.records.transcript)).ask)
    said = curator.ask(*part.first) if part.first else ()

    def finish() -> Release:
        model = settings.mechanism.run(curator, settings.schema, part.own, generator(settings.seed, "fit"))
        model.validate(settings.schema)
        finished = postprocess_model(model, settings.schema, settings.seed)
        paid = certify(
            settings,
            terms,
            run.records,
            tuple(answers),
            model,
            finished=finished,
            earlier=run.earlier,
            learned=learned,
        )
        saved = SavedRelease(settings.schema, finished.model, paid, of_mechanism(answers))
        return Release.of_one(saved, seed=settings.seed if settings.is_seeded else None)

    return said, finish


def release_of(
    data: object,
    settings: Settings,
    book: RunRecords,
    *,
    memory: Memory = None,
    schema: object = None,
) -> Release:
    """Release what the settings say, or go on from the transcript; schema: a mended one, under which it goes on."""
    if settings.linked is not None:
        for lookup, said in zip(settings.linked.lookups, published_tables(settings.linked), strict=True):
            if lookup.file:  # whose rows stand in the schema itself has shown them
                warn(LapwingWarning(visible(said.text), code="LW358"))
    fresh = book.fresh(settings)
    with book.taken_up(fresh) as held:
        used, earlier = going_on(settings, held.taken, schema)
        caches = Caches() if used.linked else caches_within(memory, used.first)
        with _coded(data, used, caches.codes) as coded:
            terms = {
                name: public_terms(coded[name].source, part.schema, part.relation, part.expected_rows)
                for name, part in used.parts.items()
            }
            parts = {
                name: _checked(coded[name].source, part, terms[name], earlier) for name, part in used.parts.items()
            }
            mend = None if schema is None else used.first.schema
            sink, run = held.begin(fresh, settings, terms[[*terms][-1]], mend)
            run = replace(run, most_cells=caches.table_cells)
            found = paid_run(sink, run, partial(release_tables, parts, used))
    paid = {name: each.certificate for name, each in found.items()}
    release = Release(
        parts={name: each.parts[""] for name, each in found.items()},
        certificate=certificate_of(used, paid),
        layouts={name: each.layout for name, each in coded.items()},
        seed=next(iter(found.values())).seed,
    )
    warned(release.certificate)
    return release


def going_on(
    settings: Settings, taken: ResumedTranscript | None, schema: object
) -> tuple[Settings, tuple[Answer, ...]]:
    """Return the settings that a release goes on by, and its answers under schemas that were mended since."""
    if taken is None or settings.linked is not None:
        return settings, ()
    earlier: tuple[Answer, ...] = taken.header["earlier"]
    used = paid = settings.first
    if taken.header["mended"] is not None:
        used = mended_settings(paid, read_key(taken.header, "mended", dict))
    if earlier:
        refuse_going_on(used, (), earlier)
    if schema is None:
        return Settings.of_one(used), earlier
    refuse_going_on(used, taken.recorded, earlier)
    return Settings.of_one(mended_settings(paid, schema)), taken.given


@contextmanager
def _coded(data: object, settings: Settings, codes: int | None) -> Iterator[Mapping[str, LinkedTableRows]]:
    """Read the private rows of each table as codes; codes: most bytes that are kept of those of one table."""
    if settings.linked is not None:
        yield code_linked(tables_by_name(data, settings.linked.given), settings.linked)
        return
    source = source_of(data)
    with coded_table(source, settings.first.schema, memory=codes, is_paid=True) as coded:
        yield {"": LinkedTableRows(coded, layout_of(source, settings.first.schema))}


def release_tables(parts: Mapping[str, _Part], settings: Settings, run: Run) -> dict[str, Release]:
    """Ask of all parts what is asked first, and release them one after the other unless that says that one is lost."""
    if settings.linked is None:
        return {name: _begun(part, run)[1]() for name, part in parts.items()}
    begun = {}
    for name, part in parts.items():
        with untold():
            said, begun[name] = _begun(part, run.of(name))
        for answer in said:
            refuse_lost(settings, name, answer)
    releases: dict[str, Release] = {}
    before = 0.0
    for name, part in parts.items():
        share = float(part.settings.request.budget.amount / settings.request.budget.amount)
        parent = releases.get(settings.linked.table(name).parent or "")
        with part_told(name, before, share):
            report_progress("counting and adding noise", 0.0)
            found = begun[name]()
            releases[name] = _as_part(found, () if parent is None else few_warnings(found.noisy, parent.noisy))
        before += share
    off = order_warnings(settings.linked, {name: found.model for name, found in releases.items()})
    return {name: _as_part(found, (*off.get(name, ()), ONE_OF_SEVERAL)) for name, found in releases.items()}


def _as_part(release: Release, more: Sequence[Notice]) -> Release:
    """Return the release of a part, whose certificate warns of more."""
    verdict = release.certificate.verdict  # its next budget would be that of one part
    told_more = replace(
        release.certificate,
        warnings=(*release.certificate.warnings, *more),
        verdict=verdict and replace(verdict, better=None),
    )
    return Release.of_one(replace(release.parts[""], certificate=told_more), seed=release.seed)


def _as_recorded(answer: Answer) -> Answer:
    """Return an answer as a record gives it back: a selection without its estimates, which are many megabytes."""
    return answer_from_dict(answer.to_dict()) if isinstance(answer, Selection) else answer


def warned(paid: Certificate) -> None:
    """Warn of what a certificate warns of, and of a weak verdict, in one line; and of what no ledger adds up."""
    tell()
    graded = [
        f"{name}: " * bool(name) + f"{part.verdict.short}; print(release.certificate) says the rest"
        for name, part in paid.parts.items()
        if part.verdict is not None and part.verdict.is_weak
    ]
    for said in (*map(str, paid.warnings), *graded):
        with suppress(CertificateWarning):  # a filter that makes errors of warnings does not lose what is paid for
            warn(CertificateWarning(said, code="LW907"))


_OTHERS = ((EVALUATION, "evaluation with a budget"), (DOMAIN, "learned domain"))


def linked_of(transcript: Path) -> LinkedTables | None:
    """Return the schema of a transcript of linked tables; None of another, or where that cannot be read."""
    try:
        with transcript.open("rb") as file:
            settings = json.loads(file.readline())["settings"]
            linked = LinkedTables.from_dict(settings["linked"]) if "linked" in settings else None
            return linked and with_files(linked, settings.get("published"))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None  # what is wrong with it is said where it is taken up


def read_header(taken: ResumedTranscript) -> Settings | SchemalessSettings:
    """Return the settings of a release that the header of its transcript fixes.

    No path in a header is followed but these: that of the ledger, which must be one of Lapwing's, and those of public
    points (``mu``) and priors, of which nothing is read but their bytes, unless these are those of the release.
    Otherwise a header by another hand could name private rows as public ones.
    """
    path, header = taken.path, taken.header
    fixed = header.get("settings")
    for key, what in _OTHERS:
        if isinstance(fixed, dict) and key in fixed:
            raise DataError(
                f"the transcript {path} is of a {what}; repeat that, with the same transcript", code="LW611"
            )
    try:
        kind = SchemalessSettings if "columns" in header["settings"] else Settings
        settings = kind.from_dict(header["settings"])
        RECORDS.read(Terms, header["terms"])
        records_of(taken)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        pass
    except ParameterError as error:
        if error.code != "LW643":
            raise
    else:
        return settings.with_recorded_rows(header["settings"]) if isinstance(settings, Settings) else settings
    raise DataError(
        f"the header of the transcript {path} is damaged; give the file that the release wrote", code="LW610"
    )
