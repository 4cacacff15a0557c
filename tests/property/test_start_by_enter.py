"""`lapwing start` by Enter alone, on messy tables of any make: a release of nothing that cannot be, and no dead end."""

import datetime as dt
import io
import random

import polars as pl
import pytest

from helpers.command import lapwing
from lapwing.kernel.budget.budget import requested_budget
from lapwing.kernel.budget.ledger import Ledger

ROWS = 400


def column(kind, rng):
    """Return a column's name and its cells: what offices write, with codes, blanks, case and texts among numbers."""
    code, rate = rng.choice(["k.A.", "NA", "pending", "-99", "999", ""]), rng.choice([0.0, 0.02, 0.3])
    cell = {
        "amount": lambda: f"{rng.lognormvariate(3, 0.5):.2f}",
        "comma": lambda: f"{rng.uniform(1, 60):.1f}".replace(".", ","),
        "count": lambda: str(rng.randint(0, 40)),
        "flag": lambda: str(rng.randint(0, 1)),
        "answer": lambda: rng.choice(["ja", "Ja", "nein", "NEIN ", " nein"]),
        "town": lambda: rng.choice(["Bern", "bern", "URI ", "Zug"]),
        "day": lambda: (dt.date(2015, 1, 1) + dt.timedelta(days=rng.randint(0, 2000))).strftime("%d.%m.%Y"),
        "empty": str,
        "note": lambda: f"note {rng.random():.12f}",
    }[kind]
    is_text = kind in ("town", "note", "empty", "answer", "day")
    return [code if not is_text and rng.random() < rate else cell() for _ in range(ROWS)]


def is_possible(kind, cells):
    """Tell whether all cells of a released column can be what a person would expect of its kind."""
    found = set(cells.drop_nulls().to_list())
    if kind == "flag":
        return {float(each) for each in found} <= {0, 1}
    if kind in ("answer", "town"):
        return found <= {"ja", "nein", "bern", "uri", "zug", "(other)"}
    if kind == "day":
        return all("1900" < str(each) <= dt.datetime.now(dt.UTC).date().isoformat() for each in found)
    return all(0 <= float(each) < 10**4 and float(each) != 999 for each in found)


@pytest.mark.parametrize("seed", range(6))
def test_enter_alone_gives_a_release_of_what_can_be(tmp_path, monkeypatch, seed):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    rng = random.Random(seed)
    kinds = ["count", *rng.sample(["amount", "comma", "flag", "answer", "town", "day", "empty", "note"], 6)]
    table = {"nr": [str(1000 + row) for row in range(ROWS)], **{kind: column(kind, rng) for kind in kinds}}
    lines = [";".join(table), *map(";".join, zip(*table.values(), strict=True))]
    ends = [[], ["Summe;" + ";" * (len(table) - 2)], ["Quelle: Register"]][seed % 3]
    (tmp_path / "t.csv").write_text("\n".join(["Bericht"] * (seed % 2) + lines + ends))
    monkeypatch.setattr("sys.stdin", io.StringIO("\n" * 60))

    said = lapwing("start", "t.csv")

    assert said.status == 0, said.err
    rows = pl.read_csv("t.synthetic.csv", infer_schema_length=None)
    assert [kind for kind in kinds if kind in rows.columns and not is_possible(kind, rows[kind])] == []
    assert {"empty", "note"}.isdisjoint(rows.columns)
    balance = Ledger.open("t.budget.db").balance()
    assert balance.spent <= requested_budget(epsilon=1, delta="1e-9").amount
    assert "--misfits" not in said.err
    private = {cell.strip() for kind in ("town", "note", "day") for cell in table.get(kind, ())}
    assert [cell for cell in private if cell and cell in said.err] == []
