"""Attacks and intervals against anonymeter, in an environment of its own.

python3 tools/bootstrap.py oracle-anonymeter
.venv-oracle-anonymeter/bin/python -m pytest tests/oracle/test_disclosure_against_anonymeter.py -o junit_family=xunit1 \
    --junit-xml=/tmp/anonymeter.xml

The properties in /tmp/anonymeter.xml are the figures.
"""

import functools
import operator

import numpy as np
import pytest

evaluators = pytest.importorskip("anonymeter.evaluators", reason="needs requirements/oracle-anonymeter.txt")

# Other environments of this folder have none of these.
import pandas as pd  # noqa: E402
import polars as pl  # noqa: E402

from lapwing.extras.evaluate.metrics.disclosure import singling_out  # noqa: E402
from lapwing.extras.evaluate.metrics.disclosure.disclosure import guess_secret  # noqa: E402
from lapwing.extras.evaluate.metrics.disclosure.singling_out import (  # noqa: E402
    count_matches,
    joint_conditions,
    single_conditions,
    single_out,
)
from lapwing.extras.evaluate.metrics.metric import excess, wilson  # noqa: E402
from lapwing.schema.schemas import Schema  # noqa: E402

pytestmark = [
    pytest.mark.oracle,
    # Their remark on figures that are compared here as they are.
    pytest.mark.filterwarnings("ignore:Attack is as good or worse as baseline"),
]

KINDS = list("abcdef")
FIELDS = [
    {"name": "size", "type": "integer", "constraints": {"minimum": 0, "maximum": 1000, "required": True}},
    {"name": "height", "type": "integer", "constraints": {"minimum": 0, "maximum": 10007, "required": True}},
    {"name": "kind", "type": "string", "categories": KINDS, "constraints": {"required": True}},
    {"name": "place", "type": "string", "categories": [f"p{k}" for k in range(30)], "constraints": {"required": True}},
]
SCHEMA = Schema.from_dict({"fields": FIELDS})
ROWS = 401
CODED = {"size": None, "height": None, "kind": KINDS, "place": FIELDS[3]["categories"]}


def drawn(rng, rows):
    """Draw dependent columns; both numbers reach both of their bounds, so that both libraries scale alike."""
    level = rng.random(rows)
    codes = {
        name: np.clip((0.5 + level + rng.normal(0, 0.1, rows)) / 2 * (top + 1), 0, top).astype(np.int64)
        for name, top in (("size", 1000), ("height", 10007), ("kind", 5), ("place", 29))
    }
    for name, top in (("size", 1000), ("height", 10007)):
        codes[name][:2] = 0, top
    return codes


def frame(codes):
    return pd.DataFrame(
        {name: codes[name] if labels is None else np.array(labels)[codes[name]] for name, labels in CODED.items()}
    )


def tables(seed):
    rng = np.random.default_rng(seed)
    real, fresh, holdout = (drawn(rng, ROWS) for _ in range(3))
    # Half of the synthetic rows are copies: the attacks have something to find.
    is_copy = rng.random(ROWS) < 0.5
    return real, {name: np.where(is_copy, real[name], fresh[name]) for name in real}, holdout


@pytest.mark.parametrize(("successes", "controls"), [(700, 500), (130, 100), (500, 500)])
def test_what_is_beyond_the_control_agrees_in_large_samples(successes, controls, record_property) -> None:
    from anonymeter.stats.confidence import residual_success, success_rate

    theirs = residual_success(success_rate(100_000, 100 * successes, 0.95), success_rate(100_000, 100 * controls, 0.95))

    value, (lower, upper) = excess(wilson(100 * successes, 100_000), wilson(100 * controls, 100_000))

    record_property(
        "differences", (value - theirs.value, lower - theirs.value + theirs.error, upper - theirs.value - theirs.error)
    )
    # Theirs is a symmetric interval about Wilson's middle; the two differ by about 1 over the number of trials.
    assert value == pytest.approx(theirs.value, abs=1e-4)
    assert lower == pytest.approx(theirs.value - theirs.error, abs=2e-4)
    assert upper == pytest.approx(theirs.value + theirs.error, abs=2e-4)


