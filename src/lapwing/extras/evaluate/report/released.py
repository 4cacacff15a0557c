"""The sections of a releasable report: what was released, under which promise, and how it may be used.

Released numbers only: nothing here has a way to the rows.
"""

import json
import math
import statistics
from collections.abc import Sequence
from typing import Final

from lapwing.extras.evaluate.report.cost import accuracy_section, cost_section
from lapwing.extras.evaluate.report.parts import section, table
from lapwing.extras.evaluate.report.promise import assumed_section, declared_sections, promise_section, protection
from lapwing.extras.evaluate.report.released_columns import ReleasedColumn, ReleasedMap, column_parts
from lapwing.extras.evaluate.report.released_pairs import ReleasedPairs, counted_pairs, pairs_section
from lapwing.extras.evaluate.words import say
from lapwing.kernel.questions.questions import Answer
from lapwing.model.accuracy import Accuracy
from lapwing.model.certificate.attack import most_right, up
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.certificate.cost_lines import counted_lines
from lapwing.model.certificate.promise import uncovered_warnings, unit_field
from lapwing.model.model import ReleasedModel
from lapwing.present.certificates import budget_of, source_of_rows, verdict_facts
from lapwing.present.document import Fact, Facts, Part, Section, Text, warnings_of
from lapwing.schema.schemas import Schema

_COUNTS: Final = ("MarginalCounts", "TreeCounts", "SparseCounts")
_WITHIN: Final = {"gaussian": 1.96, "laplace": 2.12}  # standard deviations that hold 95 %
_SETTINGS: Final = 400  # letters of a setting that are shown


def released_sections(
    schema: Schema,
    model: ReleasedModel,
    certificate: Certificate,
    answers: Sequence[Answer],
    accuracy: Accuracy,
    *,
    did: str,
    columns: Sequence[ReleasedColumn] = (),
    maps: Sequence[ReleasedMap] = (),
    pairs: ReleasedPairs | None = None,
) -> tuple[Section, ...]:
    """Return all sections of a releasable report; the first one is enough for a first look.

    did: what the mechanism does, in plain words.
    """
    return (
        _short(schema, model, certificate, accuracy, did=did),
        promise_section(certificate),
        cost_section(certificate),
        assumed_section(schema, certificate),
        *declared_sections(schema, certificate),
        accuracy_section(accuracy),
        *(() if pairs is None else (pairs_section(pairs, certificate, len(schema.columns)),)),
        section("columns", column_parts(columns, maps, len(schema.columns))),
        _use(schema, certificate),
        _again(schema, model, certificate, answers),
    )


def _short(schema: Schema, model: ReleasedModel, certificate: Certificate, accuracy: Accuracy, *, did: str) -> Section:
    """Return what everybody should know."""
    what, question = protection(certificate)
    right = up(most_right(certificate.total, certificate.delta))
    uncovered = uncovered_warnings(schema.columns)
    rows = certificate.released_rows
    facts = [
        Fact("row_count", say("short.row_count"), f"{rows:,}", note=source_of_rows(certificate)),
        Fact(
            "column_count",
            say("short.column_count"),
            f"{len(schema.columns):,}",
            note=say("short.mechanism", mechanism=certificate.mechanism),
        ),
        Fact(
            "privacy",
            say("short.privacy"),
            budget_of(certificate),
            note=say("short.questions", questions=counted_lines(certificate.lines)),
        ),
        Fact(
            "right",
            say("short.right", question=question),
            right,
            note=say("short.coin_uncovered" if uncovered else "short.coin"),
        ),
    ]
    laws = [line.noise for line in certificate.lines if line.noise is not None and line.question in _COUNTS]
    if laws:
        noise = statistics.median(_WITHIN[law.kind] * law.sd for law in laws)
        figure = say("short.noise_figure", noise=noise)
        facts.append(Fact("noise", say("short.noise"), figure, note=say("short.noise_note")))
    if accuracy.marginals:
        middle = statistics.median(each.variation for each in accuracy.marginals)
        note = say("short.variation_note")
        facts.append(Fact("variation", say("short.variation"), f"{middle:.3f}", note=note))
    words = say("short.words", mechanism=certificate.mechanism, did=did)
    points = (say("short.protects", what=what), *_guessed(schema, certificate), *say.listed("short.use"))
    verdict = Facts(tuple(verdict_facts(certificate.verdict)), is_headline=True)
    parts: list[Part] = [verdict, Facts(tuple(facts), are_figures=True), Text(words, points=points)]
    parts += warnings_of((*uncovered, *certificate.warnings))
    if model.rows == 0:
        parts.append(Text(say("short.no_rows"), is_warning=True))
    return section("short", parts)


def _guessed(schema: Schema, certificate: Certificate) -> list[str]:
    """Say how many pairs of columns nobody counted, where there are any."""
    pairs = counted_pairs(certificate, [field.name for field in schema.columns])
    possible = math.comb(len(schema.columns), 2)
    return [say("short.guessed", counted=len(pairs), pairs=possible)] if len(pairs) < possible else []


def _use(schema: Schema, certificate: Certificate) -> Section:
    """Return what may be done with the release, and what nobody promises."""
    field = unit_field(certificate.privacy_unit)
    points = [*say.listed("use.not.always"), say("use.not.unit" if field is None else "use.not.together", field=field)]
    if any(column.provenance == "assumed" for column in schema.columns):
        points.append(say("use.not.assumed"))
    points.append(say("use.not.machine"))
    may = Text(say("use.may"), points=say.listed("use.points"))
    return section("use", (may, Text(say("use.nobody"), points=tuple(points))))


def _again(schema: Schema, model: ReleasedModel, certificate: Certificate, answers: Sequence[Answer]) -> Section:
    """Return what somebody needs who wants to make the release, or this report, again."""
    seed = say("again.no_seed") if certificate.seed is None else str(certificate.seed)
    written = "-" if certificate.written_rows is None else f"{certificate.written_rows:,}"
    asked = {"ε": certificate.requested.epsilon, "δ": certificate.requested.delta, "ρ": certificate.requested.rho}
    made = {
        "lapwing": certificate.lapwing,
        "code": certificate.code or "-",
        "mechanism": certificate.mechanism,
        "requested": ", ".join(f"{sign} = {float(value):.6g}" for sign, value in asked.items() if value is not None),
        "neighbours": certificate.relation,
        "unit": certificate.privacy_unit,
        "seed": seed,
        "written": written,
        "atoms": f"{model.atoms:,}",
        "answers": f"{len(answers):,}",
        "schema": schema.fingerprint,
    }
    lines = [(say(f"again.line.{key}"), value) for key, value in made.items()]
    lines += [(say("again.setting", name=key), _setting(value)) for key, value in certificate.settings.items()]
    return section("again", (Text(say("again.words")), table("again.table", lines)))


def _setting(value: object) -> str:
    """Return a setting as text; None is what the mechanism chose by itself."""
    if value is None:
        return say("again.default")
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SETTINGS else say("again.cut", text=text[:_SETTINGS], letters=len(text))
