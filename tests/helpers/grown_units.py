"""Units of any size, in tables of any size: which rows stay, and what another person may change of that: nothing."""

from decimal import Decimal

import numpy as np
import polars as pl

from lapwing.rows.cells import Texts
from lapwing.rows.source import all_codes, code_table
from lapwing.rows.units import UnitNumbers
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema

PLACES = ("first", "last", "in the middle")
"""Where the rows of another person are."""


def unit_schema(values, max_rows, kind="integer"):
    person = {"name": "person", "type": kind, "role": "identifier"}
    x = {"name": "x", "type": "integer", "constraints": {"minimum": 0, "maximum": values - 1, "required": True}}
    return Schema.from_dict({"fields": [person, x], "privacyUnit": {"field": "person", "maxRows": max_rows}})


def staying(person, x, values, max_rows, **settings):
    """Return the codes of the rows that stay, and the table's numbers of rows and units."""
    schema = unit_schema(values, max_rows)
    source = code_table(pl.DataFrame({"person": person, "x": x}), schema, **settings)
    return all_codes(source, schema)["x"], source.rows, source.units


def lone_unit_flags(rows, max_rows, **settings):
    """Return what is wrong where one person owns so many rows, alone or in the company of others."""
    own = np.random.default_rng(rows).permutation(rows)
    values = rows + 1000
    alone, kept, units = staying(np.zeros(rows, dtype=np.int64), own, values, max_rows, **settings)
    flags = []
    if kept != min(rows, max_rows) or units != 1 or len(set(alone.tolist())) != kept:
        flags.append(f"{kept} rows of {units} units stay of {rows} of one")
    for place in PLACES:
        for count in (1, 1000):
            others = 1 + np.arange(count)
            at = {"first": 0, "last": rows, "in the middle": rows // 2}[place]
            person = np.insert(np.zeros(rows, dtype=np.int64), at, others)
            found, _, units = staying(person, np.insert(own, at, rows + others - 1), values, max_rows, **settings)
            if sorted(found[found < rows]) != sorted(alone) or units != 1 + count or (found >= rows).sum() != count:
                flags.append(f"{count} rows of others, {place}, change which of {rows} rows of one person stay")
    reverse, *_ = staying(np.zeros(rows, dtype=np.int64), own[::-1], values, max_rows, **settings)
    return flags + ["the order of rows says which stay"] * (sorted(reverse) != sorted(alone))


def many_units_flags(rows, max_rows, **settings):
    """Return what is wrong where units of up to twice the rows that stay fill a table, and one of them leaves."""
    rng = np.random.default_rng(rows)
    person = np.repeat(np.arange(rows), rng.integers(1, 2 * max_rows + 1, rows))[:rows]
    x = np.arange(rows)
    whole, kept, units = staying(person, x, rows, max_rows, **settings)
    sizes = np.bincount(person)
    is_so = kept == np.minimum(sizes, max_rows).sum() and units == len(sizes)
    flags = [] if is_so else [f"{kept} rows of {units} units stay"]
    for leaves in {0, int(person[-1]), *(int(person[row]) for row in (2**12, 2**14, 2**16, 2**18) if row < rows)}:
        is_there = person != leaves
        left, *_ = staying(person[is_there], x[is_there], rows, max_rows, **settings)
        if not np.array_equal(left, whole[person[whole] != leaves]):
            flags.append(f"the leaving of unit {leaves} of {units} changes other units")
    return flags


# ------------------------------------------------------------------------------------------------------- identifiers


def written(number):
    """Return texts that stand for one whole number."""
    digits, zeros = Decimal(number).normalize().as_tuple()[1:]
    sign, figures = "-" if number < 0 else "", "".join(map(str, digits))
    texts = [str(number), f"{number}.0", f"{sign}{figures}e{zeros}", f"{sign}{figures}E+{zeros}"]
    if len(figures) > 1:
        texts.append(f"{sign}{figures[0]}.{figures[1:]}e{zeros + len(figures) - 1}")
    return [*texts, f"{sign}{figures}00e{zeros - 2}"]


WHOLE = sorted(
    {
        sign * (base + step)
        for sign in (1, -1)
        for base in (7, 10, *(2**power for power in range(50, 70)), *(10**power for power in range(14, 25)))
        for step in (-1, 0, 1)
    }
)
"""Whole numbers on both sides of each power where floats, 64 bits or digits end."""


def names_of(kind, cells):
    """Return the name of the unit of each cell."""
    units = UnitNumbers(Field(name="person", type=kind, identifier=True))
    units.add(cells)
    return units.names().to_list(), units.numbers().tolist()


def identifier_flags():
    """Return which whole numbers are several units by how they are written, or share one."""
    texts = [(number, text) for number in WHOLE for text in written(number)]
    names, numbers = names_of("integer", Texts(pl.Series([text for _, text in texts])))
    units = {}
    for (number, _), name, unit in zip(texts, names, numbers, strict=True):
        units.setdefault(number, set()).add((name, unit))
    several = [number for number, found in units.items() if len(found) > 1]
    return several + ["two are one"] * (len(set.union(*units.values())) < len(WHOLE))
