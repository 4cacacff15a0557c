"""Draw the picture of the home page from a release of the bundled sample: ``python tools/home_picture.py``.

Real rows, which are public here, beside as many synthetic ones. The noise has no seed: each run draws another picture.
"""

from itertools import product
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

import numpy as np
import polars as pl

import lapwing as lw

ROOT: Final = Path(__file__).resolve().parents[1]
PICTURE: Final = ROOT / "docs" / "img" / "real-and-synthetic.svg"
EXAMPLES: Final = ROOT / "src" / "lapwing" / "examples"
AGES, HOURS = np.arange(17, 92, 3), np.arange(1, 101, 4)
SIDE: Final = 9
"""Length of a cell of the map, in pixels."""
BAR: Final = 14
LINE: Final = 200
"""Height of one line of charts, in pixels."""
SCHOOLS: Final = (
    *("Preschool", "5th-6th", "9th", "11th", "HS-grad", "Some-college", "Assoc-acdm"),
    *("Bachelors", "Masters", "Prof-school", "Doctorate"),
)


def main() -> None:
    """Write the picture."""
    real = pl.read_parquet(EXAMPLES / "adult.parquet")
    release = lw.synthesize(EXAMPLES / "adult.parquet", EXAMPLES / "adult.schema.json", epsilon=1, delta=1e-9)
    lines = (("Real", "#b8860b", real), ("Synthetic", "#00796b", release.sample(real.height)))
    parts = [part for place, line in enumerate(lines) for part in drawn(place, *line)]
    size = f'width="800" height="{2 * LINE + 84}"'
    style = 'font-family="sans-serif" font-size="12" fill="#333"'
    ground = '<rect width="100%" height="100%" fill="#fff"/>'
    PICTURE.write_text(
        "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>', ground, *parts, "</svg>", ""]),
        encoding="utf-8",
        newline="\n",
    )


def drawn(place: int, title: str, colour: str, rows: pl.DataFrame) -> list[str]:
    """Return one line of charts: a map of two columns, and the share of high incomes by a third."""
    top = place * (LINE + 48) + 24
    texts = [
        text(10, top, f"{title}: {rows.height:,} rows, age (across) by weekly hours (up)"),
        text(430, top, f"{title}: share of incomes above 50K by education"),
    ]
    return [*texts, *heat(10, top + 10, colour, rows), *bars(430, top + 10, colour, rows)]


def heat(left: int, top: int, colour: str, rows: pl.DataFrame) -> list[str]:
    """Return the cells of the map, darker where there are more rows, on a logarithmic scale."""
    counts, _, _ = np.histogram2d(rows["age"], rows["hours_per_week"], bins=(AGES, HOURS))
    shades = np.log1p(counts) / np.log1p(counts.max())
    width, height = shades.shape
    cells = [
        f'<rect x="{left + SIDE * 1.6 * x:g}" y="{top + 8 * (height - 1 - y)}" width="{SIDE * 1.6:g}" height="8" '
        f'fill="{colour}" fill-opacity="{shades[x, y]:.2f}"/>'
        for x, y in product(range(width), range(height))
        if shades[x, y] >= 0.02
    ]
    return [f'<rect x="{left}" y="{top}" width="{SIDE * 1.6 * width:g}" height="{8 * height}" fill="#f4f4f4"/>', *cells]


def bars(left: int, top: int, colour: str, rows: pl.DataFrame) -> list[str]:
    """Return one bar for each kind of education."""
    shares = dict(rows.group_by("education").agg((pl.col("income") == ">50K").mean()).iter_rows())
    parts = []
    for place, school in enumerate(SCHOOLS):
        share, y = shares.get(school) or 0.0, top + place * (BAR + 3)
        parts += [
            text(left, y + BAR - 3, school),
            f'<rect x="{left + 90}" y="{y}" width="{share * 220:.0f}" height="{BAR}" fill="{colour}"/>',
            text(left + 96 + round(share * 220), y + BAR - 3, f"{share:.0%}"),
        ]
    return parts


def text(left: int, bottom: int, words: str) -> str:
    """Return words at a place."""
    return f'<text x="{left}" y="{bottom}">{escape(words)}</text>'


if __name__ == "__main__":
    main()
