"""What may be said in public about the accuracy of a release: statements that touch no row."""

from dataclasses import dataclass
from typing import Any, ClassVar, Final

from lapwing.kernel.codec import PLAIN, Codec
from lapwing.model.certificate.statements import Statement
from lapwing.on_demand import Displayable
from lapwing.schema.short import one_line

_LETTERS: Final = 400
"""Of a sentence that a representation shows."""

_SHOWN: Final = 10
"""Tables that a summary lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalAccuracy:
    """Hold how far the released table of some columns can be from the true one.

    The true table is of the rows used that fit the schema in these columns.

    cells: of the table, in the groups in which it was measured; noise: standard deviation of the noise on one cell's
    count, in rows; largest_error: a bound for the differences between the released and the true counts of all its cells
    at once, in rows; variation: a bound for the total variation distance between the released and the true table, 0 to
    1; 1 says nothing; level: of a tree of tables over the same columns, from 0 for the coarsest; None for a table on
    its own.
    """

    columns: tuple[str, ...]
    cells: int
    noise: float
    largest_error: float
    variation: float
    confidence: float
    level: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableAccuracy(Displayable):
    """Hold how accurate the released table of some columns is, whether it was measured or not.

    Parameters
    ----------
    columns : tuple of str
        One or more.
    cells : int
        Of the table, in the groups that were asked for.
    is_measured : bool
        Whether noisy counts make up every cell.
    noise, expected_error : float or None
        Root of the mean square, and mean size, of the noise on a cell of the noisy counts, in rows; the released counts
        are fitted to these, and mostly as near. None where the table was not measured.
    expected_variation : float or None
        Total variation distance that this noise makes in expectation, at most 1.
    largest_error : float or None
        A bound for the differences between the released and the true counts of all cells at once, in rows; where the
        table was not measured, from the counts of fewer columns; None where these say nothing either.
    variation : float or None
        A bound for the total variation distance, 0 to 1; None where the table was not measured.
    confidence : float
        With which both bounds hold, each by itself.
    text : str
        The same as sentences.
    """

    columns: tuple[str, ...]
    cells: int
    is_measured: bool
    noise: float | None
    expected_error: float | None
    expected_variation: float | None
    largest_error: float | None
    variation: float | None
    confidence: float
    text: str

    def __repr__(self) -> str:
        return f"TableAccuracy({one_line(self.text, _LETTERS)})"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values."""
        return PLAIN.write(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class CountAccuracy(Displayable):
    """Hold how accurate the released number of rows that meet a condition is.

    Parameters
    ----------
    columns : tuple of str
        That the condition looks at.
    count : float
        Expected under the model, in rows.
    is_measured : bool
        Whether noisy counts make up the number.
    terms : int
        How many of them; 0 where the number was not measured.
    noise : float or None
        Standard deviation of their sum, in rows.
    lower, upper : float or None
        The true number of the rows used lies between them; where it was not measured, from counts of fewer columns.
    largest_error : float or None
        How far the true number can be from ``count`` then, in rows.
    confidence : float
        With which the interval holds.
    text : str
        The same as a sentence.
    """

    columns: tuple[str, ...]
    count: float
    is_measured: bool
    terms: int
    noise: float | None
    lower: float | None
    upper: float | None
    largest_error: float | None
    confidence: float
    text: str

    def __repr__(self) -> str:
        return f"CountAccuracy({one_line(self.text, _LETTERS)})"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values."""
        return PLAIN.write(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy(Displayable):
    """Hold all that may be said in public about the accuracy of a release.

    Parameters
    ----------
    statements : tuple of Statement
        About the release as a whole.
    marginals : tuple of MarginalAccuracy
        About the tables that were measured, the most uncertain first.
    effective_rows : float
        Effective sample size of the model's weights: 1 over the sum of their squares.
    largest_density : float or None
        The largest density of the released law against the law that it was fitted on, at least 1; None where the model
        has no such density, or was held to rules or public tables since.
    measured : int
        How many tables were measured; `marginals` may hold fewer.
    """

    document: ClassVar = ("statements", "marginals", "measured", "effective_rows", "largest_density")

    statements: tuple[Statement, ...]
    marginals: tuple[MarginalAccuracy, ...]
    effective_rows: float
    largest_density: float | None
    measured: int = 0

    def __repr__(self) -> str:
        first = "".join(f"\n  {one_line(each.text, _LETTERS)}" for each in self.statements[:3])
        more = len(self.statements) - 3
        return f"Accuracy({self.measured} measured tables){first}{f'{chr(10)}  … {more} more' * (more > 0)}"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values."""
        return _CODEC.write(self)

    def summary(self) -> str:
        """Return the statements as lines of text, then the most uncertain tables."""
        lines = [each.text for each in self.statements]
        if self.marginals:
            confidence = self.marginals[0].confidence
            lines += [
                "",
                f"Measured tables, the most uncertain first; each bound holds with confidence {confidence:g}:",
            ]
            lines += [_line(each) for each in self.marginals[:_SHOWN]]
            more = self.measured - len(self.marginals[:_SHOWN])
            lines += [f"and {more} more."] * (more > 0)
        return "\n".join(lines) + "\n"


def _line(each: MarginalAccuracy) -> str:
    """Return one measured table as text."""
    name = ", ".join(each.columns) + ("" if each.level is None else f" (level {each.level})")
    return (
        f"{name}: {each.cells} cells, every count within {each.largest_error:.0f} rows, total variation at most "
        f"{each.variation:.3g}"
    )


def _stated(statement: Statement) -> dict[str, Any]:
    """Return a statement with its sentence, for readers without a dictionary of codes."""
    more = {"confidence": statement.confidence, "basis": statement.basis, "source": statement.source}
    return {"code": statement.code, "text": statement.text, "value": statement.value, "unit": statement.unit, **more}


_CODEC: Final = Codec({Statement: (_stated, Statement.from_dict)})
