"""How objects show themselves in a line or a few: what differs from its default, and of what is long the beginning."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

from lapwing.schema.scalars import quote, visible

_ITEMS: Final = 6  # of a list that are shown
_SPECIAL: Final = 4  # values of a field that are shown
_FIELDS: Final = 3  # of a schema that are shown where not all are
_LETTERS: Final = 60
_PLAIN: Final = ("builtins", "datetime", "decimal", "fractions", "lapwing", "pathlib")
"""Of whose types a value shows itself."""


def short(self: Any) -> str:  # noqa: ANN401 - any dataclass
    """Return a dataclass as ``Name(field=value, ...)``, without the fields that are as by default."""
    said = [
        f"{field.name}={short_value(value)}"
        for field, value in ((each, getattr(self, each.name)) for each in dataclasses.fields(self) if each.repr)
        if field.default is dataclasses.MISSING or type(value) is not type(field.default) or value != field.default
    ]
    return f"{type(self).__name__}({', '.join(said)})"


def short_value(value: object) -> str:
    """Return a value on one line.

    >>> short_value((1 / 3, list(range(9)), {"a": "b"}))
    "(0.333333, [0, 1, 2, 3, 4, 5, … 3 more], {'a': 'b'})"
    """
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Mapping):
        return f"{{{_first_texts([f'{short_value(key)}: {short_value(each)}' for key, each in value.items()])}}}"
    if isinstance(value, list):
        return f"[{_first_texts(list(map(short_value, value)))}]"
    if isinstance(value, tuple):
        return f"({_first_texts(list(map(short_value, value)))}{',' * (len(value) == 1)})"
    if isinstance(value, str):
        return repr(one_line(value))
    if type(value).__module__.partition(".")[0] in _PLAIN:
        return one_line(repr(value).partition("\n")[0], 2 * _LETTERS)
    return f"{type(value).__name__}(...)"  # it may hold rows


def one_line(text: str, letters: int = _LETTERS) -> str:
    """Return a text on one line, in which nothing is hidden, of at most so many letters."""
    plain = visible(text).replace("\n", " ").replace("\t", " ")
    return plain if len(plain) <= letters else f"{plain[: letters - 1]}…"


def schema_in_short(schema: Any) -> str:  # noqa: ANN401 - a Schema, whose module imports this one
    """Return a schema on at most five lines."""
    name = f"{one_line(schema.name)}: " * bool(schema.name)
    unit = "" if schema.privacy_unit is None else f", privacy unit {one_line(schema.unit_label)}"
    lines = [f"Schema({name}{_count_text(len(schema.fields), 'column')}{unit}{', draft' * schema.is_draft})"]
    shown = schema.fields if len(schema.fields) <= _FIELDS + 1 else schema.fields[:_FIELDS]
    lines += [f"  {one_line(field.name)}: {values_in_short(field)}" for field in shown]
    more = len(schema.fields) - len(shown)
    return "\n".join([*lines, *([f"  … {more:,} more"] if more else [])])


def linked_in_short(linked: Any) -> str:  # noqa: ANN401 - likewise
    """Return linked tables on one line each, under the key that is protected."""
    what = "events" if linked.is_events else _count_text(len(linked.given), "table")
    lines = [f"Schema(key {one_line(linked.key)}, {what})"]
    for table in (linked.table(name) for name in linked.given):
        parent = linked.key if linked.is_events else table.parent
        most = "" if parent is None else f", at most {_count_text(table.max_rows, 'row')} of one {one_line(parent)}"
        order = "" if table.order is None else f", by {one_line(table.order.by)}"
        columns = len(linked.as_written(table.name).fields)
        lines.append(f"  {one_line(table.name)}: {_count_text(columns, 'column')}{most}{order}")
    return "\n".join(lines)


def values_in_short(field: Any) -> str:  # noqa: ANN401 - likewise
    """Return the type and values of a field, such as ``integer, 0 to 120`` or ``string, 3 categories``."""
    if field.identifier:
        return f"{field.type}, identifier{'' if field.made_up is None else f', made up: {field.made_up}'}"
    if field.categories is not None:
        return f"{field.type}, {_count_text(len(field.categories), 'category').replace('categorys', 'categories')}"
    if field.type == "boolean":
        return str(field.type)
    if field.blank:
        return f"{field.type}, {' and '.join(field.blank)} open"
    return f"{field.type}, {field.minimum} to {field.maximum}"


def _first_texts(texts: list[str]) -> str:
    """Return the first of some texts, and how many more there are."""
    more = len(texts) - _ITEMS
    return ", ".join(texts[:_ITEMS] + [f"… {more:,} more"] * (more > 0))


def _count_text(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


# -- In words, for the terminal and for pages.


def values_in_words(field: Any) -> str:  # noqa: ANN401 - likewise
    """Return the values of a field in a few words.

    >>> from lapwing.schema.fields import Field
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


def _details(field: Any) -> list[str]:  # noqa: ANN401 - likewise
    """Return what else a field says of its values, in a few words each."""
    by = f"by {field.resolution}" if isinstance(field.resolution, str) else f"in steps of {field.resolution}"
    shown = ", ".join(map(str, field.special[:_SPECIAL]))
    more = f" and {len(field.special) - _SPECIAL} more" if len(field.special) > _SPECIAL else ""
    said = [
        (field.resolution is not None, by),
        (field.scale == "log", "log scale"),
        (field.hierarchy is not None, "in branches"),
        (bool(field.folds), _rest_text(field)),
        (field.unlisted is not None, f"{'other' if field.folds else 'all other'} texts go to {quote(field.unlisted)}"),
        (bool(field.special), f"special {shown}{more}"),
        (not field.required, "may be missing"),
    ]
    return [part for is_so, part in said if is_so]


def _rest_text(field: Any) -> str:  # noqa: ANN401 - likewise
    """Say where texts that are not listed go, or that no category is as long as a declared prefix."""
    if not field.folds or field.categories is None:
        return "texts not listed go to their prefix"
    lengths = {len(category) for category in field.categories if isinstance(category, str)}
    if lengths.intersection(field.folds):
        return "texts not listed go to their prefix"
    *most, last = map(str, field.folds)
    listed = f"{', '.join(most)} or {last}" if most else last
    return f"no category has {listed} character{'' if field.folds == (1,) else 's'}: nothing folds"


def part_in_words(linked: Any, name: str) -> str:  # noqa: ANN401 - likewise
    """Return what a row of a part stands for, how many are used, and what is asked about beside its own columns."""
    table = linked.table(name)
    counts = [f"how many rows of {below.name} it has ({below.count})" for below in linked.below(name)]
    if table.parent is None:
        made = f", made of the rows of {linked.given[0]}" if linked.is_events else ""
        said = f"One row for each value of {linked.key}{made}"
        return visible(" and ".join([f"{said}: its own columns", *counts]) + ".")
    order = "in no order" if table.order is None else f"in the order of {table.order.by}"
    said = f"At most {table.max_rows} rows for each row of {table.parent} are used, {order}"
    lag = linked.lag(name)
    asked = [] if lag is None else [f"its place among them ({lag.number}, {lag.left})"]
    if lag is not None and lag.previous:
        asked.append(f"the rows before ({', '.join((*lag.previous.values(), *lag.second.values()))})")
    if lag is not None and lag.gap is not None:
        asked.append(f"the steps from there ({lag.gap})")
    above = linked.given_names(name).values()
    asked += counts + ([f"the rows above ({', '.join(above)})"] if above else [])
    return visible(f"{said}. Each is asked about with {', '.join(asked)}.")