@pytest.mark.parametrize("secret", ["kind", "place"])
@pytest.mark.parametrize("seed", range(4))
def test_guesses_of_all_rows_succeed_as_often(seed, secret, record_property) -> None:
    real, synthetic, holdout = tables(seed)
    others = [name for name in CODED if name != secret]
    theirs = evaluators.InferenceEvaluator(
        ori=frame(real), syn=frame(synthetic), control=frame(holdout), aux_cols=others, secret=secret, n_attacks=ROWS
    ).evaluate(n_jobs=1)

    ours = guess_secret(real, holdout, synthetic, SCHEMA, secret, rng=np.random.default_rng(0))

    found = theirs.results()
    record_property("successes", (ours.attack.successes, int(found.n_success)))
    record_property("controls", (ours.control.successes, int(found.n_control)))
    assert (ours.attack.successes, ours.control.successes) == (found.n_success, found.n_control)


@pytest.mark.parametrize("seed", range(4))
def test_conditions_on_one_column_are_as_many_and_succeed_as_often(seed, record_property) -> None:
    real, synthetic, holdout = tables(seed)
    theirs = evaluators.SinglingOutEvaluator(
        ori=frame(real), syn=frame(synthetic), control=frame(holdout), n_attacks=5000, seed=seed
    ).evaluate(mode="univariate")
    rng = np.random.default_rng(seed)

    descriptions = single_conditions(synthetic, SCHEMA, rng=rng)
    ours = single_out(descriptions, real, holdout, None, SCHEMA)

    found = theirs.results()
    record_property("successes", (ours.attack.successes, found.n_success))
    record_property("controls", (ours.control.successes, found.n_control))
    assert len(descriptions) < singling_out.ATTACKS
    assert (ours.attack.successes, ours.control.successes) == (found.n_success, found.n_control)


def expression(description):
    """Return one of our descriptions in their language."""
    operators = {"equal": operator.eq, "at most": operator.le, "at least": operator.ge}
    return functools.reduce(
        operator.and_,
        (
            operators[each.direction](
                pl.col(each.column), each.code if CODED[each.column] is None else CODED[each.column][each.code]
            )
            for each in description
        ),
    )


def test_descriptions_fit_as_many_rows() -> None:
    from anonymeter.evaluators.singling_out_evaluator import _evaluate_queries

    real, synthetic, _ = tables(1)
    rng = np.random.default_rng(1)
    descriptions = joint_conditions(synthetic, SCHEMA, rng=rng)
    descriptions += joint_conditions(tables(2)[1], SCHEMA, rng=rng)  # fit any number of rows

    theirs = _evaluate_queries(pl.DataFrame(frame(real)), [expression(each) for each in descriptions])

    assert tuple(count_matches(real, each, SCHEMA) for each in descriptions) == theirs


def test_descriptions_by_three_columns_succeed_as_often(monkeypatch, record_property) -> None:
    # Theirs have always three columns.
    monkeypatch.setattr(singling_out, "CONDITIONS", (3, 3))
    monkeypatch.setattr(singling_out, "TRIES", 20_000)
    real, synthetic, holdout = tables(2)
    # Each library draws its own descriptions of the same kind: 100 of those that fit one row.
    monkeypatch.setattr(singling_out, "ATTACKS", 100)
    theirs = evaluators.SinglingOutEvaluator(
        ori=frame(real),
        syn=frame(synthetic),
        control=frame(holdout),
        n_attacks=100,
        n_cols=3,
        max_attempts=20_000,
        seed=2,
    ).evaluate(mode="multivariate")
    rng = np.random.default_rng(2)

    descriptions = joint_conditions(synthetic, SCHEMA, rng=rng)
    ours = single_out(descriptions, real, holdout, None, SCHEMA)

    found = theirs.results()
    record_property("successes of 100", (ours.attack.successes, found.n_success))
    record_property("controls of 100", (ours.control.successes, found.n_control))
    # The standard deviation of the difference of two such counts is at most sqrt(100 / 2) = 7.1: five of them.
    assert ours.attack.trials == 100
    assert abs(ours.attack.successes - found.n_success) < 36
    assert abs(ours.control.successes - found.n_control) < 36
