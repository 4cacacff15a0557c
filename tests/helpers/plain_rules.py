"""Rows that break rules, counted on decoded tables, straight from the file format.

Written against the text of the format alone: it imports nothing of Lapwing, so that it can disagree with it.
"""

import datetime as dt
from typing import Any

import polars as pl

Rows = pl.DataFrame
Fields = dict[str, dict[str, Any]]

_ROUNDING = 1e-9
"""Floats that differ by less are one number; the steps of all columns are far larger."""


def broken_rows(table: Rows, rule: dict[str, Any], fields: list[dict[str, Any]]) -> int:
    """Return how many rows of a decoded table break one rule of the file format."""
    if not table.height:
        return 0
    by_name = {field["name"]: field for field in fields}
    for key, broken in _KINDS.items():
        if key in rule:
            return int(table.select(broken(table, rule, by_name).fill_null(value=False).sum()).item())
    raise ValueError(f"no such rule: {rule}")


def _matches(table: Rows, name: str, wanted: Any, fields: Fields) -> pl.Expr:
    """Return where a cell is as a condition wants: a value, null, a list of those, or a range."""
    if isinstance(wanted, list):
        return pl.any_horizontal([_matches(table, name, each, fields) for each in wanted])
    column = pl.col(name)
    if wanted is None:
        return column.is_null()
    if isinstance(wanted, dict):
        ends = {"minimum": column.__ge__, "maximum": column.__le__}
        inside = [ends[end](_literal(table, name, value)) for end, value in wanted.items() if value is not None]
        return pl.all_horizontal([*inside, _is_plain(name, fields)]).fill_null(value=False)
    if table[name].dtype == pl.Float64:
        return ((column - wanted).abs() < _ROUNDING).fill_null(value=False)
    return (column == _literal(table, name, wanted)).fill_null(value=False)


def _literal(table: Rows, name: str, value: Any) -> pl.Expr:
    """Return a value of a file as a value of the column."""
    if table[name].dtype == pl.Date:
        return pl.lit(dt.date.fromisoformat(value))
    if isinstance(table[name].dtype, pl.Datetime):
        return pl.lit(dt.datetime.fromisoformat(value)).cast(table[name].dtype)
    return pl.lit(value)


def _is_plain(name: str, fields: Fields) -> pl.Expr:
    """Return where a cell is neither missing nor a special value."""
    special = fields[name].get("special", [])
    return pl.col(name).is_not_null() & (~pl.col(name).is_in(special) if special else pl.lit(value=True))


def _order(table: Rows, rule: dict[str, Any], fields: Fields) -> pl.Expr:
    """Return where a column is beyond the one that follows it, both being plain values."""
    broken = []
    for low, high in zip(rule["order"], rule["order"][1:], strict=False):
        lower, upper = pl.col(low), pl.col(high)
        categories = fields[low].get("categories")
        if categories:
            ranks = {value: rank for rank, value in enumerate(categories)}
            lower, upper = (each.replace_strict(ranks, default=None) for each in (lower, upper))
        beyond = lower >= upper if rule.get("strict", False) else lower > upper
        broken.append(beyond & _is_plain(low, fields) & _is_plain(high, fields))
    return pl.any_horizontal(broken)


def _sum(table: Rows, rule: dict[str, Any], fields: Fields) -> pl.Expr:
    """Return where a weighted sum is not the column that it equals, all being plain values."""
    given = rule["sum"]
    weights = given if isinstance(given, dict) else dict.fromkeys(given, 1)
    total = pl.sum_horizontal([pl.col(name).cast(pl.Float64) * weight for name, weight in weights.items()])
    off = (total - pl.col(rule["equals"]).cast(pl.Float64)).abs() > _ROUNDING
    return pl.all_horizontal([off, *(_is_plain(name, fields) for name in (*weights, rule["equals"]))])


def _determines(table: Rows, rule: dict[str, Any], fields: Fields) -> pl.Expr:
    """Return where the value is not the one of its determinants: the listed one, or else the commonest."""
    names, name = rule["determines"], rule["column"]
    if "values" in rule:
        found = [
            (_all_match(table, dict(zip(names, keys, strict=True)), fields), value) for *keys, value in rule["values"]
        ]
        return pl.any_horizontal([is_listed & ~_matches(table, name, value, fields) for is_listed, value in found])
    every = table.group_by(names).agg(pl.len().alias("_all"))
    most = table.group_by([*names, name]).agg(pl.len().alias("_same")).group_by(names).agg(pl.col("_same").max())
    # So many rows are not of the commonest value, whichever of equally common ones that is.
    odd = every.join(most, on=names, nulls_equal=True).select((pl.col("_all") - pl.col("_same")).sum()).item()
    return pl.int_range(pl.len()) < odd


def _all_match(table: Rows, conditions: dict[str, Any], fields: Fields) -> pl.Expr:
    """Return where a row is as all conditions want."""
    return pl.all_horizontal([_matches(table, name, wanted, fields) for name, wanted in conditions.items()])


def _implies(table: Rows, rule: dict[str, Any], fields: Fields) -> pl.Expr:
    """Return where a row matches what is asked, and not what follows."""
    return _all_match(table, rule["when"], fields) & ~_all_match(table, rule["then"], fields)


def _never(table: Rows, rule: dict[str, Any], fields: Fields) -> pl.Expr:
    """Return where a row matches what no row may."""
    return _all_match(table, rule["never"], fields)


def _allowed(table: Rows, rule: dict[str, Any], fields: Fields) -> pl.Expr:
    """Return where a row matches none of the combinations."""
    rows = [dict(zip(rule["allowed"], row, strict=True)) for row in rule["rows"]]
    return ~pl.any_horizontal([_all_match(table, row, fields) for row in rows])


_KINDS = {
    "order": _order,
    "sum": _sum,
    "determines": _determines,
    "when": _implies,
    "never": _never,
    "allowed": _allowed,
}
