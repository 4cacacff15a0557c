"""Charts without a plotting library: dots on labelled lines, and points on two logarithmic axes, as palette indices."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

GLYPHS = (
    "A25755 B65656 C34443 D65556 E74647 F74644 G34553 H55755 I72227 J11152 K55655 L44447 M57755 N65555 O25552 P65644 "
    "Q25563 R65655 S34216 T72222 U55557 V55552 W55775 X55255 Y55222 Z71247 075557 126227 261247 361216 455711 574616 "
    "634757 771222 875757 975716 .00002 -00700 =07070 /11244 (24442 )42224 :02020 +02720 _00007 ,00024 %51245"
)
"""Five rows of three pixels for each character, an octal digit each, highest bit on the left."""

FONT = {
    glyph[0]: np.array([[int(row) >> bit & 1 for bit in (2, 1, 0)] for row in glyph[1:]], dtype=bool)
    for glyph in GLYPHS.split(" ")
}
BLACK, GREY, LINE = 255, 30, 12
SHADES = (245, 150, 75, 40, 110, 200)
"""Of the series, in their order: palette indices from dark violet to yellow."""

ROW, LEFT, RIGHT, WIDTH, TOP = 22, 330, 40, 900, 64

Series = Mapping[str, tuple[float, float]]
"""For each name a mean and a spread."""


def text(canvas: np.ndarray, y: int, x: int, words: str) -> None:
    """Write words, in capitals; characters without a glyph are spaces."""
    for place, letter in enumerate(words.upper()):
        glyph = FONT.get(letter)
        if glyph is not None:
            pixels = np.kron(glyph, np.ones((2, 2), dtype=bool))
            at = x + place * 8
            part = canvas[y : y + pixels.shape[0], at : at + pixels.shape[1]]
            part[pixels[: part.shape[0], : part.shape[1]]] = BLACK


def dots(title: str, lines: Sequence[tuple[str, Series]], most: float | None = None) -> np.ndarray:
    """Draw one line for each label, with a dot at each mean and a bar of one spread to each side.

    Parameters
    ----------
    title : str
        Above all.
    lines : sequence of (str, mapping of str to (float, float))
        A label, and mean and spread of each series; a series keeps its shade. A label without series is a heading.
    most : float, optional
        Right end of the axis; by default the largest value.

    Returns
    -------
    ndarray of uint8, shape (height, width)
        Palette indices.
    """
    names = list(dict.fromkeys(name for _, series in lines for name in series))
    most = most or max((mean + spread for _, series in lines for mean, spread in series.values()), default=1.0)
    canvas = np.zeros((TOP + ROW * len(lines) + 30, WIDTH), dtype=np.uint8)
    text(canvas, 8, 8, title)
    _legend(canvas, 30, names)
    span = WIDTH - LEFT - RIGHT
    for tick in _ticks(most):
        x = LEFT + round(tick / most * span)
        canvas[TOP - 4 : -24, x] = LINE
        text(canvas, canvas.shape[0] - 18, x - 8, f"{tick:g}")
    for place, (label, series) in enumerate(lines):
        y = TOP + ROW * place + ROW // 2
        text(canvas, y - 5, 8, label)
        if series:
            canvas[y, LEFT : LEFT + span] = GREY
        for name, (mean, spread) in reversed(series.items()):
            shade = SHADES[names.index(name) % len(SHADES)]
            low, high = (LEFT + round(np.clip(at / most, 0, 1.02) * span) for at in (mean - spread, mean + spread))
            canvas[y - 1 : y + 2, low : high + 1] = shade
            _dot(canvas, y, LEFT + round(min(mean / most, 1.02) * span), shade)
    return canvas


def log_log(title: str, curves: Mapping[str, Sequence[tuple[float, float]]], axes: tuple[str, str]) -> np.ndarray:
    """Draw points on two logarithmic axes, with a line at each power of ten.

    Parameters
    ----------
    title : str
        Above all.
    curves : mapping of str to sequence of (float, float)
        Points above 0 of each series, joined in their order.
    axes : (str, str)
        Names of the axes, across and up.

    Returns
    -------
    ndarray of uint8, shape (height, width)
    """
    points = np.log10(np.array([point for curve in curves.values() for point in curve]))
    low, high = np.floor(points.min(axis=0) + 1e-9), np.ceil(points.max(axis=0) - 1e-9)
    high = np.maximum(high, low + 1)
    canvas = np.zeros((520, 720), dtype=np.uint8)
    text(canvas, 8, 8, title)
    _legend(canvas, 30, list(curves))
    box = np.array([90, 450, 580, -370])  # left, bottom, width, height (upwards)
    text(canvas, 60, 8, axes[1])
    text(canvas, 495, 300, axes[0])

    def place(point: np.ndarray) -> tuple[int, int]:
        share = (point - low) / (high - low)
        return round(box[1] + share[1] * box[3]), round(box[0] + share[0] * box[2])

    for power in range(int(low[0]), int(high[0]) + 1):
        y, x = place(np.array([power, low[1]]))
        canvas[y + box[3] : y, x] = GREY
        text(canvas, y + 10, x - 12, f"{10.0**power:g}")
    for power in range(int(low[1]), int(high[1]) + 1):
        y, x = place(np.array([low[0], power]))
        canvas[y, x : x + box[2]] = GREY
        text(canvas, y - 5, 8, f"{10.0**power:g}")
    for number, curve in enumerate(curves.values()):
        spots = [place(np.log10(np.array(point))) for point in curve]
        shade = SHADES[number % len(SHADES)]
        for (y, x), (next_y, next_x) in pairwise(spots):
            steps = np.linspace(0, 1, 2 * max(abs(next_y - y), abs(next_x - x), 1))
            canvas[np.rint(y + steps * (next_y - y)).astype(int), np.rint(x + steps * (next_x - x)).astype(int)] = shade
        for y, x in spots:
            _dot(canvas, y, x, shade)
    return canvas


def _dot(canvas: np.ndarray, y: int, x: int, shade: int, radius: int = 5) -> None:
    """Draw a disc."""
    down, across = np.ogrid[-radius : radius + 1, -radius : radius + 1]
    part = canvas[y - radius : y + radius + 1, x - radius : x + radius + 1]
    part[(down**2 + across**2 <= radius**2)[: part.shape[0], : part.shape[1]]] = shade


def _legend(canvas: np.ndarray, y: int, names: Sequence[str]) -> None:
    """Name the series beside their dots."""
    x = 16
    for number, name in enumerate(names):
        _dot(canvas, y + 5, x, SHADES[number % len(SHADES)])
        text(canvas, y, x + 12, name)
        x += 12 + 8 * len(name) + 30


def _ticks(most: float) -> list[float]:
    """Return three to eight round numbers from 0 to the end of an axis."""
    unit = 10.0 ** np.floor(np.log10(most))
    step = next(unit * part for part in (0.1, 0.2, 0.25, 0.5, 1, 2) if most / (unit * part) <= 8)
    return [round(step * place, 10) for place in range(int(most / step + 1e-9) + 1)]
