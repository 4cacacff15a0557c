"""Releases that were paid for once are replayed from their transcripts, and give the same bytes."""

import base64
import dataclasses
import json
import zlib

import numpy as np
import pytest

from helpers.recorded_results import Result, differences, fingerprint, replayed
from helpers.recorded_runs import FOLDER, RUNS, kept, transcript_of
from lapwing.mechanisms.registry import MECHANISMS

KEPT = kept()
HERE = fingerprint()
ONE_COLUMN = "default-one-column"


def is_of_this_machine(name: str) -> bool:
    """Say whether the bytes of a run were kept on a machine like this one."""
    return KEPT["machines"][KEPT["runs"][name]["machine"]] == HERE


def settings_of(name: str) -> list[dict[str, object]]:
    """Return the settings of each table in the header of a transcript."""
    settings = json.loads(transcript_of(name).splitlines()[0])["settings"]
    return list(settings["parts"].values()) if "parts" in settings else [settings]


def with_more_rows(transcript: bytes, more: int) -> bytes:
    """Return a transcript in which the first cell of each noisy count is so much larger."""
    header, *answers = map(json.loads, transcript.decode().splitlines())
    for record in answers:
        if "counts" in record.get("answer", {}):
            counts = np.frombuffer(zlib.decompress(base64.b64decode(record["answer"]["counts"])), "<i8").copy()
            counts[0] += more
            record["answer"]["counts"] = base64.b64encode(zlib.compress(counts.tobytes())).decode()
    return "".join(f"{json.dumps(record)}\n" for record in (header, *answers)).encode()


@pytest.fixture(scope="module")
def one_column() -> Result:
    """Return a replay of a transcript as it is kept, of which no question depends on an answer."""
    return replayed(RUNS[ONE_COLUMN], transcript_of(ONE_COLUMN))


@pytest.mark.parametrize("name", RUNS)
def test_a_recorded_run_gives_what_it_gave(name: str) -> None:
    transcript, expected = transcript_of(name), KEPT["runs"][name]

    result = replayed(RUNS[name], transcript)

    assert differences(result, expected, exact=False) == []
    assert differences(result, expected, exact=is_of_this_machine(name)) == []
    assert result.transcript == transcript, "a replay asks nothing and writes nothing"


def test_every_run_is_kept_and_nothing_else() -> None:
    transcripts = {path.name.removesuffix(".jsonl.gz") for path in FOLDER.glob("*.jsonl.gz")}

    assert len(RUNS) == 41
    assert transcripts == set(KEPT["runs"]) == set(RUNS)
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 1_500_000


def test_every_mechanism_relation_and_kind_of_budget_is_among_the_runs() -> None:
    paid = [part for name in RUNS if RUNS[name].verb == "release" for part in settings_of(name)]
    mechanisms = [part["mechanism"]["name"] for part in paid]
    budgets = {tuple(key for key in ("epsilon", "delta", "rho") if part["request"][key]) for part in paid}

    assert {name for name in MECHANISMS if name not in {each.lower() for each in mechanisms}} == set()
    assert {part["relation"] for part in paid} == {"add-remove", "replace-one"}
    assert budgets == {("epsilon",), ("epsilon", "delta"), ("rho",)}


def test_a_changed_answer_changes_bytes(one_column: Result) -> None:
    expected = KEPT["runs"][ONE_COLUMN] | {"digests": one_column.digests}
    changed = replayed(RUNS[ONE_COLUMN], with_more_rows(transcript_of(ONE_COLUMN), 1))

    assert differences(one_column, expected, exact=True) == []
    assert "other bytes of model" in differences(changed, expected, exact=True)


def test_a_changed_answer_changes_figures_where_bytes_are_not_compared() -> None:
    changed = replayed(RUNS[ONE_COLUMN], with_more_rows(transcript_of(ONE_COLUMN), 2000))

    found = differences(changed, KEPT["runs"][ONE_COLUMN], exact=False)

    assert any("rows of rows" in each for each in found), found


def test_figures_that_rounding_explains_are_the_same(one_column: Result) -> None:
    figures = {"rows": {"rows": one_column.figures["rows"]["rows"] + 9}}
    expected = {"figures": one_column.figures | figures, "digests": dict.fromkeys(one_column.digests, "")}

    assert differences(one_column, expected, exact=False) == []
    assert len(differences(one_column, expected, exact=True)) == len(one_column.digests)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"frames": {}}, "None rows of rows"),
        ({"statements": []}, "statements of []"),
        ({"statements": "doubled"}, "noise_on_counts"),
        ({"documents": {}}, "the documents are []"),
    ],
    ids=["rows", "no statements", "statements", "documents"],
)
def test_whatever_is_missing_or_far_is_said(change: dict[str, object], said: str, one_column: Result) -> None:
    if change.get("statements") == "doubled":
        change = {"statements": [(kind, 2 * value) for kind, value in one_column.statements]}
    other = dataclasses.replace(one_column, **change)

    found = differences(other, {"figures": one_column.figures, "digests": one_column.digests}, exact=False)

    assert any(said in each for each in found), found


def test_a_machine_is_known_by_its_processor_and_libraries() -> None:
    assert {"machine", "features", "numpy", "scipy", "numba"} <= set(HERE)
    assert json.loads(json.dumps(HERE)) == HERE == fingerprint()
