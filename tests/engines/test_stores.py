"""Parquet files in an object store, a real one on this machine, and streams of Arrow from libraries of others."""

import nanoarrow
import polars as pl
import pyarrow as pa
import pytest
from moto.server import ThreadedMotoServer

import lapwing as lw
from helpers.command import lapwing
from helpers.nasty_cells import CELLS
from lapwing.extras.evaluate.internal.schemas import draft_schema
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

SCHEMA = {"fields": [{"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 120}},
                     {"name": "town", "type": "string", "categories": ["red", "5"]}]}  # fmt: skip
ROWS = pl.DataFrame({"age": [None, 0, 5, 130, 7] * 20, "town": ["red", "5", "blue", None, ""] * 20})


@pytest.fixture(scope="module")
def server():
    made = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    made.start()
    host, port = made.get_host_and_port()
    yield f"http://{host}:{port}"
    made.stop()


@pytest.fixture
def bucket(server, monkeypatch, tmp_path):
    import boto3

    for name, value in {
        "AWS_ENDPOINT_URL": server,
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "KEY4711",
        "AWS_SECRET_ACCESS_KEY": "SecretKey4711",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        "NO_PROXY": "127.0.0.1",
    }.items():
        monkeypatch.setenv(name, value)
    client = boto3.client("s3")
    client.create_bucket(Bucket="people")
    for name, part in {"rows.parquet": ROWS, "parts/a.parquet": ROWS[:30], "parts/b.parquet": ROWS[30:]}.items():
        part.write_parquet(tmp_path / "part.parquet")
        client.upload_file(tmp_path / "part.parquet", "people", name)
    client.put_object(Bucket="people", Key="broken.parquet", Body=b"PAR1 no table PAR1")
    client.close()
    return "s3://people"


@pytest.mark.parametrize("place", ["rows.parquet", "parts/", "parts/*.parquet"])
def test_files_in_a_store_give_the_codes_of_the_same_rows_at_hand(bucket, place):
    schema = Schema.from_dict(SCHEMA)
    expected = code_table(ROWS, schema)

    found = code_table(f"{bucket}/{place}", schema)

    for name in ("age", "town"):
        ours, theirs = (
            [code for chunk in each.chunks() for code in chunk[name].tolist()] for each in (found, expected)
        )
        assert ours == theirs
    assert [field.type for field in draft_schema(f"{bucket}/{place}").value.fields] == ["integer", "string"]


def test_files_in_a_store_are_given_as_a_list(bucket):
    source = code_table([f"{bucket}/parts/a.parquet", f"{bucket}/parts/b.parquet"], Schema.from_dict(SCHEMA))

    assert source.count([()]) == [[100]]


def test_a_command_releases_rows_of_a_store(bucket, tmp_path):
    schema = tmp_path / "s.json"
    Schema.from_dict(SCHEMA).save(schema)

    said = lapwing("synthesize", f"{bucket}/rows.parquet", "--schema", schema, "--epsilon", 1, "-o", tmp_path / "o.csv")

    assert said.status == 0, said.err
    shown = said.err + (tmp_path / "o.csv.certificate.json").read_text()
    assert "KEY4711" not in shown
    assert "SecretKey4711" not in shown


@pytest.mark.parametrize(
    ("place", "says", "code"),
    [
        ("s3://people/no.parquet", 'the table at "s3://people/no.parquet" cannot be read', "LW103"),
        ("s3://people/broken.parquet", 'the table at "s3://people/broken.parquet" cannot be read', "LW103"),
        ("s3://me:SecretKey4711@people/rows.csv", '"s3://people/rows.csv" is of no known kind', "LW102"),
        ("ftp://people/rows.parquet", "must begin with s3://", "LW102"),
        (["s3://people/rows.parquet", "rows.parquet"], "give one kind", "LW316"),
    ],
)
def test_what_cannot_be_read_from_a_store_is_one_sentence_without_keys(bucket, place, says, code):
    with pytest.raises(lw.LapwingError) as caught:
        lw.synthesize(place, SCHEMA, epsilon=1)

    assert says in str(caught.value)
    assert caught.value.code == code
    assert "4711" not in str(caught.value)


class Stranger:
    """A table of a library that Lapwing has never heard of; its stream can be read once, where it says so."""

    def __init__(self, table, most=None):
        self.table, self.left = table, most

    def __arrow_c_stream__(self, requested_schema=None):
        if self.left is not None:
            assert self.left, "the stream is spent"
            self.left -= 1
        return self.table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("make", [lambda t: Stranger(t, 1), Stranger, nanoarrow.ArrayStream, nanoarrow.c_array_stream])
def test_a_stream_of_arrow_is_read_once_and_released(make):
    table = ROWS.to_arrow()

    release = lw.synthesize(make(table), SCHEMA, epsilon=1, seed=1)

    assert isinstance(release.sample(3), pa.Table)
    assert lw.evaluate(make(table), ROWS, SCHEMA).summary()
    assert draft_schema(make(table)).value.fields[0].name == "age"


def test_a_stream_gives_the_codes_of_its_table():
    schema = Schema.from_dict(SCHEMA)
    cells = [cell for cell in CELLS["texts"] if cell != "\x00"]
    table = pa.table({"age": cells, "town": cells})

    ours, theirs = (next(code_table(each, schema).chunks()) for each in (Stranger(table), table))

    assert ours["age"].tolist() == theirs["age"].tolist()
    assert ours["town"].tolist() == theirs["town"].tolist()


def test_a_stream_that_breaks_says_nothing_of_a_cell():
    class Broken:
        def __arrow_c_stream__(self, requested_schema=None):
            raise ValueError("cell 4711")

    with pytest.raises(lw.DataError, match=r"the stream of Arrow cannot be read \(ValueError\)") as caught:
        lw.synthesize(Broken(), SCHEMA, epsilon=1)
    assert "4711" not in str(caught.value)
