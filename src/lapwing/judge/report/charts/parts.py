"""What all charts of a report share: colours, labels, and altair kept to plain JSON."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from lapwing.errors import LapwingError

Figures = Sequence[float | None]
"""Numbers of a chart; None and NaN where there is none."""

_SERIES: Final = {
    "released": 1,
    "synthetic": 1,
    "real": 2,
    "bootstrap": 3,
    "independent": 4,
}
"""The colour that a series has wherever it is drawn; others take those that are left."""

_FALLBACKS: Final = {
    # Okabe and Ito (2008), told apart with any colour vision, darkened until they stand out from white. The page's
    # style sheet says what they are on a dark ground.
    "series-1": "#0072b2",
    "series-2": "#c25100",
    "series-3": "#00825f",
    "series-4": "#a8568a",
    "series-5": "#8a6d00",
    "series-6": "#3f7fae",
    "ink": "#1b2430",
    "ground": "#ffffff",
}
_RAMP: Final = ("#eef4f8", "#d6e6f0", "#b4d3e6", "#8abbd8", "#5c9fc7", "#3583b3", "#17669a", "#074b7c", "#03325a")
_BOTH_WAYS: Final = ("#8f3b00", "#c05a12", "#e08b4f", "#f3c3a1", "#f1f1f1", "#b5d2e5", "#6aa6ca", "#24779f", "#004a6e")

_MEMBERS: Final = {
    *("__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "__proto__", "constructor"),
    *("hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf"),
}
"""What every object of JavaScript has: Vega looks up labels in objects, and would find these there."""

MOST_LETTERS: Final = 48
"""Of a label beside a bar."""


def colour(name: str) -> str:
    """Return a colour that the page's style sheet may change, such as on a dark ground."""
    return f"var(--{name}, {_FALLBACKS[name]})"


def ramp(*, both_ways: bool = False) -> list[str]:
    """Return the shades of a heat map, from least to most, or from below to above zero."""
    kind, shades = ("both", _BOTH_WAYS) if both_ways else ("ramp", _RAMP)
    return [f"var(--{kind}-{place}, {shade})" for place, shade in enumerate(shades)]


def series_colours(names: Iterable[str]) -> dict[str, str]:
    """Return the colour of each series; the same name has the same colour in every chart.

    >>> series_colours(["real", "guess"])["real"]
    'var(--series-2, #c25100)'
    """
    listed = list(names)
    left = [place for place in range(1, 7) if place not in {_SERIES.get(name) for name in listed}]
    unnamed = [name for name in listed if name not in _SERIES]
    places = {name: left[number % len(left)] for number, name in enumerate(unnamed)}
    return {name: colour(f"series-{_SERIES.get(name) or places[name]}") for name in listed}


def distinct(labels: Iterable[str], letters: int = MOST_LETTERS) -> list[str]:
    """Return labels cut to a length and all different, since a chart joins bars that are called the same.

    >>> distinct(["abcdef", "abcxyz", "b"], letters=4)
    ['abc…', 'abc… (2)', 'b']
    """
    seen: dict[str, int] = {}
    shown = []
    for label in labels:
        text = label if len(label) <= letters else f"{label[: letters - 1]}…"
        text += "\u200b" * (text in _MEMBERS)  # no width
        while text in seen:
            seen[text] += 1
            text = f"{text} ({seen[text]})"
        seen[text] = 1
        shown.append(text)
    return shown


def number(value: float | None) -> float | None:
    """Return a number as JSON has it: None for NaN and infinity."""
    if value is None or not math.isfinite(value):
        return None
    return float(value)


def shown(value: float | None, *, is_share: bool = False) -> str:
    """Return a figure for a table: four significant digits, or a percentage.

    >>> shown(0.1234, is_share=True), shown(1234567.0), shown(None), shown(0.000012)
    ('12.34 %', '1,234,567', '-', '1.2e-05')
    """
    plain = number(value)
    if plain is None:
        return "-"
    if is_share:
        return f"{100 * plain:.2f} %"
    if abs(plain) >= 1000 or plain == round(plain):
        return f"{plain:,.0f}"
    return f"{plain:.4g}"


def altair() -> Any:  # noqa: ANN401 - a module
    """Return altair."""
    try:
        import altair as found  # noqa: PLC0415
    except ImportError:
        raise LapwingError(
            'a report needs altair; install it with: pip install "lapwing[report]"', code="LW701"
        ) from None
    return found


def plain_spec(chart: Any) -> Mapping[str, Any]:  # noqa: ANN401 - any chart of altair
    """Return a chart of altair as JSON values, without what altair adds by its own settings."""
    spec = chart.to_dict()
    spec.pop("config", None)  # the page has one for all charts
    return dict(spec)
