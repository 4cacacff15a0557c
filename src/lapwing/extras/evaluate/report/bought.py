"""The sections of an evaluation that was made with budget."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from lapwing.extras.evaluate.metrics.tables.public_tables import NoisyVariation
from lapwing.extras.evaluate.report.charts import interval_dots
from lapwing.extras.evaluate.report.cost import cost_section
from lapwing.extras.evaluate.report.promise import promise_section
from lapwing.model.certificate.certificate import Certificate
from lapwing.present.document import Section, Table, Text

BOUGHT_LEAD: Final = (
    "Compares released rows with the private table through a few noisy answers that were paid for from the privacy "
    "budget. It may be published."
)


def bought_sections(
    variations: Sequence[NoisyVariation], certificate: Certificate, confidence: float
) -> tuple[Section, ...]:
    """Return the sections of the report of a comparison that was made with budget."""
    names = [f"tables of {each.ways} column{'s' if each.ways > 1 else ''}" for each in variations]
    name, widest = max(zip(names, variations, strict=True), key=lambda pair: pair[1].ways)
    meaning = (
        f"{name.capitalize()} differ by {widest.mean:.3f} on average, between {widest.lower:.3f} and "
        f"{widest.upper:.3f}; rows drawn from the synthetic shares would give {widest.floor:.3f}."
    )
    chart = interval_dots(
        names,
        [each.mean for each in variations],
        ([each.lower for each in variations], [each.upper for each in variations]),
        title="How far the synthetic table is from the real one",
        meaning=meaning,
        unit="mean total variation",
        marks={"floor": [each.floor for each in variations]},
    )
    lines = tuple((name, *each.texts) for name, each in zip(names, variations, strict=True))
    words = (
        "Total variation is half the sum of the differences between two tables' shares: 0 where all shares are equal, "
        f"1 where no cell is shared. All intervals hold at once with {confidence:.0%} probability over the noise. The "
        "floor is what a table of as many rows would give that were drawn from the synthetic shares."
    )
    table = Table(
        "Mean total variation distance",
        ("tables", "compared", "mean", f"{confidence:.0%} interval", "floor"),
        lines,
        numbers=(1, 2, 3, 4),
    )
    figures = Section("figures", "Synthetic beside real rows", (Text(words), chart, table))
    alone = (
        "This is about the comparison alone. What the release itself and others of the same table cost comes on top."
    )
    promise = promise_section(certificate)
    return (figures, replace(promise, parts=(Text(alone), *promise.parts)), cost_section(certificate))
