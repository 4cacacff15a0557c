"""Rows in a folder of Parquet files: the folder as one of a set of outputs, its files, and the commands that ask."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import polars as pl
import pytest

import lapwing as lw
from helpers.command import lapwing
from helpers.small_people import synthesize, write_people
from lapwing.errors import DataError, ParameterError
from lapwing.rows.out import outputs
from lapwing.rows.out.outputs import whole_files
from lapwing.rows.out.writers import write_parts

ROWS = 600_000
"""Three chunks."""


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def read(folder):
    return pl.concat([pl.read_parquet(file) for file in sorted(Path(folder).iterdir())])


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_people()
    return tmp_path


@pytest.fixture
def model(place):
    said = synthesize("--mechanism", "independent", "--model", "m.lapwing", "--quiet")
    assert said.status == 0, said.err
    return place / "m.lapwing"


def filled(folder, text):
    folder.mkdir()
    (folder / "part-00000.parquet").write_text(text)
    return folder


def test_a_folder_appears_with_the_files_of_its_set_and_only_when_the_block_ends(tmp_path):
    rows, certificate = tmp_path / "rows", tmp_path / "rows.certificate.json"

    with whole_files([rows, certificate], folders=[rows]) as (folder, file):
        (folder / "part-00000.parquet").write_text("new")
        file.write_text("new")
        seen_inside = [rows.exists(), certificate.exists()]

    assert seen_inside == [False, False]
    assert names(tmp_path) == ["rows", "rows.certificate.json"]
    assert names(rows) == ["part-00000.parquet"]


def test_a_failure_leaves_the_earlier_folder_and_nothing_else(tmp_path):
    rows = filled(tmp_path / "rows", "old")

    def fail():
        with whole_files([rows], folders=[rows]) as (folder,):
            (folder / "part-00000.parquet").write_text("new")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()

    assert names(tmp_path) == ["rows"]
    assert (rows / "part-00000.parquet").read_text() == "old"


def test_a_folder_that_cannot_get_its_name_leaves_the_earlier_one(tmp_path, monkeypatch):
    rows = filled(tmp_path / "rows", "old")
    replace = os.replace

    def refuse(source, target):
        if Path(target) == rows and not str(source).endswith(".old"):
            raise OSError(5, "Input/output error")
        replace(source, target)

    monkeypatch.setattr(outputs.os, "replace", refuse)
    with (
        pytest.raises(DataError, match="rows cannot be written \\(Input/output error\\)"),
        whole_files([rows], folders=[rows]) as (folder,),
    ):
        (folder / "part-00000.parquet").write_text("new")

    assert (rows / "part-00000.parquet").read_text() == "old"


def test_a_folder_with_anything_else_in_it_is_refused(tmp_path):
    rows = filled(tmp_path / "rows", "old")
    (rows / "thesis.parquet").write_text("years of work")

    with (
        pytest.raises(ParameterError, match="holds other files than parts of rows"),
        whole_files([rows], folders=[rows]),
    ):
        pass

    assert names(rows) == ["part-00000.parquet", "thesis.parquet"]


@pytest.mark.parametrize("role", ["target", "input"])
def test_a_file_inside_a_folder_that_is_written_is_refused(role, tmp_path):
    rows = filled(tmp_path / "rows", "old")
    file = rows / "part-00000.parquet"
    targets, inputs = ([file, rows], []) if role == "target" else ([rows], [file])

    with pytest.raises(ParameterError, match="which is written as a whole"), whole_files(targets, inputs, [rows]):
        pass


def test_a_file_where_a_folder_should_be_is_not_replaced(tmp_path):
    rows = tmp_path / "rows"
    rows.write_text("old")

    with pytest.raises(DataError, match="it is no folder"), whole_files([rows], folders=[rows]):
        pass

    assert rows.read_text() == "old"


def test_the_first_failure_ends_all_files_soon(tmp_path):
    drawn, before = [], set(threading.enumerate())

    def frame(number):
        drawn.append(number)
        if number == 5:
            raise DataError("no more rows")
        time.sleep(0.01)
        return pl.DataFrame({"a": [number]})

    with pytest.raises(DataError, match="no more rows"):
        write_parts(frame, 1000, tmp_path, frames_per_file=100, threads=2)

    assert len(drawn) < 100
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
        assert not thread.is_alive()


def test_a_folder_holds_the_rows_of_the_file_of_the_same_seed(model):
    release = lw.load(model)

    release.write("rows.parquet", ROWS, seed=3)
    release.write("parts/", ROWS, seed=3, rows_per_file=2**18)

    assert names(Path("parts")) == [f"part-0000{number}.parquet" for number in range(3)]
    assert read("parts").equals(pl.read_parquet("rows.parquet"))
    assert read("parts").equals(release.sample(ROWS, seed=3))


def test_sample_writes_a_folder_where_a_slash_asks_for_it_and_replaces_it_without(model):
    first = lapwing("sample", model, "--rows", "50", "--seed", "4", "-o", "parts/")
    again = lapwing("sample", model, "--rows", "20", "--seed", "4", "-o", "parts")

    assert (first.status, again.status) == (0, 0), first.err + again.err
    assert names(Path("parts")) == ["part-00000.parquet"]
    assert read("parts").equals(lw.load(model).sample(20, seed=4))


def test_rows_under_a_condition_and_for_condition_rows_go_to_folders(model):
    release = lw.load(model)
    wanted = pl.DataFrame({"age": [30, 40, 50]})

    release.write("one/", 40, where={"sex": "f"})
    release.write("each/", where=wanted)

    assert set(read("one")["sex"]) == {"f"}
    assert read("each").select("age").equals(wanted)


def test_synthesize_and_resume_write_a_folder_with_its_certificate_beside_it(place):
    made = synthesize("--transcript", "t.jsonl", "--seed", "3", out="parts/")
    again = lapwing("resume", "t.jsonl", "data.parquet", "-o", "again/")

    assert (made.status, again.status) == (0, 0), made.err + again.err
    assert (place / "parts.certificate.json").exists()
    assert (place / "again.certificate.json").exists()
    assert read("again").equals(read("parts"))
    assert "rows: parts/" in made.err


def test_a_release_whose_folder_could_not_be_written_names_the_folder_in_its_way_out(place, monkeypatch):
    made = synthesize("--transcript", "t.jsonl", "--rows", "1000", "--seed", "3", out="parts/")
    assert made.status == 0
    fsync = os.fsync

    def full(handle):
        if os.readlink(f"/proc/self/fd/{handle}").endswith("part-00000.parquet"):
            raise OSError(28, "No space left on device")
        fsync(handle)

    with monkeypatch.context() as patch:
        patch.setattr(outputs.os, "fsync", full)
        said = lapwing("resume", "t.jsonl", "data.parquet", "-o", "again/")

    assert said.status == 1
    assert "cannot be written (No space left on device)" in said.err
    assert "`lapwing resume t.jsonl data.parquet -o again/` finishes free of charge" in said.err
    assert not (place / "again").exists()


def test_a_croissant_file_about_a_folder_is_refused_before_anything_is_spent(place):
    said = synthesize("--croissant", "c.json", out="parts/")

    assert "a Croissant file names one file of rows for each table" in said.error
    assert names(place) == ["data.parquet", "s.json"]


@pytest.mark.parametrize("rows", [0, 2**18 - 1, True, 1e6, "all"])
def test_a_number_of_rows_per_file_that_is_none_is_refused(model, rows):
    with pytest.raises(ParameterError, match="rows_per_file must be a whole number of at least 262144"):
        lw.load(model).write("parts/", 10, rows_per_file=rows)

    assert not Path("parts").exists()


LIMITED = """
import resource, sys
from lapwing.cli.main import execute
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
sys.exit(execute(sys.argv[1:]))
"""


def test_a_full_disk_is_one_line_and_leaves_the_earlier_folder(model):
    lapwing("sample", model, "--rows", "20", "-o", "parts/")
    before = {path: path.read_bytes() for path in Path("parts").iterdir()}
    listed = names(Path())

    said = subprocess.run(
        [sys.executable, "-c", LIMITED, "sample", str(model), "--rows", str(ROWS), "-o", "parts/"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert said.returncode == 1
    assert said.stderr.splitlines()[-1].endswith(
        "parts cannot be written (File too large); give a place with free space that you may write to [LW112]"
    )
    assert len(said.stderr.splitlines()) == 1
    assert {path: path.read_bytes() for path in Path("parts").iterdir()} == before
    assert names(Path()) == listed


def test_an_interrupt_leaves_no_folder_and_ends_all_threads(model):
    program = [sys.executable, "-c", "from lapwing.cli.main import run; run()"]
    writing = subprocess.Popen(
        [*program, "sample", str(model), "--rows", str(10**9), "-o", "parts/"],
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not list(Path().glob(".lapwing-*/*/part-00000.parquet")):
        assert time.monotonic() < deadline
        time.sleep(0.05)

    writing.send_signal(signal.SIGINT)
    _, said = writing.communicate(timeout=60)

    assert writing.returncode == 130
    assert "interrupted" in said
    assert names(Path()) == ["data.parquet", "m.lapwing", "out.csv", "out.csv.certificate.json", "s.json"]
