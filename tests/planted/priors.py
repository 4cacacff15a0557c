"""Bugs of priors."""

from dataclasses import replace

import numpy as np

from helpers.peeking import rows_behind
from helpers.planted_audits import refused_with_a_prior, replay_of_priors
from helpers.planting import instead_of, seen_by
from lapwing.mechanisms.adaptive import mechanism as adaptive
from lapwing.mechanisms.trees.kd_tree import mechanism as kd_tree
from lapwing.mechanisms.trees.pmm import mechanism as pmm

ADAPTIVE = replay_of_priors(adaptive.Adaptive)
# With more budget, no noise is left that a prior could explain.
KD_TREE = replay_of_priors(kd_tree.KDTree, times=5)
PMM = replay_of_priors(pmm.PMM, times=5)
HONEST = [replay_of_priors(kind) for kind in (kd_tree.KDTree, pmm.PMM)]


def private_codes(curator, names=None):
    """Return the codes of the private rows, by column; none of a dry run."""
    chunks = list(rows_behind(curator).chunks())
    return chunks and {name: np.concatenate([chunk[name] for chunk in chunks]) for name in names or chunks[0]}


@instead_of(adaptive, "measure_prior_distances")
def the_prior_is_read_from_the_private_rows(honest, curator, columns, given, *rest):
    codes = private_codes(curator) or given[0].codes
    return honest(curator, columns, [replace(given[0], codes=codes)], *rest)


def single_columns_are_steadied_by_the_private_rows(patch):
    held = []

    @instead_of(adaptive, "public_or_noisy_rows")
    def known(honest, curator, *rest):
        held.append(curator)
        return honest(curator, *rest)

    @instead_of(adaptive, "shrink_towards_prior")
    def peeking(honest, tables, names, given, total):
        codes = private_codes(held[-1], names) or given[0].codes
        return honest(tables, names, [replace(given[0], codes=codes)], total)

    known(patch)
    peeking(patch)


@instead_of(adaptive, "measure_prior_distances")
def the_distance_of_the_prior_is_exact(honest, curator, *rest):
    class Without:
        terms = curator.terms

        def ask(self, *questions):
            rows = rows_behind(curator).rows
            return tuple(replace(each, values=each.values * 0 + rows % 2 * 10**9) for each in curator.ask(*questions))

    return honest(Without(), *rest)


def read_from_the_private_rows(patch, module, kind):
    """Let a tree read its prior from the private rows."""
    held = []

    @instead_of(kind, "run")
    def watched(honest, mechanism, curator, *rest):
        held.append(curator)
        return honest(mechanism, curator, *rest)

    watched(patch)
    instead_of(module, "spread_codes")(lambda honest, *given: private_codes(held[-1]) or honest(*given))(patch)


def the_prior_of_a_cut_tree_is_read_from_the_private_rows(patch):
    read_from_the_private_rows(patch, kd_tree, kd_tree.KDTree)


def the_prior_of_a_measured_tree_is_read_from_the_private_rows(patch):
    read_from_the_private_rows(patch, pmm, pmm.PMM)


@instead_of(adaptive, "reserve_prior_budget")
def what_the_prior_cost_is_forgotten(honest, budget, *rest):
    return honest(budget, *rest)[0], budget


BUGS = (
    *seen_by(
        ADAPTIVE,
        the_prior_is_read_from_the_private_rows,
        single_columns_are_steadied_by_the_private_rows,
        the_distance_of_the_prior_is_exact,
        within=32,
    ),
    *seen_by(KD_TREE, the_prior_of_a_cut_tree_is_read_from_the_private_rows, within=32),
    *seen_by(PMM, the_prior_of_a_measured_tree_is_read_from_the_private_rows, within=32),
    *seen_by(refused_with_a_prior(), what_the_prior_cost_is_forgotten, within=1),
)
