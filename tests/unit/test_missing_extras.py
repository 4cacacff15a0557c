"""Where an extra is not installed, one line says which; what can do without it does."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lapwing.version import install_command

# One process tries all, each library blocked as Python blocks a module: by None in its place.
PROGRAM = """
import json, sys
import lapwing as lw
import polars as pl
import duckdb

TABLE = pl.DataFrame({"flag": [True, False] * 20, "other": [True, True, False, False] * 10})
SCHEMA = {"fields": [{"name": name, "type": "boolean"} for name in TABLE.columns]}
NAMED = {"fields": [*SCHEMA["fields"], {"name": "who", "type": "string", "role": "identifier", "madeUp": "name"}]}
RELEASE = lw.synthesize(TABLE, SCHEMA, epsilon=1)
ASKED = {
    "altair": lambda: RELEASE.to_html("report.html"),
    "vl_convert": lambda: RELEASE.to_html("report.html"),
    "sklearn": lambda: lw.evaluate(TABLE, TABLE, SCHEMA, target="flag"),
    "yaml": lambda: lw.Schema.from_foreign("metadata.yaml"),
    "faker": lambda: lw.synthesize(TABLE, NAMED, epsilon=1),
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
EXTRAS = {
    "altair": "evaluate",
    "vl_convert": "evaluate",
    "sklearn": "evaluate",
    "yaml": "connect",
    "faker": "names",
    "pyarrow": "duckdb",
}


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

    assert message.endswith(f" run {install_command(EXTRAS[library])}")
    assert code == "LW701"
    assert "\n" not in message


PIPX, UV = "pipx_metadata.json", "uv-receipt.toml"
SOURCES = {
    "an index": ({}, '"lapwing[evaluate]"'),
    "a folder": ({"url": "file:///a/b", "dir_info": {}}, '"/a/b[evaluate]"'),
    "a folder that is worked on": ({"url": "file:///a/b%20c", "dir_info": {"editable": True}}, '-e "/a/b c[evaluate]"'),
    "a wheel": ({"url": "file:///a/lapwing.whl", "archive_info": {}}, '"/a/lapwing.whl[evaluate]"'),
    "git": ({"url": "https://h/l", "vcs_info": {"vcs": "git"}}, '"lapwing[evaluate] @ git+https://h/l"'),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize(
    ("mark", "tool"), [(PIPX, "pipx install --force"), (UV, "uv tool install"), ("", "bin/python -m pip install")]
)
def test_the_hint_is_by_the_tool_and_the_source_of_the_installation(source, mark, tool, tmp_path, monkeypatch):
    origin, target = SOURCES[source]
    about = tmp_path / "site" / "lapwing-0.1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: lapwing\nVersion: 0.1.0\n")
    if origin:
        (about / "direct_url.json").write_text(json.dumps(origin))
    if mark:
        (tmp_path / mark).write_text("")
    monkeypatch.syspath_prepend(about.parent)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))

    assert install_command("evaluate").endswith(f"{tool} {target}")
