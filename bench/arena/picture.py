"""The picture of the arena: error of pairs against time, a dot for each system and a panel for each ε, as SVG."""

import math
from collections.abc import Mapping

Dots = Mapping[str, tuple[float, float]]
"""Of each system its CPU time and its error, as multiples of Lapwing's."""

OURS = "lapwing"
WIDTH, HEIGHT, LEFT, TOP, GAP = 290, 260, 46, 34, 18
ERRORS, TIMES = (1, 2, 4, 8, 16), (0.25, 1, 4, 16, 64)
LETTER = 6.6  # points that a letter is wide
Box = tuple[float, float, float, float]  # left, top, right, bottom


def picture(panels: Mapping[str, Dots], names: Mapping[str, str]) -> str:
    """Return the picture; names: what systems are called."""
    width = LEFT + (WIDTH + GAP) * len(panels)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {TOP + HEIGHT + 44}" font-family="sans-serif" '
        'font-size="12">',
        "<title>Error of pairs against CPU time, Lapwing at 1 and 1, for each epsilon</title>",
        '<rect width="100%" height="100%" fill="#fff"/>',
        f'<text x="{LEFT}" y="{TOP + HEIGHT + 36}">CPU time, times Lapwing\'s</text>',
        f'<text transform="translate(12 {TOP + HEIGHT}) rotate(-90)">error of pairs, times Lapwing\'s</text>',
    ]
    for place, (title, dots) in enumerate(panels.items()):
        parts += _panel(LEFT + (WIDTH + GAP) * place, title, dots, names)
    return "\n".join([*parts, "</svg>", ""])


def _panel(left: int, title: str, dots: Dots, names: Mapping[str, str]) -> list[str]:
    """Return one panel."""
    found = [
        f'<rect x="{left}" y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="#f6f6f8"/>',
        f'<text x="{left}" y="{TOP - 10}" font-weight="bold">{title}</text>',
    ]
    for time in TIMES:
        x = _x(left, time)
        found += [
            f'<line x1="{x:.0f}" x2="{x:.0f}" y1="{TOP}" y2="{TOP + HEIGHT}" stroke="#ddd"/>',
            f'<text x="{x:.0f}" y="{TOP + HEIGHT + 16}" text-anchor="middle" fill="#555">{time:g}</text>',
        ]
    for error in ERRORS:
        y = _y(error)
        found += [
            f'<line x1="{left}" x2="{left + WIDTH}" y1="{y:.0f}" y2="{y:.0f}" stroke="#ddd"/>',
            f'<text x="{left - 6}" y="{y + 4:.0f}" text-anchor="end" fill="#555">{error}</text>' * (left == LEFT),
        ]
    taken = [(_x(left, time) - 6, _y(error) - 6, _x(left, time) + 6, _y(error) + 6) for time, error in dots.values()]
    for name, (time, error) in sorted(dots.items(), key=lambda each: each[1][1]):
        x, y = _x(left, time), _y(error)
        words = names.get(name, name)
        box = _free_place(x, y, LETTER * len(words), left, taken)
        taken.append(box)
        colour = "#c22" if name == OURS else "#357"
        found += [
            f'<circle cx="{x:.0f}" cy="{y:.0f}" r="5" fill="{colour}"/>',
            f'<text x="{box[0]:.0f}" y="{box[3] - 3:.0f}" fill="{colour}">{words}</text>',
        ]
    return found


def _free_place(x: float, y: float, width: float, left: int, taken: list[Box]) -> Box:
    """Return where a label beside a dot touches nothing, right or left of it, at its height or near; else its right."""
    places = [
        (start, y + down - 7, start + width, y + down + 7)
        for down in (0, -13, 13, -24, 24)
        for start in (x + 8, x - 8 - width)
    ]
    inside = [each for each in places if each[0] >= left and each[2] <= left + WIDTH + GAP]
    free = (each for each in inside if not any(map(_touches, [each] * len(taken), taken)))
    return next(free, places[0])


def _touches(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _x(left: int, time: float) -> float:
    low, high = math.log(0.2), math.log(100)
    return left + WIDTH * (math.log(time) - low) / (high - low)


def _y(error: float) -> float:
    low, high = math.log(0.85), math.log(18)
    return TOP + HEIGHT * (1 - (math.log(error) - low) / (high - low))
