"""The sections of an evaluation that was made with budget."""

from collections.abc import Sequence
from dataclasses import replace

from lapwing.extras.evaluate.metrics.tables.public_tables import NoisyVariation
from lapwing.extras.evaluate.report.charts import interval_dots
from lapwing.extras.evaluate.report.cost import cost_section
from lapwing.extras.evaluate.report.parts import section, table
from lapwing.extras.evaluate.report.promise import promise_section
from lapwing.extras.evaluate.words import say
from lapwing.model.certificate.certificate import Certificate
from lapwing.present.document import Section, Text, count_text


def bought_sections(
    variations: Sequence[NoisyVariation], certificate: Certificate, confidence: float
) -> tuple[Section, ...]:
    """Return the sections of the report of a comparison that was made with budget."""
    names = [say("bought.tables", columns=count_text(each.ways, "column")) for each in variations]
    name, widest = max(zip(names, variations, strict=True), key=lambda pair: pair[1].ways)
    meaning = say("bought.meaning", name=name.capitalize(), found=widest)
    chart = interval_dots(
        names,
        [each.mean for each in variations],
        ([each.lower for each in variations], [each.upper for each in variations]),
        title=say("bought.chart"),
        meaning=meaning,
        unit=say("bought.unit"),
        marks={"floor": [each.floor for each in variations]},
    )
    lines = tuple((name, *each.texts) for name, each in zip(names, variations, strict=True))
    figures = table("bought.table", lines, numbers=range(1, 5), confidence=confidence)
    promise = promise_section(certificate)
    return (
        section("figures", (Text(say("bought.words", confidence=confidence)), chart, figures)),
        replace(promise, parts=(Text(say("bought.alone")), *promise.parts)),
        cost_section(certificate),
    )
