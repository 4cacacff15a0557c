"""The arena's measures against plain loops over rows, cells and pairs."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from helpers.arena import marginals, measures
from lapwing.schema.schemas import Schema

FIELDS = [
    {"name": "flag", "type": "boolean"},
    {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 100}, "special": [-1, -2]},
    {"name": "few", "type": "integer", "constraints": {"minimum": 1, "maximum": 5, "required": True}},
    {"name": "place", "type": "string", "categories": [f"p{number}" for number in range(40)]},
    {"name": "level", "type": "string", "categories": list("abcdefghij"), "categoriesOrdered": True},
]
SCHEMA = Schema.from_dict({"fields": FIELDS})
DOMAINS = {field.name: field.domain for field in SCHEMA.columns}
# Sums of at most 500 floats, divided by one another.
ROUNDED = 1e-12


def drawn_rows(seed, rows):
    """Draw codes, small ones more often."""
    rng = np.random.default_rng(seed)
    return {
        name: ((domain.size if domain.missing else domain.last) * rng.random(rows) ** 2).astype(domain.dtype)
        for name, domain in DOMAINS.items()
    }


def public_part(name, code, groups):
    """Return one of equal runs of the domain: run i starts at the whole part of i values over groups."""
    values = DOMAINS[name].values
    if code >= values or values <= groups:
        return ("value", code)
    return ("run", sum(start * values // groups <= code for start in range(1, groups)))


def shared_part(train, name, code, groups):
    """Return a run of those with equal shares: one starts at each of these places among the sorted train values."""
    regular = sorted(int(each) for each in train[name] if each < DOMAINS[name].values)
    if code >= DOMAINS[name].values:
        return ("value", code)
    starts = {regular[place * len(regular) // groups] for place in range(1, groups)} - {0}
    return ("run", sum(start <= code for start in starts))


def common_part(train, name, code, groups):
    """Return a value that is common, the first of equally common ones, or what stands for all others."""
    values = DOMAINS[name].values
    if code >= values or values <= groups:
        return ("value", code)
    counts = Counter(int(each) for each in train[name])
    kept = sorted(range(values), key=lambda each: (-counts[each], each))[: groups - 1]
    return ("value", code) if code in kept else ("others",)


def part(train, name, code, cells):
    kind, groups = cells
    if kind == "nist":
        is_number = name in ("age", "few")
        return shared_part(train, name, code, groups) if is_number else ("value", code)
    if not DOMAINS[name].ordered:
        return common_part(train, name, code, groups)
    return public_part(name, code, groups) if kind == "public" else shared_part(train, name, code, groups)


def mean_distance(train, made, ways, cells):
    """Half the sum of the differences in share, averaged over all tables of so many columns."""
    found = []
    for names in itertools.combinations(DOMAINS, ways):
        shares = []
        for codes in (train, made):
            rows = len(codes["flag"])
            counts = Counter(
                tuple(part(train, name, int(codes[name][row]), cells) for name in names) for row in range(rows)
            )
            shares.append({cell: Fraction(count, rows) for cell, count in counts.items()})
        every = set(shares[0]) | set(shares[1])
        found.append(sum(abs(shares[0].get(cell, 0) - shares[1].get(cell, 0)) for cell in every) / 2)
    return float(sum(found) / len(found))


@pytest.mark.parametrize(("seed", "rows", "others"), [(1, 60, 60), (2, 50, 90), (3, 3, 40), (4, 1, 1)])
def test_distances_of_tables(seed, rows, others):
    train, made = drawn_rows(seed, rows), drawn_rows(seed + 10, others)

    found = marginals.variations(train, made, SCHEMA)

    kinds = {"wide": ("public", 8), "narrow": ("public", 32), "native": ("share", 32)}
    for (name, cells), ways in itertools.product(kinds.items(), (1, 2, 3)):
        assert found[f"tv{ways}_{name}"] == pytest.approx(mean_distance(train, made, ways, cells), abs=ROUNDED)
    score = 1000 * (1 - mean_distance(train, made, 3, ("nist", 20)))
    assert found["nist_k3"] == pytest.approx(score, abs=1000 * ROUNDED)


def moments(codes, name):
    regular = [int(each) for each in codes[name] if each < DOMAINS[name].values]
    mean = math.fsum(regular) / len(regular)
    return mean, math.sqrt(math.fsum((each - mean) ** 2 for each in regular) / len(regular))


def correlation(codes, one, other):
    """Pearson's, over rows in which both are regular, in fractions up to the root; None without spread."""
    pairs = [
        (int(a), int(b))
        for a, b in zip(codes[one], codes[other], strict=True)
        if a < DOMAINS[one].values and b < DOMAINS[other].values
    ]
    if len(pairs) < 2:
        return None
    means = [Fraction(sum(pair[side] for pair in pairs), len(pairs)) for side in (0, 1)]
    spreads = [sum((pair[side] - means[side]) ** 2 for pair in pairs) for side in (0, 1)]
    if not all(spreads):
        return None
    return float(sum((a - means[0]) * (b - means[1]) for a, b in pairs)) / math.sqrt(spreads[0] * spreads[1])


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_moments_and_correlations(seed):
    train, made = drawn_rows(seed, 60), drawn_rows(seed + 10, 80)

    found = measures._moments(train, made, SCHEMA)

    pairs = [(moments(train, name), moments(made, name)) for name in ("age", "few")]
    means = [abs(made_mean - mean) / deviation for (mean, deviation), (made_mean, _) in pairs]
    deviations = [abs(made_deviation / deviation - 1) for (_, deviation), (_, made_deviation) in pairs]
    errors = [
        abs((correlation(train, *names) or 0) - (correlation(made, *names) or 0))
        for names in itertools.combinations(("flag", "age", "few", "level"), 2)
    ]
    assert found["mean_error"] == pytest.approx(sum(means) / 2, abs=ROUNDED)
    assert found["sd_error"] == pytest.approx(sum(deviations) / 2, abs=ROUNDED)
    assert found["pearson_error"] == pytest.approx(sum(errors) / 6, abs=ROUNDED)


def gower(one, other):
    """Return the mean distance of places, in steps of 2**-20, or of codes: 0 or 1."""
    total = 0.0
    for name, domain in DOMAINS.items():
        a, b = one[name], other[name]
        if domain.ordered and max(a, b) < domain.values:
            steps = [round(code * 2**20 / (domain.values - 1)) for code in (a, b)]
            total += abs(steps[0] - steps[1]) / 2**20
        else:
            total += a != b
    return total / len(DOMAINS)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_membership(seed):
    """A third of the rows out are copies of train rows, so that there is something to find."""
    train, held, made = drawn_rows(seed, 40), drawn_rows(seed + 10, 25), drawn_rows(seed + 20, 60)
    made = {name: np.concatenate((codes[:40], train[name][:20])) for name, codes in made.items()}

    found = measures.membership_advantage(train, held, made, SCHEMA)

    def rows(codes):
        return [{name: int(column[row]) for name, column in codes.items()} for row in range(len(codes["flag"]))]

    closest = [[min(gower(row, other) for other in rows(made)) for row in rows(codes)] for codes in (train, held)]
    gains = [
        sum(each <= limit for each in closest[0]) / 40 - sum(each <= limit for each in closest[1]) / 25
        for limit in {*closest[0], *closest[1]}
    ]
    assert found["audit_advantage"] == pytest.approx(max(0, *gains), abs=ROUNDED)
    assert found["audit_advantage"] > 0.2
    assert found["audit_chance"] == pytest.approx(math.sqrt(math.log(20) / 2 * 65 / 1000), abs=ROUNDED)
