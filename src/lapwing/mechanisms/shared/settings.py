"""Checks of settings, in the same words for every mechanism; ``hint`` is the way out."""

from dataclasses import fields
from typing import Any, Final, Literal, cast, get_args

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import calibrate_noise, row_sensitivity
from lapwing.kernel.terms import Terms
from lapwing.schema.scalars import check_whole_number, is_among, safe_repr

Variant = Literal["default", "paper"]
"""``paper``: the published algorithm with its constants and post-processing, whatever of it is known to be weak."""

_MOST_NOISE: Final = 2.0**34
"""Records, the noise of a whole budget on one count: far above all tables, and far enough below what noise may be for
the parts of a budget that single questions get."""


def check_whole(
    settings: object,
    name: str,
    least: int,
    most: int,
    hint: str = "",
    *,
    optional: bool = False,
    limit: str = "",
) -> None:
    """Refuse a setting that is no whole number in its range; an optional one may be None."""
    value = getattr(settings, name)
    if not optional or value is not None:
        check_whole_number(name, value, least, most, hint, limit=limit, code="LW302")


def check_number(settings: object, name: str, least: float, most: float, hint: str = "", *, words: str = "lie") -> None:
    """Refuse a setting that is no number in its range."""
    value = getattr(settings, name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise ParameterError(f"{name} must {words} from {least} to {most}, got {safe_repr(value)}{hint}", code="LW301")


def check_choice(settings: object, name: str, choices: object, hint: str = "") -> None:
    """Refuse a setting that is none of the words of a Literal: in the text, two have an "or" and more have commas."""
    value, words = getattr(settings, name), get_args(choices)
    if not is_among(value, words):
        said = " or ".join(words) if hint else f"one of {', '.join(words)}"
        raise ParameterError(f"{name} must be {said}, got {safe_repr(value)}{hint}", code="LW303")


def check_unread(settings: object, *names: str) -> None:
    """Refuse settings that the paper's variant would not read."""
    defaults = {field.name: field.default for field in fields(cast("Any", settings))}
    for name in names:
        value, usual = getattr(settings, name), defaults[name]
        if value is not usual and (usual is None or value != usual):
            raise ParameterError(f"variant='paper' takes no {name}; leave one of both out", code="LW316")


def check_noise(budget: Budget, terms: Terms) -> None:
    """Refuse a budget whose noise on a single count is far above all tables."""
    sd = calibrate_noise(row_sensitivity(terms.relation, terms.max_rows), budget).sd
    if sd > _MOST_NOISE:
        raise ParameterError(
            f"the noise on a single count would be about {sd:.1g} rows, above {_MOST_NOISE:.1g}; give a larger budget, "
            "or a smaller maxRows",
            code="LW508",
        )
