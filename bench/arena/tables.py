"""The tables of the arena, made once in a folder: rows to fit on, rows held back, a schema, and public codes.

26 are the shared ones, the others are drawn from published recipes (`recipes.py`). One row is one unit of privacy for
all, as most rivals know nothing else: identifiers and privacy units are left out. A fifth of the rows is held back, by
`splits.train_test`; rows of one person or household stay together. Categories and bounds are those of the schemas.
Where ``bench/rules`` declares rules of a table, they are part of its schema: public, for whoever can use them.
"""

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

sys.path.append(str(Path(__file__).resolve().parents[1]))

from arena import recipes
from arena.codings import PARTS, Coding, coding_of, schema_of
from arena.learning import target_of
from splits import train_test

from lapwing.rows.source import all_codes, code_table

BENCH = Path(__file__).resolve().parents[1]
SHARED = BENCH.parents[1] / "shared" / "data"
RULES = BENCH / "rules"
CODED_ALREADY = ("adult-pgm", "salary-pgm")
"""private-pgm's own tables: integers that are codes already, and stay as they are."""

Raw = tuple[pl.DataFrame, dict[str, object], np.ndarray]


@dataclass(frozen=True, slots=True, eq=False)
class ArenaTable:
    """One table on disk.

    Parameters
    ----------
    name : str
        One of `names`.
    train, held : Path
        Parquet files of native values: rows to fit on, and rows held back.
    schema : dict
        Table Schema of the native values, as Lapwing reads it; ``target`` names the column that classifiers learn.
    codes, held_codes : Path
        Parquet files of the same rows as whole numbers from 0.
    domain : dict of str to int
        The number of codes of each column.
    codes_schema : dict
        Table Schema of the codes.
    """

    name: str
    train: Path
    held: Path
    schema: dict[str, object]
    codes: Path
    held_codes: Path
    domain: dict[str, int]
    codes_schema: dict[str, object]
    _coding: Coding

    def decode(self, codes: pl.DataFrame, *, seed: int = 0) -> pl.DataFrame:
        """Return native values of codes; a number or date is drawn uniformly within its part, by a public seed."""
        return self._coding.decode(codes, seed=seed)


def names() -> list[str]:
    """Return the names of all tables: the shared ones, then those of recipes."""
    return [*sorted(path.parent.name for path in SHARED.glob("*/schema.json")), *recipes.NAMES]


def made(name: str, folder: str | os.PathLike[str]) -> ArenaTable:
    """Return a table, written to ``folder/name`` unless it is there already.

    Parameters
    ----------
    name : str
        One of `names`.
    folder : path
        A folder for all tables; delete ``folder/name`` to make the table anew.

    Raises
    ------
    ValueError
        Where there is no such table.
    """
    if name not in names():
        raise ValueError(f"there is no table {name}; choose one of {', '.join(names())}")
    home = Path(folder) / name
    if not (home / "schema.json").exists():
        _write(name, home)
    schema = json.loads((home / "schema.json").read_text())
    coding = _coding(name, schema)
    paths = {part: home / f"{part}.parquet" for part in ("train", "held", "codes", "held_codes")}
    of_codes = {"domain": coding.domain, "codes_schema": coding.schema_of_codes}
    return ArenaTable(name=name, schema=schema, _coding=coding, **of_codes, **paths)


def _coding(name: str, schema: dict[str, object]) -> Coding:
    """Return the public codes of a table."""
    return coding_of(schema_of(schema), parts=None if name in CODED_ALREADY else PARTS)


def _write(name: str, home: Path) -> None:
    """Write the files of a table; the schema last, so that it says that all are there."""
    rows, schema, units = _drawn(name) if name in recipes.NAMES else _shared(name)
    chosen = np.isin(units, train_test(int(units.max()) + 1)[0])
    parts = {"train": rows.filter(chosen), "held": rows.filter(~chosen)}
    coding = _coding(name, schema)
    schema["target"] = schema.get("target") or target_of(
        all_codes(code_table(parts["train"], coding.schema), coding.schema), coding.schema
    )
    home.mkdir(parents=True, exist_ok=True)
    for part, file in (("train", "codes"), ("held", "held_codes")):
        parts[part].write_parquet(home / f"{part}.parquet")
        coding.encode(parts[part]).write_parquet(home / f"{file}.parquet")
    hidden = home / ".schema.json"
    hidden.write_text(json.dumps(schema))
    hidden.replace(home / "schema.json")


def _drawn(name: str) -> Raw:
    """Return a table of a recipe; every row is a unit."""
    rows, schema = recipes.drawn(name)
    return rows, {"name": name} | schema, np.arange(rows.height)


def _shared(name: str) -> Raw:
    """Return a shared table without its identifiers, its schema, and the number of each row's unit."""
    source = json.loads((SHARED / name / "schema.json").read_text())
    rules = RULES / f"{name}.json"
    told = json.loads(rules.read_text()) if rules.exists() else {}
    more = told.get("fields", {})
    fields = [field | more.get(field["name"], {}) for field in source["fields"] if field.get("role") != "identifier"]
    schema = {
        "name": name,
        "fields": fields,
        "target": json.loads((SHARED / name / "facts.json").read_text())["target"],
    }
    schema |= {"rules": told["rules"]} if told else {}
    rows = pl.read_parquet(SHARED / name / "data.parquet")
    units = np.arange(rows.height)
    if "privacyUnit" in source:
        # Numbered as they first occur.
        units = (rows[source["privacyUnit"]["field"]].rank("dense") - 1).to_numpy().astype(np.int64)
    return rows.select([field["name"] for field in fields]), schema, units
