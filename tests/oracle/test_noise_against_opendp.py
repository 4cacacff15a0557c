r"""The samplers against the OpenDP package, in an environment of its own.

python3.11 -m venv /tmp/opendp
/tmp/opendp/bin/python -m pip install opendp numpy scipy pytest
PYTHONPATH=src:tests /tmp/opendp/bin/python -m pytest --noconftest -c /dev/null --rootdir=. -o junit_family=xunit1 \
    --junit-xml=/tmp/opendp.xml tests/oracle/test_noise_against_opendp.py

The properties in /tmp/opendp.xml are the figures.
"""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from helpers.noise_laws import FALSE_ALARM, alarm, gaussian_law, laplace_law
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.noise.gaussian import discrete_gaussian
from lapwing.kernel.noise.laplace import discrete_laplace

dp = pytest.importorskip("opendp.prelude", reason="needs opendp in an environment of its own")

pytestmark = pytest.mark.oracle

THEIRS = 100_000
OURS = 1_000_000
SCALES = [0.5, 1.0, 7.25, 100.0, 10_000.0]  # exact in binary: their scale is a float


@pytest.fixture(scope="module", autouse=True)
def _contrib() -> None:
    dp.enable_features("contrib")


def integers(metric) -> tuple:
    """Return OpenDP's space of integer vectors."""
    return dp.vector_domain(dp.atom_domain(T=int)), metric(T=int)


def p_value(theirs: np.ndarray, ours: np.ndarray) -> float:
    """Return the chi-square p-value of equal laws, in bins of about equal size, and bins for the outer 1 %."""
    levels = np.concatenate([[0.001, 0.01], np.linspace(0.05, 0.95, 19), [0.99, 0.999]])
    edges = np.unique(np.quantile(np.concatenate([theirs, ours]), levels).round())
    table = np.array([np.bincount(np.searchsorted(edges, x), minlength=edges.size + 1) for x in (theirs, ours)])
    table = table[:, table.sum(axis=0) > 0]
    return float(stats.chi2_contingency(table).pvalue)


@pytest.mark.parametrize("scale", SCALES)
def test_laplace_draws_have_the_law_of_the_oracle(scale: float, record_property) -> None:
    oracle = dp.m.make_laplace(*integers(dp.l1_distance), scale=scale)

    theirs = np.array(oracle([0] * THEIRS))
    ours = discrete_laplace(Fraction(scale), OURS, SystemBits())

    p = p_value(theirs, ours)
    record_property("mean size, theirs and ours", f"{abs(theirs).mean():.4f} {abs(ours).mean():.4f}, p {p:.3f}")
    assert p > FALSE_ALARM
    assert alarm(theirs, laplace_law(scale)) > FALSE_ALARM


@pytest.mark.parametrize("sigma", SCALES)
def test_gaussian_draws_have_the_law_of_the_oracle(sigma: float, record_property) -> None:
    oracle = dp.m.make_gaussian(*integers(dp.l2_distance), scale=sigma)

    theirs = np.array(oracle([0] * THEIRS))
    ours = discrete_gaussian(Fraction(sigma) ** 2, OURS, SystemBits())

    p = p_value(theirs, ours)
    record_property("spread, theirs and ours", f"{theirs.std():.4f} {ours.std():.4f}, p {p:.3f}")
    assert p > FALSE_ALARM
    assert alarm(theirs, gaussian_law(sigma)) > FALSE_ALARM


def test_another_scale_than_the_oracles_is_noticed() -> None:
    oracle = dp.m.make_laplace(*integers(dp.l1_distance), scale=100.0)

    theirs = np.array(oracle([0] * THEIRS))
    ours = discrete_laplace(Fraction(105), OURS, SystemBits())

    assert p_value(theirs, ours) < FALSE_ALARM
