"""`lapwing explain`, and the codes that lines, errors and notes carry."""

import copy
import pickle

import pytest

import lapwing as lw
from helpers.command import lapwing
from helpers.error_codes import explained
from lapwing import errors

KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.LapwingError)]


def test_every_code_is_explained_within_a_terminal_without_signs_of_markdown():
    for code, text in explained().items():
        said = lapwing("explain", code)

        assert (said.status, said.err) == (0, "")
        assert said.out.startswith(f"{code}: {text[7:].split(' {#')[0]}\n\nWhat happened. ")
        assert not any(sign in said.out for sign in ("**", "](", "{#", "\x1b"))
        assert max(map(len, said.out.splitlines())) <= 100


@pytest.mark.parametrize("spelling", ["LW310", "lw310", "310", "[LW310]"])
def test_a_code_is_known_in_every_spelling(spelling):
    assert lapwing("explain", spelling).out.startswith("LW310: Exactly one budget must be given\n")


def test_a_command_in_an_explanation_stands_on_a_line_of_its_own():
    assert "\n    lapwing mechanisms\n" in lapwing("explain", "LW305").out


@pytest.mark.parametrize("unknown", ["LW999", "9", "LW", "budget", "٣١٠"])
def test_an_unknown_code_is_refused_with_the_way_to_the_list(unknown):
    said = lapwing("explain", unknown)

    assert (said.status, said.code) == (1, "LW906")
    assert said.error == f'there is no code "{unknown}"; `lapwing explain --list` shows all'


@pytest.mark.parametrize("arguments", [[], ["LW310", "--list"]])
def test_without_a_code_or_with_two_wishes_it_is_wrong_usage(arguments):
    said = lapwing("explain", *arguments)

    assert (said.status, said.code) == (2, "LW903")
    assert "give a code such as LW310, or --list for all of them" in said.error


def test_the_list_has_every_code_with_its_title():
    lines = lapwing("explain", "--list").out.splitlines()

    assert [line[:5] for line in lines[1:]] == sorted(explained())
    assert "LW203  The schema is still a draft" in lines


FAILURES = {
    "LW101": "synthesize none.csv --schema {schema} --epsilon 1 -o out.csv",
    "LW201": "synthesize {data} --schema none.json --epsilon 1 -o out.csv",
    "LW305": "plan --schema {schema} --expected-rows 100 --epsilon 1 --mechanism Magic",
    "LW306": "plan --schema {schema} --expected-rows 100 --epsilon 1 --mechanism PMM --set colour=red",
    "LW313": "plan --schema {schema} --expected-rows 100 --epsilon 1e-15",
    "LW402": "ledger show --ledger none.db",
    "LW602": "query none.lapwing --column x",
    "LW807": "audit Nothing",
    "LW310": "synthesize {data} --schema {schema} -o out.csv",
    "LW903": "synthesize {data} --nothing",
}


@pytest.mark.parametrize("code", FAILURES)
def test_the_line_of_a_refusal_ends_in_its_code(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("x\n1\n2\n")
    lw.Schema.load({"fields": [{"name": "x", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}}]}).save(
        "schema.json"
    )

    said = lapwing(*FAILURES[code].format(data="data.csv", schema="schema.json").split())

    assert said.code == code


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("copied", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy, copy.deepcopy])
def test_an_error_keeps_code_message_and_note_where_it_is_pickled_or_copied(kind, copied):
    error = copied(kind("a sentence", code="LW203"))

    assert (type(error), str(error), error.code, error.args) == (kind, "a sentence", "LW203", ("a sentence",))
    assert error.__notes__ == ["`lapwing explain LW203` says why, and what to do"]


def test_an_error_in_python_names_the_command_that_explains_it():
    with pytest.raises(lw.ParameterError) as caught:
        lw.plan({"fields": [{"name": "x", "type": "boolean"}]}, expected_rows=10)

    assert caught.value.code == "LW310"
    assert caught.value.__notes__ == ["`lapwing explain LW310` says why, and what to do"]
