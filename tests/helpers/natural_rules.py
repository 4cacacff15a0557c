"""The natural rules of five real tables, as `bench/rules` declares them, and schemas with them."""

import json
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "bench" / "rules"
TABLES = tuple(sorted(path.stem for path in FOLDER.glob("*.json")))


def declared(name):
    """Return what is declared of one table: its rules, its public tables, and what its fields need for them."""
    return json.loads((FOLDER / f"{name}.json").read_text())


def fields_of(shared_data, name):
    """Return the fields of one table, as its schema file has them, with what is declared of them."""
    more = declared(name).get("fields", {})
    fields = json.loads((shared_data / name / "schema.json").read_text())["fields"]
    return [field | more.get(field["name"], {}) for field in fields]


def columns_of(rule):
    """Return the columns that a rule of the file format speaks of."""
    if "order" in rule:
        return rule["order"]
    if "sum" in rule:
        return [*rule["sum"], rule["equals"]]
    if "determines" in rule:
        return [*rule["determines"], rule["column"]]
    return (
        rule["allowed"] if "allowed" in rule else [*rule.get("never", {}), *rule.get("when", {}), *rule.get("then", {})]
    )


def schema_of(shared_data, name, columns=None, **more):
    """Return the schema of one table with its natural rules, as a mapping; of some columns only, where given."""
    fields = [field for field in fields_of(shared_data, name) if columns is None or field["name"] in columns]
    kept = {field["name"] for field in fields}
    rules = [rule for rule in declared(name)["rules"] if kept.issuperset(columns_of(rule))]
    return {"fields": fields, "rules": rules} | more
