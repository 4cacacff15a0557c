"""`lapwing sample`: rows, conditions, files of conditions, refusals."""

import contextlib
import re
import shutil
from pathlib import Path

import polars as pl
import pytest

from helpers.command import lapwing
from helpers.small_people import made_model, write_people


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    folder = tmp_path_factory.mktemp("people")
    with contextlib.chdir(folder):
        write_people()
        made_model(folder)
    return folder


@pytest.fixture
def model(people, tmp_path, monkeypatch):
    shutil.copytree(people, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "m.lapwing"


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_sample_draws_rows_that_match(model):
    said = lapwing(*f"sample {model} --rows 50 --seed 4 --where sex=f --where age=30..40 -o more.parquet".split())

    assert (said.status, said.out) == (0, "")
    rows = pl.read_parquet("more.parquet")
    assert rows.height == 50
    assert set(rows["sex"]) == {"f"}
    assert rows["age"].is_between(30, 40).all()


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_sample_gives_one_row_for_each_condition_of_a_file(model, ending):
    wanted = pl.DataFrame({"age": [30, 40, 50], "sex": ["f", "m", "f"]})
    wanted.write_csv("c.csv") if ending == "csv" else wanted.write_parquet("c.parquet")

    said = lapwing("sample", model, "--where-file", f"c.{ending}", "-o", "more.parquet")

    assert said.status == 0, said.err
    assert pl.read_parquet("more.parquet").select("age", "sex").equals(wanted)
    assert re.search(r"support of 3 condition rows, [0-9.]+ effective atoms on average: ", said.err)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ([], "sample needs a number of rows; give --rows N, or conditions with --where-file FILE"),
        (
            ["--where-file", "c.csv", "--rows", "3"],
            "--where-file gives one row for each of its conditions; leave --rows",
        ),
        (["--where-file", "c.csv", "--where", "sex=f"], "leave --where out"),
        (["--where-file", "c.csv"], 'condition row 2: column "age"'),
        (["--where-file", "none.csv"], "none.csv"),
    ],
)
def test_files_of_conditions_that_do_not_fit_are_refused(model, more, says):
    Path("c.csv").write_text("age,sex\n30,f\nold,m\n")

    said = lapwing("sample", model, "-o", "a.csv", *more)

    assert said.status == 1
    assert says in said.error
    assert not Path("a.csv").exists()


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--rows", "0"], "rows must be at least 1"),
        (["-o", "a.txt"], "must end in"),
        (["--where", "sex"], "col=value"),
        (["--where", "sex=x"], "no category of column 'sex'"),
        (["--where", "sex=FF"], 'choose one of "f", "m"'),
        (["--where", "height=3"], 'no column "height"; columns: age, sex, day'),
        (["--where", "age=.."], "a range needs an end, got age=..;"),
        (["--where", "sex="], "missing, but it is required"),
        (["--where", "age=old"], "holds numbers"),
        (["--where", "age=1", "--where", "age=2"], "twice"),
        (["--seed", "-1"], "seed must be"),
    ],
)
def test_refused_samples_leave_no_file(model, more, says):
    before = names(model.parent)

    said = lapwing("sample", model, "--rows", "5", "-o", "a.csv", *more)

    assert said.status == 1
    assert says in said.error
    assert names(model.parent) == before
