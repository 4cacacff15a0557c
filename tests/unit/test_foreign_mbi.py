"""Domains of private-pgm (mbi) become complete schemas of codes."""

import json

import pytest

import lapwing as lw
from helpers.foreign_files import FOREIGN, SAMPLE
from lapwing.errors import SchemaError
from lapwing.schema.foreign.reading import is_mbi, read_foreign, read_mbi

# The sizes of data/adult-domain.json of ryan112358/private-pgm, some of them.
ADULT = {"age": 85, "workclass": 9, "fnlwgt": 100, "sex": 2, "income>50K": 2}


def test_a_size_is_so_many_whole_numbers_from_zero():
    found = read_mbi(ADULT, "the file")

    assert [(field.name, field.maximum + 1) for field in found.schema.fields] == list(ADULT.items())
    assert {(field.type, field.minimum, field.required) for field in found.schema.fields} == {("integer", 0, True)}
    assert [field.domain.values for field in found.schema.columns] == list(ADULT.values())


def test_a_domain_is_complete_and_says_what_its_codes_are():
    found = read_foreign(FOREIGN / "mbi-adult-domain.json")

    assert (found.format, found.schema.is_draft, found.lacks) == ("mbi domain", False, ())
    assert [field.domain.values for field in found.schema.columns] == [field.domain.values for field in SAMPLE.columns]
    assert "made by whatever cut and numbered the table for mbi" in found.notes[0]
    found.schema.check_complete()


def test_the_public_name_reads_it_too():
    schema = lw.Schema.from_foreign(FOREIGN / "mbi-adult-domain.json")

    assert schema == read_foreign(FOREIGN / "mbi-adult-domain.json").schema


@pytest.mark.parametrize("size", [0, -3], ids=["none", "negative"])
def test_a_size_below_one_is_refused(size):
    with pytest.raises(SchemaError, match=f'column "b" has size {size}; a domain has at least one code'):
        read_mbi({"a": 2, "b": size}, "the file")


def test_a_huge_size_is_refused_as_any_huge_bound_is():
    with pytest.raises(SchemaError, match='field "a": maximum'):
        read_mbi({"a": 10**30}, "the file")


def test_one_value_that_is_no_whole_number_makes_it_another_format(tmp_path):
    for other in (1.5, True, "2", None, [2], {}):
        assert not is_mbi({"a": 2, "b": other})
    assert not is_mbi({})
    assert not is_mbi([2])
    path = tmp_path / "odd.json"
    path.write_text(json.dumps({"a": 2, "b": 2.5}))
    with pytest.raises(SchemaError, match='nearly of the format mbi domain, but column "b" has the size 2'):
        read_foreign(path)


def test_a_domain_has_no_tables():
    with pytest.raises(SchemaError, match='leave out the table "t"'):
        read_foreign(FOREIGN / "mbi-adult-domain.json", table="t")
