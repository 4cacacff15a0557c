"""The sections of a releasable report: what was released, under which promise, and how it may be used.

Released numbers only: nothing here has a way to the rows.
"""

import json
import math
import statistics
from collections.abc import Sequence
from typing import Final

from lapwing.extras.evaluate.report.cost import accuracy_section, cost_section
from lapwing.extras.evaluate.report.promise import assumed_section, declared_sections, promise_section, protected
from lapwing.extras.evaluate.report.released_columns import ReleasedColumn, ReleasedMap, column_parts
from lapwing.extras.evaluate.report.released_pairs import ReleasedPairs, counted_pairs, pairs_section
from lapwing.kernel.questions.questions import Answer
from lapwing.model.accuracy import Accuracy
from lapwing.model.certificate.attack import most_right, up
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.certificate.cost_lines import counted_lines
from lapwing.model.certificate.promise import uncovered_warnings, unit_field
from lapwing.model.model import ReleasedModel
from lapwing.present.certificates import budget_of, source_of_rows, verdict_facts
from lapwing.present.document import Fact, Facts, Part, Section, Table, Text, warnings_of
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
        Section("columns", "What the model says, column by column", column_parts(columns, maps, len(schema.columns))),
        _use(schema, certificate),
        _again(schema, model, certificate, answers),
    )


def _short(schema: Schema, model: ReleasedModel, certificate: Certificate, accuracy: Accuracy, *, did: str) -> Section:
    """Return what everybody should know."""
    what, question = protected(certificate)
    right = up(most_right(certificate.total, certificate.delta))
    uncovered = uncovered_warnings(schema.columns)
    rows = certificate.released_rows
    but = "; says nothing of lists and bounds that were taken from the table" if uncovered else ""
    facts = [
        Fact("row_count", "rows that the model stands for", f"{rows:,}", note=source_of_rows(certificate)),
        Fact("column_count", "columns", f"{len(schema.columns):,}", note=f"released by {certificate.mechanism}"),
        Fact("privacy", "privacy budget", budget_of(certificate), note=f"on {counted_lines(certificate.lines)}"),
        Fact("right", f"the most that guessing {question} can be right", right, note=f"50 % is tossing a coin{but}"),
    ]
    laws = [line.noise for line in certificate.lines if line.noise is not None and line.question in _COUNTS]
    if laws:
        noise = statistics.median(_WITHIN[law.kind] * law.sd for law in laws)
        note = "95 % of such noise is smaller"
        facts.append(Fact("noise", "noise on a typical count", f"± {noise:,.0f} rows", note=note))
    if accuracy.marginals:
        middle = statistics.median(each.variation for each in accuracy.marginals)
        facts.append(
            Fact(
                "variation",
                "total variation of a typical measured table, at most",
                f"{middle:.3f}",
                note="0 is no error, 1 is nothing in common",
            )
        )
    words = (
        "This report is about synthetic rows: a computer drew them from a model, and none was taken from the private "
        f"table. {certificate.mechanism} {did}"
    )
    points = (
        f"Noise protects {what}.",
        *_guessed(schema, certificate),
        "Made for: looking at distributions, planning studies, writing and testing analyses, teaching.",
        "Not made for: statements about single people, rare combinations, or decisions that hang on small differences.",
        "Before a figure counts, look up below how far it may be off.",
    )
    verdict = Facts(tuple(verdict_facts(certificate.verdict)), is_headline=True)
    parts: list[Part] = [verdict, Facts(tuple(facts), are_figures=True), Text(words, points=points)]
    parts += warnings_of((*uncovered, *certificate.warnings))
    if model.rows == 0:
        parts.append(Text("The released number of rows is 0: there is nothing to draw from.", is_warning=True))
    return Section("short", "In short", tuple(parts))


def _guessed(schema: Schema, certificate: Certificate) -> list[str]:
    """Say how many pairs of columns nobody counted, where there are any."""
    pairs = counted_pairs(certificate, [field.name for field in schema.columns])
    possible = math.comb(len(schema.columns), 2)
    if len(pairs) >= possible:
        return []
    counted = f"{len(pairs):,} of {possible:,} pairs of columns were counted together"
    return [f"{counted}; the relations of the others are model assumptions."]


def _use(schema: Schema, certificate: Certificate) -> Section:
    """Return what may be done with the release, and what nobody promises."""
    field = unit_field(certificate.privacy_unit)
    may = (
        "Share rows, the model, its certificate and this report with anybody; copy, join and analyse them. Nothing "
        "that is done with them costs further privacy.",
        "Draw more rows, or rows under a condition, from the saved model. More rows bring no more knowledge.",
        "Look up counts with intervals (`lapwing query`), and estimate means, shares and regression coefficients with "
        "standard errors that count the noise (`release.replicates`).",
    )
    points = [
        "That a synthetic row is like any real person. Likeness is chance, or a property of many.",
        "That relations hold which were not counted: a difference between small groups may be an artefact.",
        "That rare values are there, or that values which are there are not noise.",
        "That errors of estimates are those of a sample: standard errors as for real rows are too small.",
    ]
    if field is None:
        points.append(
            "That a person with several rows is protected as a whole. If people have several rows, ask for a release "
            "with a privacy unit."
        )
    else:
        points.append(f"That rows of one {field} belong together: they are drawn one by one.")
    if any(column.provenance == "assumed" for column in schema.columns):
        points.append("That bounds and categories which were taken from the table are harmless; see above.")
    points.append("That the machine's running time and memory told nothing to somebody who watched it.")
    return Section(
        "use",
        "How to use it, and what is not promised",
        (Text("You may:", points=may), Text("Nobody promises:", points=tuple(points))),
    )


def _again(schema: Schema, model: ReleasedModel, certificate: Certificate, answers: Sequence[Answer]) -> Section:
    """Return what somebody needs who wants to make the release, or this report, again."""
    seed = "none: other rows at each draw" if certificate.seed is None else str(certificate.seed)
    written = "-" if certificate.written_rows is None else f"{certificate.written_rows:,}"
    asked = {"ε": certificate.requested.epsilon, "δ": certificate.requested.delta, "ρ": certificate.requested.rho}
    lines = [
        ("Lapwing", certificate.lapwing),
        ("code (SHA-256)", certificate.code or "-"),
        ("mechanism", certificate.mechanism),
        ("requested", ", ".join(f"{sign} = {float(value):.6g}" for sign, value in asked.items() if value is not None)),
        ("neighbours", certificate.relation),
        ("privacy unit", certificate.privacy_unit),
        ("seed of the rows", seed),
        ("rows written with the certificate", written),
        ("atoms of the model", f"{model.atoms:,}"),
        ("noisy answers kept", f"{len(answers):,}"),
        ("schema (SHA-256)", schema.fingerprint),
    ]
    lines += [(f"setting {key}", _setting(value)) for key, value in certificate.settings.items()]
    words = (
        "The noise comes from secret random bits that are not kept, so that a release cannot be made twice. What can "
        "be made again, by anybody who has the saved model: rows (the same ones, with the same seed and versions), "
        "tables, intervals, and this report, byte for byte: `lapwing report MODEL -o report.html`."
    )
    table = Table("How the release was made", ("what", "value"), tuple(lines))
    return Section("again", "How to make it again", (Text(words), table))


def _setting(value: object) -> str:
    """Return a setting as text; None is what the mechanism chose by itself."""
    if value is None:
        return "default"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SETTINGS else f"{text[:_SETTINGS]} ... ({len(text):,} letters)"
