"""What the command line warns of, Python warns of: the same sentence with a code, at the caller's line."""

import warnings

import polars as pl

import lapwing as lw
from helpers.linked_homes import SCHEMA as HOMES
from helpers.linked_homes import tables
from helpers.small_people import synthesize, write_people
from lapwing.errors import CertificateWarning

SCHEMA = {"fields": [{"name": "city", "type": "string", "categories": ["x", "y"]}, {"name": "flag", "type": "boolean"}]}
DATA = pl.DataFrame({"city": ["x", "y"] * 50, "flag": [True, False] * 50})


def made(data=DATA, **more):
    return lw.synthesize(data, SCHEMA, mechanism="Independent", seed=1, **{"epsilon": 5, **more})


def seen(call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = call()
    return result, found


def test_a_release_warns_of_what_its_certificate_warns_of_at_the_line_that_called(tmp_path):
    calls = {
        "synthesize": lambda: made(transcript=tmp_path / "t.jsonl"),
        "resume": lambda: lw.resume(tmp_path / "t.jsonl", DATA),
        "fit": lambda: lw.Synthesizer(SCHEMA, epsilon=5, mechanism="Independent").fit(DATA).release_,
        "linked": lambda: lw.synthesize(tables(60), HOMES, epsilon=1, delta=1e-6),
    }
    for name, call in calls.items():
        release, found = seen(call)
        own = [each for each in found if issubclass(each.category, CertificateWarning)]

        said = [str(each.message) for each in own]
        assert [each for each in release.certificate.warnings if each.text not in said and name != "linked"] == []
        assert any(each.startswith("the promise does not cover") for each in said), name
        graded = [each for each in said if "says the rest" in each]
        assert (len(graded) >= 1, max(map(len, graded), default=0) < 200) == (True, True), name
        assert {(each.filename, each.message.code) for each in own} == {(__file__, "LW907")}, name


def test_a_filter_silences_them_and_one_that_makes_errors_loses_no_release():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert made().sample(3).height == 3

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", lw.LapwingWarning)
        made()
    assert found == []


def test_the_command_line_says_each_of_them_once(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_people()

    said = synthesize("--mechanism", "independent", out="out.csv")

    assert said.status == 0
    assert said.err.count("the promise does not cover") == 1
