"""Where an extra is not installed, one line says which; what can do without it does."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

# One process tries all, each library blocked as Python blocks a module: by None in its place.
PROGRAM = """
import json, sys
import lapwing as lw
import polars as pl
import duckdb

TABLE = pl.DataFrame({"flag": [True, False] * 20, "other": [True, True, False, False] * 10})
SCHEMA = {"fields": [{"name": name, "type": "boolean"} for name in TABLE.columns]}
RELEASE = lw.synthesize(TABLE, SCHEMA, epsilon=1)
ASKED = {
    "altair": lambda: RELEASE.to_html("report.html"),
    "vl_convert": lambda: RELEASE.to_html("report.html"),
    "sklearn": lambda: lw.evaluate(TABLE, TABLE, SCHEMA, target="flag"),
    "yaml": lambda: lw.Schema.from_foreign("metadata.yaml"),
    "pyarrow": lambda: lw.synthesize(duckdb.sql("SELECT true AS flag, true AS other"), SCHEMA, epsilon=1),
}
said = {}
for name, ask in ASKED.items():
    kept = {each: sys.modules.pop(each) for each in list(sys.modules) if each.partition(".")[0] == name}
    sys.modules[name] = None
    try:
        ask()
    except lw.LapwingError as error:
        said[name] = str(error), error.code
    del sys.modules[name]
    sys.modules.update(kept)
print(json.dumps(said))
"""
EXTRAS = {"altair": "report", "vl_convert": "report", "sklearn": "report", "yaml": "yaml", "pyarrow": "duckdb"}


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    folder: Path = tmp_path_factory.mktemp("extras")
    (folder / "metadata.yaml").write_text("'':\n  people:\n    people:\n      age: {type: int}\n")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=folder, capture_output=True, text=True, check=True, timeout=120
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("library", EXTRAS)
def test_the_error_is_one_line_that_names_the_extra(library, said):
    message, code = said[library]

    assert f"lapwing[{EXTRAS[library]}]" in message
    assert code == "LW701"
    assert "\n" not in message
