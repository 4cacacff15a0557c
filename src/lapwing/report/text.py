"""Tables as aligned text."""

from collections.abc import Sequence

from lapwing.schema.scalars import visible


def aligned(lines: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Return lines of cells as text with aligned columns.

    Parameters
    ----------
    lines : sequence of sequence of str
        All of the same length; the first is the heading.
    right : sequence of int
        The columns that are aligned on the right.

    Returns
    -------
    str
        One line of text each, without a line break at the end.

    Examples
    --------
    >>> print(aligned([("sex", "count"), ("Female", "7")], right=[1]))
    sex     count
    Female      7
    """
    lines = [list(map(_cell, line)) for line in lines]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if position in right else cell.ljust(width)
            for position, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _cell(text: str) -> str:
    """Return a cell on one line in which nothing is hidden."""
    return visible(text).replace("\n", " ")
