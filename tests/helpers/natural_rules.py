"""The natural rules of five real tables, as `bench/rules` declares them."""

import json
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "bench" / "rules"
TABLES = tuple(sorted(path.stem for path in FOLDER.glob("*.json")))


def declared(name):
    """Return what is declared of one table: its rules and its public tables."""
    return json.loads((FOLDER / f"{name}.json").read_text())


def fields_of(shared_data, name):
    """Return the fields of one table, as its schema file has them."""
    return json.loads((shared_data / name / "schema.json").read_text())["fields"]
