"""Adaptive: exact costs over many settings, who asks what, and a canary in every column."""

import io
import json
import logging
import zipfile
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lapwing as lw
from helpers.canary import NUMBER, TEXT, leaks
from helpers.kept import Kept
from lapwing.errors import LapwingError
from lapwing.extras.audit.pairs import neighbour_pair
from lapwing.extras.audit.replay import audit_pair
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.questions.registered import answer_from_dict
from lapwing.kernel.questions.select_worst.question import Selection
from lapwing.kernel.room.curator import ReplayCurator
from lapwing.kernel.room.room import Room
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema
from mechanism_checks import settings_for

# ------------------------------------------------------------------------------------------------------------ costs

COLUMNS = [
    {"name": "flag", "type": "boolean", "constraints": {"required": True}},
    {"name": "kind", "type": "string", "categories": ["a", "b", "c"]},
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 300, "required": True}},
    {"name": "size", "type": "number", "constraints": {"minimum": -1, "maximum": 1}, "special": [99]},
]
ROW = {"flag": "true", "kind": "b", "age": "30", "size": "0.5", "person": "p"}


def spent(kept):
    """Add up what answers cost."""
    return sum((answer.question.cost.amount for answer in kept.answers), Fraction(0))


amounts = st.builds(
    lambda digits, power: Fraction(digits) * Fraction(10) ** power, st.integers(1, 999), st.integers(-8, 2)
)
shares = st.sampled_from([0.01, 0.03, 0.1, 0.125, 0.2, 0.29, 1 / 3, 0.5, 0.57, 0.9, 0.99])


@st.composite
def releases(draw):
    """Return a mechanism, a budget, terms and a schema."""
    mechanism = Adaptive(
        one_way_share=draw(shares),
        selection_share=draw(shares),
        resolutions=draw(st.sampled_from([(2,), (3, 2), (8, 4, 2)])),
        particles=16,
        rounds=draw(st.integers(1, 9)),
        target=draw(st.sampled_from([None, "flag"])),
    )
    relation, max_rows = draw(st.sampled_from(["add-remove", "replace-one"])), draw(st.sampled_from([1, 3]))
    schema = Schema.from_dict(
        {
            "fields": [{"name": "person", "type": "string", "role": "identifier"}, *COLUMNS[: draw(st.integers(1, 4))]],
            "privacyUnit": {"field": "person", "maxRows": max_rows},
        }
    )
    rows = draw(st.sampled_from([0, 1, 40]))
    public = rows if relation == "replace-one" and max_rows == 1 else None
    terms = Terms(relation=relation, max_rows=max_rows, rows=public)
    return mechanism, Budget(draw(st.sampled_from(["pure", "zcdp"])), draw(amounts)), terms, schema, rows


@settings(max_examples=60)
@given(releases())
def test_the_costs_of_all_answers_are_the_budget_exactly(release):
    mechanism, budget, terms, schema, rows = release
    table = pl.DataFrame([ROW | {"person": f"p{i}"} for i in range(rows)], schema=dict.fromkeys(ROW, pl.String))
    kept = Kept()
    room = Room(code_table(table, schema), schema, terms, budget, bits=SystemBits(), sink=kept)

    mechanism.run(room, schema, budget, np.random.default_rng(1))

    assert spent(kept) == budget.amount
    for question in (answer.question for answer in kept.answers):
        assert question.cost.amount > 0
        if question.kind == "SelectWorst":
            assert question.cost.amount == (question.epsilon if budget.notion == "pure" else question.epsilon**2 / 8)


# ------------------------------------------------------------------------------------------------- generated pairs


def test_a_third_of_the_audited_pairs_and_more_ask_selections_at_a_large_budget(monkeypatch):
    # Most do. Otherwise record and replay would say nothing about them; at a budget of one nine in ten pairs ask none.
    asked = set()
    honest = Selection.privacy_loss
    monkeypatch.setattr(Selection, "privacy_loss", lambda self, *pair: asked.add(place) or honest(self, *pair))
    rng = np.random.default_rng(2)

    for place in range(12):
        pair = neighbour_pair(rng, "add-remove", 1)
        given = settings_for(Adaptive.small(), pair.schema, "add-remove", pure=bool(place % 2), times=1000)
        audit_pair(pair.data, pair.neighbour, given)

    assert len(asked) >= 4


