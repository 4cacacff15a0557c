"""Theta that a release leaves to be fitted: to all its atoms, once somebody draws rows from it."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.log_linear import exact_law, model_at
from helpers.saved import save, small_saved
from lapwing.errors import LapwingError
from lapwing.model.files import load_release
from lapwing.model.laws import uniform_law
from lapwing.model.model import LogLinear, ReleasedModel
from lapwing.model.rows import sample_codes
from lapwing.model.sampling import grouped
from lapwing.model.sampling.conditions import condition_model
from lapwing.schema.groupings.grouping import identity, interval_grouping
from lapwing.schema.schemas import Schema

FIELDS = [
    {"name": name, "type": "integer", "constraints": {"required": True, "minimum": 0, "maximum": most}}
    for name, most in (("b", 3), ("a", 5), ("c", 1))
]
SCHEMA = Schema.from_dict({"fields": FIELDS})
ATOMS = 40_000


def released(free=(0, 1)) -> ReleasedModel:
    """Return a model whose columns depend on each other as its atoms show, and its theta does not yet."""
    rng = np.random.default_rng(3)
    b = rng.choice(4, ATOMS, p=[0.4, 0.3, 0.2, 0.1])
    a = np.where(rng.random(ATOMS) < 0.6, b, rng.integers(0, 6, ATOMS))
    c = (a >= 3) ^ (rng.random(ATOMS) < 0.2)
    domains = {field.name: field.domain for field in SCHEMA.columns}
    whole = {name: identity(domain) for name, domain in domains.items()}
    half = interval_grouping(domains["a"], [3])
    part = LogLinear(
        tables=(("a", "b"), ("c", "a"), ("b",)),
        groupings=((whole["a"], whole["b"]), (whole["c"], half), (whole["b"],)),
        thetas=tuple(
            np.zeros([each.groups for each in each_table])
            for each_table in ((whole["a"], whole["b"]), (whole["c"], half), (whole["b"],))
        ),
        base={name: uniform_law(domain) for name, domain in domains.items()},
    )
    model = model_at(SCHEMA, part, np.stack([b, a, c], axis=1))
    return replace(model, log_linear=replace(part, free=free, atoms=model.laws if free else {}))


def tables(law):
    """Return the tables of b and a, and of a's halves and c."""
    law = law[:4, :6, :2]
    return law.sum(axis=2), law.reshape(4, 2, 3, 2).sum(axis=(0, 2))


def test_free_theta_is_fitted_to_all_atoms_and_the_rest_stays_as_it_is() -> None:
    model = released(free=(0, 1))
    part = model.log_linear

    found = grouped.settle_theta(part)

    codes = {name: law.index.astype(int) for name, law in model.laws.items()}
    joint = np.zeros((4, 6, 2))
    np.add.at(joint, (codes["b"], codes["a"], codes["c"]), 1 / ATOMS)
    for got, wanted in zip(tables(exact_law(SCHEMA, found)), tables(joint), strict=True):
        assert np.abs(got - wanted).sum() / 2 < 0.02
    assert np.abs(tables(exact_law(SCHEMA, part))[0] - tables(joint)[0]).sum() / 2 > 0.3
    assert found.free == ()
    assert not found.thetas[2].any()
    assert grouped.settle_theta(part) is found
    assert grouped.settle_theta(found) is found


def test_rows_of_a_condition_follow_theta_of_all_atoms() -> None:
    model = released()

    found = condition_model(model, SCHEMA, {"b": 3}).model

    for cut_theta, theta in zip(found.log_linear.thetas, grouped.settle_theta(model.log_linear).thetas, strict=True):
        np.testing.assert_array_equal(cut_theta, theta)


def test_a_file_keeps_which_theta_is_free(tmp_path) -> None:
    model = released()
    saved = replace(small_saved(), schema=SCHEMA, model=model, answers=())
    save(saved, tmp_path / "free.lapwing")

    found = load_release(tmp_path / "free.lapwing").model

    assert found.log_linear.free == (0, 1)
    for got, wanted in zip(
        grouped.settle_theta(found.log_linear).thetas, grouped.settle_theta(model.log_linear).thetas, strict=True
    ):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize(("rows", "times"), [(1000, 0), (ATOMS, 0), (ATOMS + 1, 1)])
def test_no_theta_is_fitted_before_rows_beyond_the_atoms_are_drawn(monkeypatch, rows, times) -> None:
    asked, honest = [], grouped.explaining_theta
    monkeypatch.setattr(grouped, "explaining_theta", lambda *given: asked.append(1) or honest(*given))

    list(sample_codes(released(), SCHEMA, rows, np.random.default_rng(1)))

    assert len(asked) == times


@pytest.mark.parametrize("changes", [{"free": (3,)}, {"free": (-1,)}, {"atoms": {}}, {"free": ()}])
def test_a_part_whose_free_tables_or_atoms_do_not_fit_is_refused(changes) -> None:
    part = released().log_linear

    with pytest.raises(LapwingError, match="free table"):
        replace(part, **changes)


def test_atoms_of_different_numbers_are_refused() -> None:
    part = released().log_linear
    law = part.atoms["c"]

    with pytest.raises(LapwingError, match="equally many atoms"):
        replace(part, atoms={**part.atoms, "c": replace(law, index=law.index[1:])})
