"""Links of other users, folders, and files that are replaced between the look and the opening."""

import os
from pathlib import Path

import polars as pl
import pytest

import lapwing as lw
from lapwing.errors import ParameterError
from lapwing.rows.entry import entering, source_of
from lapwing.schema.named_files import open_public_file, refuse_private

SCHEMA = {"fields": [{"name": "ill", "type": "string", "categories": ["yes", "no"]}]}


def test_a_file_that_is_begun_follows_no_link_of_another_user(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("kept")
    for name in ("s.json", "m.lapwing"):
        (tmp_path / f".{name}.{os.getpid()}.tmp").symlink_to(victim)

    lw.Schema.load(SCHEMA).save(tmp_path / "s.json")
    rows = pl.DataFrame({"ill": ["yes", "no"] * 40})
    lw.synthesize(rows, SCHEMA, epsilon=2, mechanism="independent").save(tmp_path / "m.lapwing")

    assert victim.read_text() == "kept"
    assert lw.Schema.load(tmp_path / "s.json") == lw.Schema.load(SCHEMA)
    assert len(list(tmp_path.iterdir())) == 5  # nothing begun is left


@pytest.mark.parametrize(
    ("private", "public"),
    [("d/sub/p.csv", "d"), ("d", "d/sub/p.csv"), ("d/sub", "d"), ("d", "d/sub"), ("d/*/p.csv", "d"), ("d/q.csv", "d")],
)
def test_a_folder_is_all_files_in_it_however_deep(private, public, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("d/sub").mkdir(parents=True)
    for place in ("d/sub/p.csv", "d/q.csv"):
        Path(place).write_text("a\n1\n")

    with entering(private), pytest.raises(ParameterError, match="is the private table itself"):
        refuse_private(source_of(public), "the prior")


def test_a_file_that_is_replaced_between_the_look_and_the_opening_is_not_read(tmp_path, monkeypatch):
    private, public, honest = tmp_path / "private", tmp_path / "public", Path.open
    private.write_text("secret")
    public.write_text("anything")

    def replaced(self, *args, **settings):
        public.unlink()
        public.hardlink_to(private)
        return honest(self, *args, **settings)

    monkeypatch.setattr(Path, "open", replaced)
    refused = pytest.raises(ParameterError, match="is the private table itself")
    with entering(private), refused, open_public_file(public, "the prior") as (file, _):
        raise AssertionError(file.read())
