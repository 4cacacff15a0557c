"""Files of other tools are recognised by what is in them, and hostile ones are refused in bounded time; mbi domains."""

import json
import shutil
import sys
import time
from types import MappingProxyType

import pytest
import yaml

from helpers.foreign_files import FOREIGN, ROOT
from lapwing.errors import SchemaError
from lapwing.extras.connect.metadata import reading
from lapwing.extras.connect.metadata.reading import is_mbi, read_foreign, read_mbi

ADULT = {"age": 85, "workclass": 9, "fnlwgt": 100, "sex": 2, "income>50K": 2}


def write(folder, text):
    path = folder / "metadata"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def smartnoise(columns):
    return "Database:\n  s:\n    t:\n      row_privacy: true\n" + columns


@pytest.mark.parametrize(
    ("name", "table", "expected"),
    [
        ("sdv1-single.json", None, "SDV metadata"),
        ("sdv2-visits.json", "visits", "SDV metadata"),
        ("smartnoise-visits.yaml", "visits", "SmartNoise SQL metadata"),
        ("mbi-adult-domain.json", None, "mbi domain"),
    ],
    ids=["sdv1", "sdv2", "smartnoise", "mbi"],
)
def test_the_name_of_a_file_says_nothing(tmp_path, name, table, expected):
    odd = tmp_path / "table.parquet"
    shutil.copy(FOREIGN / name, odd)

    assert read_foreign(odd, table=table).format == expected


@pytest.mark.parametrize(
    "text",
    ["3", "just words", "- 1\n- 2", "{}", "[]", '{"a": "b"}', '{"fields": []}', "a,b\n1,2", "null"],
    ids=["number", "words", "list", "object", "json list", "texts", "schema", "csv", "null"],
)
def test_a_file_of_no_known_format_is_refused_with_those_that_are_known(tmp_path, text):
    with pytest.raises(SchemaError) as caught:
        read_foreign(write(tmp_path, text))

    said = str(caught.value)
    assert said.startswith('metadata file "metadata" is of no known format; known are ')
    assert all(name in said for name in ("SDV metadata", "SmartNoise SQL metadata", "mbi domain"))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"age": 85, "sex": "2", "income": 0}, 'mbi domain, but the size of column "sex" is no whole number'),
        ({"t": {"a": {"type": "int"}}}, "SmartNoise SQL metadata, but its columns stand 1 level below the top"),
        ({"e": {"d": {"s": {"t": {"a": {"type": "int"}}}}}}, "SmartNoise SQL metadata, but its columns stand 4 levels"),
        (
            {"d": {"s": {"t": {"a": {"type": "integer"}}}}},
            'SmartNoise SQL metadata, but a column has the type "integer"',
        ),
    ],
    ids=range(4),
)
def test_of_a_file_that_nearly_fits_the_format_and_the_first_misfit_are_named(tmp_path, value, said):
    with pytest.raises(SchemaError) as caught:
        read_foreign(write(tmp_path, json.dumps(value)))

    assert f"is nearly of the format {said}" in str(caught.value)


def test_a_schema_of_lapwing_is_called_one(tmp_path):
    with pytest.raises(SchemaError, match="is a schema of Lapwing already; use it as it is"):
        read_foreign(ROOT / "src" / "lapwing" / "examples" / "adult.schema.json")
    with pytest.raises(SchemaError, match=r'looks like a schema of Lapwing already, but: .*"whole"'):
        read_foreign(write(tmp_path, '{"fields": [{"name": "a", "type": "whole"}]}'))


@pytest.mark.parametrize(
    ("name", "content"),
    [("t.csv", b"a,b\n1,2\n"), ("t.CSV", b"a: b: c"), ("t.parquet", b"PAR1\x15\x04\x80\xff"), ("t.tsv", b"[1")],
    ids=["words", "no yaml", "bytes", "no json"],
)
def test_a_table_is_sent_to_the_command_that_reads_tables(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)

    with pytest.raises(SchemaError, match="a table by its name; `lapwing schema draft`"):
        read_foreign(tmp_path / name)
    with pytest.raises(SchemaError, match="does not exist"):
        read_foreign(tmp_path / f"no-{name}")


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf \n"], ids=["nothing", "spaces"])
def test_an_empty_file_is_called_empty(tmp_path, content):
    with pytest.raises(SchemaError, match="is empty"):
        read_foreign(write(tmp_path, content))


@pytest.mark.parametrize(
    "name", ["sdv1-single.json", "smartnoise-adult.yaml", "mbi-adult-domain.json", "croissant/people.json"]
)
def test_what_a_file_holds_is_read_as_the_file_is(name):
    held = yaml.safe_load((FOREIGN / name).read_text(encoding="utf-8"))

    for mapping in (held, MappingProxyType(held)):
        assert read_foreign(mapping) == read_foreign(FOREIGN / name)


