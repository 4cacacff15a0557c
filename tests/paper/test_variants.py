"""``variant="paper"`` of every mechanism with a paper: planned, released, certified and queried, or refused in time."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import lapwing as lw
from helpers.flag_tables import flags, frame_of_flags, latent_rows
from lapwing.kernel.budget.ledger import Ledger
from lapwing.mechanisms.registry import MECHANISMS

NAIVE = Path(__file__).parents[1] / "naive"
ROWS = frame_of_flags(latent_rows(np.random.default_rng(1), 300, 3))
SCHEMA = flags(3)
PAPERS = [
    each(variant="paper") for each in MECHANISMS.values() if "variant" in {f.name for f in dataclasses.fields(each)}
]
DEAR = {"PrivateSampling": 9000}
"""A budget for mechanisms that give no row for less."""

NO_PUBLIC_ROWS = {
    "PSMM": "variant='paper' is the linear program for a public number of rows",
    "Microaggregation": "variant='paper' is for replace-one neighbours",
    "PrivateSampling": "supports the neighbour relation replace-one",
}
"""Of papers whose algorithm needs the public number of rows of replace-one neighbours."""

TWINS = {
    "PMM": "test_pmm_naive.py",
    "PSMM": "test_psmm_naive.py",
    "Grid": "test_grid_naive.py",
    "KDTree": "test_kd_tree_naive.py",
    "Microaggregation": "test_microaggregation_naive_dp.py",
    "LinearStatistics": "test_densities_naive.py",
    "PrivateSampling": "test_private_sampling_naive.py",
}
"""Where the algorithm as it is printed is compared with ours."""


def bought(mechanism, relation):
    return {"epsilon": DEAR.get(mechanism.name, 1), "neighbours": relation, "mechanism": mechanism}


def test_the_mechanisms_without_a_paper_are_known() -> None:
    assert {kind.name for kind in MECHANISMS.values()} - {each.name for each in PAPERS} == {
        "Adaptive",
        "Independent",
        "Tables",
    }
    assert {each.name for each in PAPERS} == set(TWINS)


@pytest.mark.parametrize("name", TWINS)
def test_a_naive_twin_runs_the_papers_variant(name) -> None:
    assert "paper" in (NAIVE / TWINS[name]).read_text()


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("mechanism", PAPERS, ids=lambda each: each.name)
def test_the_paper_is_planned_released_certified_and_queried_or_refused_before_the_debit(
    mechanism, relation, tmp_path
) -> None:
    settings, ledger = bought(mechanism, relation), tmp_path / "budget.db"
    if relation == "add-remove" and mechanism.name in NO_PUBLIC_ROWS:
        account = Ledger.create_or_open(ledger)
        account.init("a", unit="pure", limit=10**4, relation=relation, privacy_unit="row")
        with pytest.raises(lw.ParameterError, match=NO_PUBLIC_ROWS[mechanism.name]):
            lw.plan(SCHEMA, expected_rows=300, **settings)
        with pytest.raises(lw.ParameterError, match=NO_PUBLIC_ROWS[mechanism.name]):
            lw.synthesize(ROWS, SCHEMA, ledger=ledger, dataset="a", expected_rows=300, **settings)
        assert account.balance("a").spent == 0
        return

    planned = lw.plan(SCHEMA, expected_rows=300, **settings)
    release = lw.synthesize(ROWS, SCHEMA, expected_rows=300, seed=1, **settings)

    certificate = release.certificate
    assert certificate.settings["variant"] == planned.settings["variant"] == "paper"
    assert planned.lines == certificate.lines
    assert planned.accuracy
    assert certificate.accuracy
    assert release.sample(10, seed=1).columns == ["f0", "f1", "f2"]
    counts = release.query(["f0", "f1"])["count"]
    assert counts.min() >= 0
    assert 0 < counts.sum() < 2 * 300


@pytest.mark.parametrize(
    ("kind", "setting"),
    [
        *((lw.Microaggregation, each) for each in ({"one_way_share": 0.3}, {"directions": 2}, {"bins": 3})),
        *((lw.Microaggregation, each) for each in ({"calibrate": False}, {"fit_moments": False})),
        *((kind, {"prior": ROWS}) for kind in (lw.PMM, lw.KDTree)),
    ],
)
def test_what_the_paper_does_not_have_is_refused_and_not_passed_over(kind, setting) -> None:
    (name,) = setting

    with pytest.raises(lw.ParameterError, match=f"variant='paper' takes no {name}") as refused:
        kind(variant="paper", **setting)

    assert refused.value.code == "LW316"
    assert kind(**setting).variant == "default"


def test_anonymous_tables_have_the_papers_algorithm_by_the_same_word() -> None:
    table = lw.anonymize(ROWS, SCHEMA, min_group_size=3, variant="paper", seed=1)

    assert table.settings.variant == "paper"
    assert table.data.height == ROWS.height
