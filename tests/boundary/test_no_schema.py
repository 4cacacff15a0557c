"""A release without a schema: names and types are public; all else is learned, paid once, and tells of no one row."""

import datetime as dt
import io
import json
from fractions import Fraction

import pandas as pd
import polars as pl
import pytest

import lapwing as lw
from helpers.command import lapwing
from lapwing.api import schemaless
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.noise.bits import SystemBits
from lapwing.release.runs.records import AccountedSink
from lapwing.rows.entry import source_of
from lapwing.rows.layouts import public_columns, public_dialect

ROWS = 3000
TABLE = pl.DataFrame(
    {
        "age": [20 + row % 50 for row in range(ROWS)],
        "pay": [row % 400 / 4 for row in range(ROWS)],
        "town": [("Bern", "Uri", "Zug")[row % 3] for row in range(ROWS)],
        "name": [f"person {row}" for row in range(ROWS)],
        "flag": [row % 2 == 0 for row in range(ROWS)],
    }
)
BUDGET = {"epsilon": 20, "delta": "1e-6"}


class Stream:
    """A table of which nothing is known but that it can be read as Arrow."""

    def __init__(self, table):
        self._table = table.to_arrow()

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


CONTAINERS = {
    "polars": lambda table, _: table,
    "lazy": lambda table, _: table.lazy(),
    "pandas": lambda table, _: table.to_pandas(),
    "pyarrow": lambda table, _: table.to_arrow(),
    "stream": lambda table, _: Stream(table),
    "parquet": lambda table, folder: (table.write_parquet(folder / "d.parquet"), folder / "d.parquet")[1],
    "csv": lambda table, folder: (table.write_csv(folder / "d.csv"), folder / "d.csv")[1],
    "csv.gz": lambda table, folder: (table.write_csv(folder / "d.csv.gz", compression="gzip"), folder / "d.csv.gz")[1],
}


def notes(release):
    """Return what a certificate warns of, by code."""
    return {each.code: each.fields for each in release.certificate.warnings}


@pytest.mark.parametrize("container", CONTAINERS)
def test_every_container_gives_the_columns_that_can_be_learned(container, tmp_path):
    release = lw.synthesize(CONTAINERS[container](TABLE, tmp_path), **BUDGET, seed=1)

    fields = {field.name: field for field in release.schema.fields}
    kinds = {name: field.type for name, field in fields.items()}
    assert kinds == {"age": "integer", "pay": "number", "town": "string", "flag": "boolean"}
    assert fields["pay"].resolution == 0.01
    assert {*fields["town"].categories} - {fields["town"].unlisted} == {"Bern", "Uri", "Zug"}
    assert fields["age"].minimum <= 21
    assert fields["age"].maximum >= 68
    assert notes(release)["left_out_rare"] == {"fields": ("name",)}
    assert [each.code for each in release.certificate.assumed] == ["types_public"]
    assert "untold" not in notes(release)
    is_told = container.startswith(("csv", "pandas"))
    assert set(release.certificate.dp_fields) == {name for name in kinds if name != "flag" or is_told}
    rows = pl.concat(list(release.frames()))
    assert rows["age"].drop_nulls().is_between(fields["age"].minimum, fields["age"].maximum).all()


