"""`lapwing sample`: rows, conditions, files of conditions, refusals."""

import contextlib
import re
import shutil

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


def test_sample_draws_rows_that_match(model):
    said = lapwing(f"sample {model} --rows 50 --seed 4 --where sex=f --where age=30..40 -o more.parquet")

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
