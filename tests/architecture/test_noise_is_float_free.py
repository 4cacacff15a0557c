"""No floating-point number in lapwing.kernel.noise: not in its syntax, and not when it runs."""

from fractions import Fraction

import numpy as np
import pytest

from helpers.bits import SeededBits
from helpers.float_free import IntegersOnly, floats_in
from helpers.source_tree import PACKAGE, python_files
from lapwing.kernel.noise.bernoulli import bernoulli_exp_multiples
from lapwing.kernel.noise.enclosures import LaplaceTail
from lapwing.kernel.noise.gaussian import discrete_gaussian
from lapwing.kernel.noise.geometric import survivors
from lapwing.kernel.noise.laplace import discrete_laplace, discrete_laplace_at_least
from lapwing.kernel.noise.selection import exponential_mechanism
from lapwing.kernel.noise.weighted import weighted_draws

NOISE = PACKAGE / "kernel" / "noise"

PLANTED = [
    "scale = 0.5",
    "scale = 1e3",
    "z = 1j",
    "p = a / b",
    "p /= 2",
    "x = float(scale)",
    "import math\nq = math.exp(-1)",
    "import math\nq = math.log(2)",
    "import math\nq = math.inf",
    "from math import exp",
    "from math import isqrt, sqrt",
    "import numpy as np\nx = np.zeros(3, dtype=np.float64)",
    "import numpy as np\nx = np.zeros(3)",
    "import numpy as np\nx = np.empty(size)",
    "x = words.astype('float64')",
    "x = words.astype('<f8')",
    "x = words.astype(dtype='d')",
    "from numpy import float32 as small",
    "import numpy as np\nx = np.log1p(words)",
    "x = words.mean()",
    "x = words.std()",
    "x = 2 ** -bits",
    "from decimal import Decimal",
    "from scipy.special import ndtri",
    "import scipy.stats",
    "import numpy as np\nx = np.random.default_rng()",
]
CLEAN = [
    "p = Fraction(1, 2) / 3",
    "p = 3 / Fraction(x)",
    "x = a // b",
    "x = Fraction(2) ** -bits",
    "from math import isqrt",
    "import numpy as np\nx = np.empty(3, dtype=np.int64)",
    "x = words >> 3",
    "text = 'different words'",
]


class CheckedBits:
    """Seeded words that refuse to become floating point."""

    def __init__(self) -> None:
        self._bits = SeededBits(1)

    def words(self, count: int) -> np.ndarray:
        return self._bits.words(count).view(IntegersOnly)


def test_the_noise_package_names_no_floating_point() -> None:
    files = python_files(NOISE)

    faults = [f"{path.name} {fault}" for path in files for fault in floats_in(path.read_text(encoding="utf-8"))]

    assert len(files) >= 7
    assert faults == []


@pytest.mark.parametrize("code", PLANTED)
def test_planted_floating_point_is_found(code: str) -> None:
    assert floats_in(code)


@pytest.mark.parametrize("code", CLEAN)
def test_exact_code_is_let_through(code: str) -> None:
    assert floats_in(code) == []


@pytest.mark.parametrize("size", [10, 5000])
@pytest.mark.parametrize("parameter", [Fraction(1, 3), Fraction(20), Fraction(10**4), Fraction(10**12)])
def test_no_array_computed_from_secret_words_is_floating_point(parameter: Fraction, size: int) -> None:
    bits = CheckedBits()

    results = [
        discrete_laplace(parameter, size, bits),
        discrete_laplace_at_least(-1, parameter, size, bits),
        discrete_gaussian(parameter, size, bits),
        discrete_gaussian(parameter**2, size, bits),
        bernoulli_exp_multiples(np.arange(size, dtype=np.uint64), parameter, bits),
        survivors(size, LaplaceTail(parameter, 2), bits),
        np.array([exponential_mechanism(np.arange(size), parameter, 1, bits)]),
        weighted_draws(np.arange(1, 9), size, bits),
    ]

    assert all(result.dtype.kind in "bi" for result in results)


@pytest.mark.parametrize(
    "mix",
    [
        lambda words: words * 0.5,
        lambda words: words / 3,
        lambda words: words + np.ones(4, dtype=np.int64),
        lambda words: np.sqrt(words >> np.uint64(3)),
        lambda words: np.arange(4) - (words >> np.uint64(60)),
    ],
)
def test_planted_arithmetic_that_leaves_the_integers_is_found(mix) -> None:
    words = CheckedBits().words(4)

    with pytest.raises(AssertionError, match="made floating point"):
        mix(words)