@pytest.mark.parametrize("kept", [1, 5, 9])
def test_a_run_that_stopped_and_went_on_is_what_all_its_answers_give_without_data(kept):
    schema = Schema.from_dict({"fields": COLUMNS})
    table = pl.DataFrame([ROW] * 40).drop("person")
    mechanism, budget, terms = Adaptive.small(), Budget.pure(100), Terms(relation="add-remove")
    answers = run_through_a_room(mechanism, schema, budget, table, [])
    written = json.loads(json.dumps([answer.to_dict() for answer in answers]))

    recorded = [answer_from_dict(each) for each in written[:kept]]
    resumed = run_through_a_room(mechanism, schema, budget, table, recorded)
    first, second = (
        mechanism.run(ReplayCurator(terms, each), schema, budget, np.random.default_rng(4))
        for each in (resumed, [answer_from_dict(json.loads(json.dumps(answer.to_dict()))) for answer in resumed])
    )

    assert len(answers) > 9
    assert [answer.to_dict() for answer in resumed[:kept]] == [answer.to_dict() for answer in answers[:kept]]
    assert sum(answer.question.cost.amount for answer in resumed) == budget.amount
    assert np.array_equal(first.weights, second.weights)
    assert all(np.array_equal(*pair) for pair in zip(first.log_linear.thetas, second.log_linear.thetas, strict=True))


def run_through_a_room(mechanism, schema, budget, table, recorded):
    """Return all answers of a run, the recorded ones first."""
    kept = Kept()
    terms = Terms(relation="add-remove")
    room = Room(code_table(table, schema), schema, terms, budget, bits=SystemBits(), sink=kept, recorded=recorded)
    mechanism.run(room, schema, budget, np.random.default_rng(4))
    return [*recorded, *kept.answers]


# ---------------------------------------------------------------------------------------------------------- canary

RARE_DAY = "1973-09-17"
CANARIES = {
    "name": TEXT,
    "kind": TEXT,
    "size": str(NUMBER),
    "inside": str(NUMBER),
    "count": "739173917",
    "day": RARE_DAY,
}
WIDE = {
    "fields": [
        {"name": "name", "type": "string", "role": "identifier"},
        {"name": "kind", "type": "string", "categories": ["a", "b"]},
        {"name": "size", "type": "number", "constraints": {"minimum": -1, "maximum": 1}},
        {"name": "inside", "type": "number", "constraints": {"minimum": 0, "maximum": 10**9}},
        {"name": "count", "type": "integer", "constraints": {"minimum": 0, "maximum": 10**12}},
        {"name": "day", "type": "date", "constraints": {"minimum": "1990-01-01", "maximum": "1999-12-31"}},
    ]
}
ORDINARY = {"name": "n", "kind": "a", "size": "0.5", "inside": "7", "count": "5", "day": "1995-05-05"}


def with_canary():
    """Return a table in which one row holds a canary in every column."""
    return pl.DataFrame([ORDINARY] * 60 + [CANARIES] + [ORDINARY | {"kind": "b"}] * 60)


def signs():
    """Return how canaries look as text, and as codes in files: the row's own codes at every width."""
    schema = Schema.from_dict(WIDE)
    chunk = next(code_table(pl.DataFrame([CANARIES]), schema).chunks())
    codes = [int(chunk[name][0]) for name in ("inside", "count")]
    written = [np.array([code]).astype(dtype).tobytes() for code in codes for dtype in ("<u4", "<i8", "<f8")]
    return [TEXT.encode(), b"739173917", RARE_DAY.encode(), np.array([NUMBER]).tobytes(), *written]


def unpacked(path):
    """Return the bytes of a file, and of all members of a zip."""
    whole = path.read_bytes()
    if not zipfile.is_zipfile(path):
        return whole
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        return whole + b"".join(archive.read(name) for name in archive.namelist())


@pytest.mark.parametrize("epsilon", [1, 1000])
def test_a_canary_in_every_column_shows_nowhere(epsilon, place, capfd, caplog):
    caplog.set_level(logging.DEBUG)

    release = lw.synthesize(
        with_canary(), WIDE, epsilon=epsilon, mechanism=Adaptive.small(), transcript=place / "answers.jsonl", seed=3
    )
    release.save(place / "out.lapwing")
    release.sample(2000, seed=5).write_csv(place / "rows.csv")
    (place / "certificate.json").write_text(json.dumps(release.certificate.to_dict()))

    shown = b"".join(unpacked(path) for path in sorted(place.rglob("*")) if path.is_file())
    shown += "".join((*capfd.readouterr(), caplog.text)).encode()
    assert any(isinstance(answer, Selection) for answer in release.noisy) or epsilon == 1
    assert [sign for sign in signs() if sign in shown] == []


def test_the_search_for_canaries_finds_them_in_the_table_itself(place):
    with_canary().write_csv(place / "rows.csv")

    assert sum(sign in unpacked(place / "rows.csv") for sign in signs()) == 3


@pytest.mark.parametrize(
    "wrong",
    [{"one_way_share": 1e-300}, {"target": "nobody"}, {"workload": ("kind", ("size", "nobody"))}],
    ids=lambda wrong: next(iter(wrong)),
)
def test_a_canary_is_in_no_error_of_a_release_that_fails_on_its_way(wrong):
    with pytest.raises(LapwingError) as caught:
        lw.synthesize(with_canary(), WIDE, epsilon=1000, mechanism=Adaptive(particles=16, rounds=2, **wrong))

    assert leaks(caught.value) == []