def test_what_is_no_metadata_is_refused_in_a_sentence():
    deep, around = {}, {}
    for _ in range(10**5):
        deep = {"a": deep}
    around["a"] = around
    for value in (deep, around, {"a": object()}, {"a": float("nan")}, {"a": 10**5000}, {(1, 2): 3}):
        with pytest.raises(SchemaError, match="the metadata"):
            read_foreign(value)
    for value in (None, 3, [{"a": 2}], {2}):
        with pytest.raises(SchemaError, match="metadata is a path, a mapping or a class"):
            read_foreign(value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [" + "[" * 10**6, "nested more than 20 deep"),
        ("\n".join(" " * depth + "a:" for depth in range(2000)), "nested more than 20 deep"),
        ("a: 2\na: 3", 'has the key "a" twice'),
        ("a: &x 1\nb: *x", "anchors and aliases"),
        ("a: 2020-02-31", "number or date that does not exist"),
        ("a: " + "9" * 5000, "number or date that does not exist"),
        ("a: b: c", "is neither JSON nor YAML"),
        ("a: !!python/object/apply:os.getcwd []", "is neither JSON nor YAML"),
        ("? [a]\n: 1", "found unhashable key"),
        ("1: 2", "has the key 1, which is not a text"),
    ],
    ids=range(10),
)
def test_a_broken_file_is_refused_with_its_fault(tmp_path, text, said):
    begun = time.process_time()

    with pytest.raises(SchemaError) as caught:
        read_foreign(write(tmp_path, text))

    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert time.process_time() - begun < 5


def test_aliases_that_multiply_are_refused_before_they_are_built(tmp_path):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]

    with pytest.raises(SchemaError, match="write them out"):
        read_foreign(write(tmp_path, "\n".join(lines)))


def test_huge_files_are_refused_before_they_are_parsed(tmp_path, monkeypatch):
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(65 * 2**20)
    with pytest.raises(SchemaError, match="larger than 64 MiB"):
        read_foreign(tmp_path / "huge")
    monkeypatch.setattr(reading, "MAX_YAML_BYTES", 10)
    with pytest.raises(SchemaError, match="larger than 8 MiB, the most that is read of YAML"):
        read_foreign(write(tmp_path, "a: 2\nb: 345"))


@pytest.mark.parametrize("count", [10**4, pytest.param(10**5, marks=pytest.mark.full)], ids=["many", "most"])
def test_many_columns_are_read_in_seconds(tmp_path, count):
    domain = {f"c{i}": 2 for i in range(count)}
    listed = {name: {"sdtype": "categorical"} for name in domain}
    begun = time.process_time()

    found = read_foreign(write(tmp_path, json.dumps(domain)))
    assert len(found.schema.fields) == count
    found = read_foreign(write(tmp_path, json.dumps({"METADATA_SPEC_VERSION": "SINGLE_TABLE_V1", "columns": listed})))
    assert len(found.lacks) == count

    assert time.process_time() - begun < count / 1000


def test_without_pyyaml_the_extra_is_named_and_json_still_read(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)

    with pytest.raises(SchemaError, match=r"is not JSON; to read YAML, run .*pip install .*\[connect\]"):
        read_foreign(FOREIGN / "smartnoise-visits.yaml")
    assert read_foreign(FOREIGN / "mbi-adult-domain.json").format == "mbi domain"


def test_a_size_is_so_many_whole_numbers_from_zero():
    found = read_mbi(ADULT, "the file")

    assert [(field.name, field.maximum + 1) for field in found.schema.fields] == list(ADULT.items())
    assert {(field.type, field.minimum, field.required) for field in found.schema.fields} == {("integer", 0, True)}
    assert [field.domain.values for field in found.schema.columns] == list(ADULT.values())


@pytest.mark.parametrize("size", [0, -3], ids=["none", "negative"])
def test_a_size_below_one_is_refused(size):
    with pytest.raises(SchemaError, match=f'column "b" has size {size}; a domain has at least one code'):
        read_mbi({"a": 2, "b": size}, "the file")


def test_one_value_that_is_no_whole_number_makes_it_another_format(tmp_path):
    for other in (1.5, True, "2", None, [2], {}):
        assert not is_mbi({"a": 2, "b": other})
    assert not is_mbi({})
    assert not is_mbi([2])
    path = tmp_path / "odd.json"
    path.write_text(json.dumps({"a": 2, "b": 2.5}))
    with pytest.raises(SchemaError, match='nearly of the format mbi domain, but the size of column "b" is no whole'):
        read_foreign(path)


def test_a_domain_has_no_tables():
    with pytest.raises(SchemaError, match='leave out the table "t"'):
        read_foreign(FOREIGN / "mbi-adult-domain.json", table="t")