def test_whole_numbers_stay_whole_where_a_missing_cell_makes_them_floats():
    table = pd.DataFrame(
        {"child": [None if row % 5 == 0 else row % 4 for row in range(ROWS)], "x": [0.5, 1.0] * (ROWS // 2)}
    )

    with_missing = lw.synthesize(table, **BUDGET, seed=1)
    without = lw.synthesize(table.fillna(1).astype({"child": "int64"}), **BUDGET, seed=1)

    for release in (with_missing, without):
        assert {field.name: field.type for field in release.schema.fields} == {"child": "integer", "x": "number"}


def test_texts_are_left_out_without_a_delta_and_booleans_cost_nothing(tmp_path):
    release = lw.synthesize(TABLE, epsilon=20, seed=1)

    assert notes(release)["left_out_texts"] == {"fields": ("town", "name")}
    assert release.schema.names == ("age", "pay", "flag")
    assert release.certificate.total.amount <= 20

    transcript = tmp_path / "t.jsonl"
    lw.synthesize(TABLE.select("flag"), epsilon=20, seed=1, transcript=transcript)
    assert '"part"' not in transcript.read_text()  # nothing was learned


def recorded(table, transcript):
    """Return a release and all that it shows."""
    release = lw.synthesize(table, **BUDGET, seed=1, transcript=transcript)
    return shown(release)


def shown(release):
    """Return all that a release shows."""
    model = io.BytesIO()
    return (
        json.dumps(release.certificate.to_dict())
        + json.dumps(release.schema.to_dict())
        + str([release.sample(50).to_dicts(), [each.to_dict() for each in release.noisy], model.getvalue()])
    )


def neighbour():
    """Return the table with a row that no other is like."""
    odd = {"age": 987654321, "pay": -87654321.5, "town": "Canary Wharf", "name": "canary", "flag": True}
    return pl.concat([TABLE, pl.DataFrame([odd])])


def test_a_value_of_one_row_shows_nowhere(tmp_path):
    transcript = tmp_path / "t.jsonl"

    everything = recorded(neighbour(), transcript) + transcript.read_text()

    assert "anary" not in everything
    assert all(word not in everything for word in ("987654321", "87654321", "990000000", "98999999", "-88000000"))


def test_the_same_answers_on_a_neighbour_give_the_same_release(tmp_path):
    first = recorded(TABLE, tmp_path / "t.jsonl")

    assert shown(lw.resume(tmp_path / "t.jsonl", neighbour())) == first


@pytest.mark.parametrize("leak", ["bound", "category"])
def test_what_is_taken_from_the_rows_unpaid_is_noticed(leak, tmp_path, monkeypatch):
    honest = schemaless.learn_schema

    def leaking(settings, open_table):
        """Look at the rows behind the room."""
        found = honest(settings, open_table)
        top, town = LOOKED_AT[0]["age"].max(), LOOKED_AT[0]["town"].to_list()[-1]
        fields = [lw.Schema(fields=found.fields) | {"age": {"constraints": {"minimum": 0, "maximum": int(top)}}}]
        if leak == "category":
            listed = [*found.schema.field("town").categories, town]
            fields = [lw.Schema(fields=found.fields) | {"town": {"categories": list(dict.fromkeys(listed))}}]
        return schemaless.replace(found, fields=fields[0].fields)

    monkeypatch.setattr(schemaless, "learn_schema", leaking)
    LOOKED_AT[:] = [TABLE]
    first = recorded(TABLE, tmp_path / "t.jsonl")
    LOOKED_AT[:] = [neighbour()]
    try:
        again = shown(lw.resume(tmp_path / "t.jsonl", neighbour()))
    except lw.LapwingError:
        again = ""  # other questions than those that are recorded

    assert again != first


LOOKED_AT = []


def test_it_goes_on_after_every_answer_and_pays_once(tmp_path, monkeypatch):
    book = Ledger.create_or_open(tmp_path / "budget.db")
    book.init("d", unit="zcdp", limit=100, relation="add-remove", privacy_unit="row", selection_delta="1e-5")
    transcript = tmp_path / "t.jsonl"
    record, left = AccountedSink.record, 1

    def stop(self, *answered):
        nonlocal left
        record(self, *answered)
        left -= 1
        if not left:
            raise KeyboardInterrupt

    monkeypatch.setattr(AccountedSink, "record", stop)
    table = TABLE.select("age", "pay", "town")
    with pytest.raises(KeyboardInterrupt):
        lw.synthesize(table, **BUDGET, seed=1, transcript=transcript, ledger=tmp_path / "budget.db")
    stops = 1
    while True:
        left = 1
        try:
            release = lw.resume(transcript, table)
        except KeyboardInterrupt:
            stops += 1
            continue
        break

    assert stops > 3  # types, bounds twice, lists, and then the mechanism
    assert [entry.kind for entry in book.history()] == ["init", "debit"]
    assert book.history()[1].amount >= release.certificate.total.amount
    monkeypatch.setattr(SystemBits, "words", None)
    assert shown(lw.resume(transcript, table)) == shown(release)


def test_what_was_learned_and_what_was_released_stay_within_what_was_asked_for():
    release = lw.synthesize(TABLE, epsilon=1, delta="1e-9", seed=1)

    paid = release.certificate
    assert sum(line.cost.amount for line in paid.lines) == paid.total.amount
    assert paid.epsilons[0][0] == paid.requested.delta
    assert paid.epsilons[0][1] <= 1
    assert 0 < paid.delta <= paid.requested.delta / 2


@pytest.mark.parametrize(
    ("data", "settings", "word"),
    [
        (TABLE.select("town", "name"), {"epsilon": 1}, "delta"),
        (TABLE, {"epsilon": 1, "mechanism": "pmm"}, "mechanism"),
        (TABLE, {"epsilon": 1, "misfits": 0.5}, "misfits"),
        (pl.DataFrame({"a": [[1]]}), {"epsilon": 1, "delta": "1e-9"}, "schema"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_paid(data, settings, word, tmp_path):
    book = Ledger.create_or_open(tmp_path / "budget.db")
    book.init("d", unit="pure", limit=9, relation="add-remove", privacy_unit="row")

    with pytest.raises(lw.LapwingError, match=word) as refused:
        lw.synthesize(data, **settings, ledger=tmp_path / "budget.db")

    assert refused.value.code == "LW272"
    assert len(book.history()) == 1


@pytest.mark.parametrize("odd", ["unknown", None, 7.5])
def test_one_cell_of_another_kind_changes_no_type(odd):
    usual = pd.DataFrame({"x": [float(row % 9) for row in range(ROWS)], "y": list(range(ROWS))})
    other = usual.astype(object)
    other.loc[3, "x"] = odd

    names = [
        sorted((field.name, field.type) for field in lw.synthesize(each, **BUDGET, seed=1).schema.fields)
        for each in (usual, other, pd.DataFrame({"x": other["x"].tolist(), "y": usual["y"]}))
    ]

    assert names[0] == names[1] == names[2] == [("x", "integer"), ("y", "integer")]


@pytest.mark.parametrize(
    "first",
    [
        "Meier,Meier,ill",
        "Ada,1999-03-12,ill",
        "Ada,756.1234.5678.97,ill",
        "Ada,,ill",
        "Ada,?,ill",
        "Ada,+41 79 1234567,ill",
    ],
)
def test_a_first_line_that_may_be_a_row_is_refused_without_a_cell(first, tmp_path):
    (tmp_path / "d.csv").write_text("\n".join([first, *(f"{row % 50},u,M" for row in range(300))]))

    with pytest.raises(lw.DataError, match="its first line may be a row") as refused:
        lw.synthesize(str(tmp_path / "d.csv"), **BUDGET)

    assert refused.value.code == "LW272"
    assert not [cell for cell in first.split(",") if len(cell) > 1 and cell in str(refused.value)]


BODY = "Al;Bo\nCy;Di\n" * 30
CLOSING = ('Zoe Secret;hiv";x\n', 'x",Secret,Flu,Cold\n', 'Secret""";"\n', 'Secret"\n', "")


@pytest.mark.parametrize(
    "first", ['name;"illness;area', 'height 5\'11",""";age', 'a;b;c,"d', '"a,b;c', 'a;"b', 'a\t"b']
)
def test_no_row_is_read_as_names_where_the_first_line_leaves_a_quote_open(first, tmp_path):
    told = set()
    for closing in CLOSING:
        (tmp_path / "d.csv").write_text(f"{first}\n{closing}{BODY}")
        try:
            dialect = public_dialect(source_of(tmp_path / "d.csv"))
            told.add((str(dialect), tuple(public_columns(source_of(tmp_path / "d.csv"), dialect))))
        except lw.DataError as error:
            told.add((error.code, str(error)))

    assert len(told) == 1
    assert not any(word in str(told) for word in ("Secret", "Al", "hiv"))


def test_names_with_a_few_digits_are_names(tmp_path):
    lines = ["q12345,2019 wave 1", *(f"{row % 50},{row % 3}" for row in range(600))]
    (tmp_path / "d.csv").write_text("\n".join(lines))
    (tmp_path / "e.csv").write_text("\n".join(["q123456,2019 wave 1", *lines[1:]]))

    release = lw.synthesize(str(tmp_path / "d.csv"), **BUDGET, seed=1)
    with pytest.raises(lw.DataError, match="its first line may be a row"):
        lw.synthesize(str(tmp_path / "e.csv"), **BUDGET)

    assert [field.name for field in release.schema.fields] == ["q12345", "2019 wave 1"]


def test_json_lines_need_a_schema_as_their_names_are_cells(tmp_path):
    (tmp_path / "d.jsonl").write_text('{"age": 3}\n')

    with pytest.raises(lw.DataError, match="lapwing schema draft") as refused:
        lw.synthesize(tmp_path / "d.jsonl", epsilon=1)

    assert refused.value.code == "LW272"


def test_a_first_line_that_may_be_a_row_is_not_taken_for_names(tmp_path):
    (tmp_path / "d.csv").write_text("Canary,430817\nBern,20\n" * 50)

    with pytest.raises(lw.DataError, match="no line of names") as refused:
        lw.synthesize(tmp_path / "d.csv", epsilon=1)

    assert refused.value.code == "LW272"
    assert not any(word in str(refused.value) for word in ("Canary", "430817"))


def test_where_noise_hides_every_column_the_release_ends_and_is_paid_for(tmp_path):
    with pytest.raises(lw.DataError, match="noise hides") as refused:
        lw.synthesize(
            TABLE.select("age", "town").head(20), epsilon="0.01", delta="1e-9", transcript=tmp_path / "t.jsonl"
        )

    assert refused.value.code == "LW273"
    assert "goes on" not in str(refused.value)
    assert (tmp_path / "t.jsonl").exists()


def test_it_goes_on_under_no_schema_but_its_own(tmp_path):
    lw.synthesize(TABLE.select("flag"), epsilon=1, transcript=tmp_path / "t.jsonl")

    for more in ({"schema": {"fields": [{"name": "flag", "type": "boolean"}]}}, {"memory": "4 GB"}):
        with pytest.raises(lw.ParameterError, match="schema") as refused:
            lw.resume(tmp_path / "t.jsonl", TABLE, **more)

        assert refused.value.code == "LW272"


def test_noisy_counts_say_what_the_columns_of_a_csv_file_are(tmp_path):
    table = pl.DataFrame(
        {
            "day": [f"20{10 + row % 9}-0{1 + row % 9}-1{row % 9}" for row in range(ROWS)],
            "code": ["?" if row % 40 == 0 else str(row % 90) for row in range(ROWS)],
            "size": [f"{row % 80 / 4}" for row in range(ROWS)],
            "mixed": [("V1", "V2", "12", "7")[row % 4] for row in range(ROWS)],
        }
    )
    table.write_csv(tmp_path / "d.csv")

    release = lw.synthesize(tmp_path / "d.csv", **BUDGET, seed=1)

    kinds = {field.name: field.type for field in release.schema.fields}
    assert kinds == {"day": "date", "code": "integer", "size": "number", "mixed": "string"}
    assert {*release.schema.field("mixed").categories} >= {"V1", "V2", "12", "7"}


@pytest.mark.parametrize(
    ("sign", "encoding", "point", "written"),
    [
        (",", "utf-8", ".", "%Y-%m-%dT%H:%M:%S"),
        (";", "cp1252", ",", "%d.%m.%Y"),
        (";", "utf-8-sig", ".", "%Y-%m-%d"),
        ("\t", "utf-8", ",", "%d/%m/%Y"),
        ("|", "cp1252", ".", "%m/%d/%Y"),
    ],
)
def test_the_first_line_says_how_a_csv_file_is_written_and_noisy_counts_how_its_cells_are(
    sign, encoding, point, written, tmp_path
):
    days = [dt.datetime(2010, 1, 1) + dt.timedelta(hours=25 * row) for row in range(ROWS)]
    sizes = [f"{row % 80 / 4}".replace(".", point) for row in range(ROWS)]
    lines = [
        sign.join((sizes[row], str(row % 7), day.strftime(written), ("Zürich", "Uri")[row % 2]))
        for row, day in enumerate(days)
    ]
    (tmp_path / "d.csv").write_text("\n".join([sign.join(("Größe", "n", "Tag", "Ort")), *lines]), encoding)

    release = lw.synthesize(tmp_path / "d.csv", epsilon=200, delta="1e-6", transcript=tmp_path / "t.jsonl")

    fields = {field.name: field for field in release.schema.fields}
    kinds = {name: field.type for name, field in fields.items()}
    assert kinds == {
        "Größe": "number",
        "n": "integer",
        "Tag": "datetime" if "T" in written else "date",
        "Ort": "string",
    }
    assert {*fields["Ort"].categories} >= {"Zürich", "Uri"}
    assert (fields["Größe"].minimum, fields["Größe"].maximum) == pytest.approx((0, 20), abs=3)
    assert str(fields["Tag"].minimum) >= "2009"
    assert str(fields["Tag"].maximum) < "2022"
    assert lw.resume(tmp_path / "t.jsonl", tmp_path / "d.csv").sample(seed=1).equals(release.sample(seed=1))


def test_dates_that_may_begin_with_the_day_or_the_month_are_texts(tmp_path):
    lines = [f"{1 + row % 12:02}/{1 + row // 12 % 12:02}/2020" for row in range(ROWS)]
    (tmp_path / "d.csv").write_text("\n".join(["day,n", *(f"{line},{row % 9}" for row, line in enumerate(lines))]))

    release = lw.synthesize(tmp_path / "d.csv", **BUDGET, seed=1)

    assert release.schema.field("day").type == "string"


def grouped(value, point, sign):
    """Return a sum of money with a sign between thousands."""
    return f"{value:,.2f}".translate({ord(","): sign, ord("."): point})


def test_rows_look_like_the_file(tmp_path):
    table = pl.DataFrame(
        {
            "sum": [grouped(row * 7.13 % 9000, ",", ".") for row in range(ROWS)],
            "salaire": [grouped(row * 3.57 % 9000, ",", "\u202f") for row in range(ROWS)],
            "franken": [grouped(row * 3.57 % 9000, ".", "'") for row in range(ROWS)],
            "born": [str(1930 + row % 70) for row in range(ROWS)],
            "post": [f"{row % 5}0{row % 3}7" for row in range(ROWS)],
            "degrees": [f"{36 + row % 40 / 10}" for row in range(ROWS)],
            "ill": [("ja", "nein")[row % 2] for row in range(ROWS)],
            "empty": [""] * ROWS,
            "seen": [f"2020-03-{1 + row % 28:02} {row % 24:02}:{row % 60:02}:00" for row in range(ROWS)],
        }
    )
    table.write_csv(tmp_path / "d.csv", separator=";")

    release = lw.synthesize(tmp_path / "d.csv", **BUDGET, seed=1)

    fields = {field.name: (field.type, field.resolution) for field in release.schema.fields}
    assert fields == {
        **dict.fromkeys(("sum", "salaire", "franken"), ("number", 0.01)),
        "born": ("integer", None),
        "post": ("string", None),
        "degrees": ("number", 0.1),
        "ill": ("string", None),
        "seen": ("datetime", "minute"),
    }
    assert notes(release)["left_out_empty"] == {"fields": ("empty",)}
    rows = pl.concat(list(release.frames()))
    assert (rows["sum"] == rows["sum"].round(2)).all()
    assert 6000 < rows["sum"].max() < 12000
    assert set(rows["ill"].drop_nulls()) == {"ja", "nein"}
    assert set(rows["post"].drop_nulls()) & {*table["post"]} >= {"0007", "1017"}


def test_without_a_delta_yes_and_no_are_kept_and_what_is_lost_names_the_way_out(tmp_path):
    words = {"ill": ("yes", "no"), "dead": ("true", "false"), "town": ("Bern", "Uri")}
    pl.DataFrame({name: [two[row % 2] for row in range(ROWS)] for name, two in words.items()}).write_csv(
        tmp_path / "d.csv"
    )

    release = lw.synthesize(tmp_path / "d.csv", epsilon=20, seed=1)

    assert release.schema.names == ("ill", "dead")
    (said,) = [each.text for each in release.certificate.warnings if each.code == "left_out_texts"]
    assert "--delta 1e-9" in said
    assert "schema" in said
    assert said.endswith(": town")


def test_without_lists_to_learn_the_types_of_a_csv_file_are_told_at_a_larger_cost(tmp_path):
    TABLE.select("age", "pay").write_csv(tmp_path / "d.csv")
    costs = []
    for name, more in (("without", {}), ("with", {"delta": "1e-6"})):
        lw.synthesize(tmp_path / "d.csv", rho=1, **more, transcript=tmp_path / name)
        cost = json.loads((tmp_path / name).read_text().splitlines()[1])["question"]["cost"]
        costs.append(Fraction(cost["amount"] if isinstance(cost, dict) else cost))

    assert costs[0] > costs[1]


def test_the_command_takes_a_csv_file(tmp_path):
    TABLE.write_csv(tmp_path / "data.csv")

    said = lapwing(
        *("synthesize", tmp_path / "data.csv", "--epsilon", "20", "--delta", "1e-6", "-o", tmp_path / "out.csv"),
        *("--transcript", tmp_path / "t.jsonl"),
    )
    again = lapwing("resume", tmp_path / "t.jsonl", tmp_path / "data.csv", "-o", tmp_path / "again.csv")

    assert (said.status, again.status) == (0, 0), said.err + again.err
    assert "No --schema: the names and types" in said.err
    assert "left out, as no text is frequent enough" in said.err
    assert pl.read_csv(tmp_path / "out.csv").columns == ["age", "pay", "town", "flag"]
    assert (tmp_path / "again.csv").read_bytes() == (tmp_path / "out.csv").read_bytes()
