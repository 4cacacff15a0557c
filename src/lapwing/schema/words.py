"""What a field says of its values, in a few words: for the terminal and for pages."""

from lapwing.schema.fields import Field
from lapwing.schema.scalars import quote

_SPECIAL_SHOWN = 4


def values_in_words(field: Field) -> str:
    """Return the values of a field in a few words.

    >>> values_in_words(Field(name="age", type="integer", minimum=0, maximum=120, special=(-1,)))
    '0 to 120, special -1, may be missing'
    """
    if field.categories is not None:
        text = f"{len(field.categories)} categories"
    elif field.type == "boolean":
        text = "true, false"
    else:
        text = f"{field.minimum} to {field.maximum}"
    return "".join([text, *(f", {part}" for part in _details(field))])


def _details(field: Field) -> list[str]:
    """Return what else a field says of its values, in a few words each."""
    by = f"by {field.resolution}" if isinstance(field.resolution, str) else f"in steps of {field.resolution}"
    shown = ", ".join(map(str, field.special[:_SPECIAL_SHOWN]))
    more = f" and {len(field.special) - _SPECIAL_SHOWN} more" if len(field.special) > _SPECIAL_SHOWN else ""
    said = [
        (field.resolution is not None, by),
        (field.scale == "log", "log scale"),
        (field.hierarchy is not None, "in branches"),
        (bool(field.folds), _folded(field)),
        (field.unlisted is not None, f"{'other' if field.folds else 'all other'} texts go to {quote(field.unlisted)}"),
        (bool(field.special), f"special {shown}{more}"),
        (not field.required, "may be missing"),
    ]
    return [part for is_so, part in said if is_so]


def _folded(field: Field) -> str:
    """Say where texts that are not listed go, or that no category is as long as a declared prefix."""
    if not field.folds or field.categories is None:
        return "texts not listed go to their prefix"
    lengths = {len(category) for category in field.categories if isinstance(category, str)}
    if lengths.intersection(field.folds):
        return "texts not listed go to their prefix"
    *most, last = map(str, field.folds)
    listed = f"{', '.join(most)} or {last}" if most else last
    return f"no category has {listed} character{'' if field.folds == (1,) else 's'}: nothing folds"
