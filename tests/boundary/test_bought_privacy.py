"""Record and replay of bought evaluations over generated neighbours: the privacy of the whole comparison."""

import numpy as np
import pytest

from helpers.planted_audits import replay_of_evaluations
from helpers.unrecorded import RUN
from lapwing.extras.audit.mechanism_pairs import bought_settings
from lapwing.extras.audit.pairs import neighbour_pair
from lapwing.extras.audit.replay import audit_pair
from lapwing.extras.evaluate.bought import run_evaluation
from lapwing.kernel.room.opening import public_terms
from lapwing.rows.source import code_table


@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_no_pair_is_flagged(relation, max_rows):
    assert replay_of_evaluations(relations=(relation,), rows_per_unit=(max_rows,)).flags(8) == ()


@pytest.mark.full
@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_none_of_many_pairs_is_flagged(relation, max_rows):
    assert replay_of_evaluations(relations=(relation,), rows_per_unit=(max_rows,)).flags(600) == ()


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_a_pair_that_is_audited_is_evaluated_and_not_refused(relation):
    rng = np.random.default_rng(5)
    pair = neighbour_pair(rng, relation, 3)
    settings = bought_settings(pair.schema, relation)
    source = code_table(pair.data, pair.schema)
    terms = public_terms(source, pair.schema, relation, None)

    found = run_evaluation(source, settings, terms, RUN)

    assert [line.question for line in found.certificate.lines] == ["MarginalCounts"] + ["TableDistances"] * len(
        settings.compared
    )
    assert audit_pair(pair.data, pair.neighbour, settings) == ()
