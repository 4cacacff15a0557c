"""A look counts every row: a rare value is found wherever it stands, in whatever container, chunk or file."""

from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lapwing.extras.evaluate.internal.schemas import draft_schema
from lapwing.extras.evaluate.internal.suggestions import frequent_texts, look, suggest
from lapwing.extras.evaluate.internal.tallies import tally_cells
from lapwing.rows.cells import Texts
from lapwing.rows.entry import source_of

ROWS = 60_000
PLACES = (0, 1, 4_095, 4_096, 32_767, ROWS // 2, ROWS - 2, ROWS - 1)


def table(place):
    """Return a table in which one row alone has a ward, a number with more places, a code, and a lower bound."""
    rare = pl.int_range(ROWS, eager=True) == place
    rows = pl.int_range(ROWS, eager=True)
    return pl.DataFrame(
        {
            "ward": pl.Series(["A" if row < ROWS / 2 else "B" for row in range(ROWS)]).set(rare, "C"),
            "dose": (rows % 40 / 2).set(rare, 7.125),
            "age": (20 + rows % 60).set(rare, -5000),
            "seen": pl.Series(["2021-05-01", "2021-06-01"] * (ROWS // 2)).set(rare, "1888-01-01"),
            "id": rows.cast(pl.String) + "x" * 12,
        }
    )


def in_parts(frame, folder):
    for part in range(3):
        frame.slice(part * 20_000, 20_000).write_csv(folder / f"part{part}.csv")
    return folder


CONTAINERS = {
    "frame": lambda frame, _: frame,
    "chunked frame": lambda frame, _: pl.concat([frame.slice(k, 7_001) for k in range(0, ROWS, 7_001)], rechunk=False),
    "csv": lambda frame, folder: (frame.write_csv(folder / "t.csv"), folder / "t.csv")[1],
    "quoted csv": lambda frame, folder: (frame.write_csv(folder / "t.csv", quote_style="always"), folder / "t.csv")[1],
    "parquet": lambda frame, folder: (
        frame.write_parquet(folder / "t.parquet", row_group_size=5_000),
        folder / "t.parquet",
    )[1],
    "lines": lambda frame, folder: (frame.write_ndjson(folder / "t.jsonl"), folder / "t.jsonl")[1],
    "files": in_parts,
    "pandas": lambda frame, _: frame.to_pandas(),
}


@pytest.mark.parametrize(
    ("container", "place"), [*(("csv", place) for place in PLACES), *(("files", place) for place in PLACES[::3])]
)
def test_one_row_decides_wherever_it_stands(container, place, tmp_path):
    drafted, seen = look(CONTAINERS[container](table(place), tmp_path)).value
    found = {each.name: each for each in seen}

    assert {each.cells for each in seen} == {ROWS}
    assert (found["ward"].distinct, found["dose"].distinct, found["id"].distinct) == (3, 41, ROWS)
    assert "all in steps of 0.001: give that as resolution" in found["dose"].advice
    assert found["age"].within == "-10000 to 100"
    assert found["seen"].within == "1880 to 2029"
    assert drafted.field("ward").type == "string"


@pytest.mark.parametrize("container", CONTAINERS)
def test_every_container_shows_the_same(container, tmp_path):
    frame = table(ROWS - 1)
    data = CONTAINERS[container](frame, tmp_path)
    drafted = draft_schema(data).value

    assert dict(frequent_texts(data, drafted, "ward", 20).value) == {"A": ROWS // 2, "B": ROWS // 2 - 1, "C": 1}
    assert [each.cells for each in suggest(data, drafted).value] == [ROWS] * 5


@given(
    cells=st.lists(st.sampled_from(["a", "a ", "b", "", None]), min_size=1, max_size=300),
    borders=st.lists(st.integers(0, 300), max_size=6),
    most=st.sampled_from([1, 2_000, 2**29]),
)
def test_counts_are_those_of_all_cells_for_any_chunks_and_any_memory(cells, borders, most):
    columns = {"x": pl.Series(cells, dtype=pl.String), "y": pl.Series([*map(str, range(len(cells)))])}
    starts = sorted({0, *(place for place in borders if place < len(cells))})
    passes = []

    def read(names):
        passes.append(list(names))
        for start, stop in zip(starts, [*starts[1:], len(cells)], strict=True):
            yield {name: Texts(columns[name][start:stop]) for name in names}

    found = tally_cells(read, ["x", "y"], most)

    for name, tally in found.items():
        counts = Counter()
        for part, count in tally.parts:
            counts.update(dict(zip(part.values.to_list(), count.to_list(), strict=True)))
        assert counts == Counter(columns[name].to_list()) or not tally.is_whole
        assert tally.rows == sum(counts.values())
    assert passes[0] == ["x", "y"]


def test_what_memory_does_not_hold_waits_for_another_pass_and_a_lone_column_beyond_it_says_where_it_ended(tmp_path):
    frame = pl.DataFrame({name: pl.int_range(800_000, eager=True) + 10**9 for name in "ab"})
    frame.write_csv(tmp_path / "t.csv")
    reader = source_of(tmp_path / "t.csv").open(draft_schema(tmp_path / "t.csv").value)
    passes = []

    def read(names):
        passes.append(list(names))
        return reader.chunks(names, 2**18)

    whole = tally_cells(read, ["a", "b"], 15_000_000)
    assert [(each.rows, each.is_whole) for each in whole.values()] == [(800_000, True)] * 2
    assert [len(names) for names in passes] == [2, 1]

    cut = tally_cells(read, ["a"], 2**20)["a"]
    assert not cut.is_whole
    assert 0 < cut.rows < 800_000
