"""Cases of tests in place of products of parameters: every value occurs, and not with every other one."""

import itertools

import pytest


def spread(*given, at_least=8):
    """Return a mark for cases in which each value of each parameter occurs, in changing company.

    Each parameter is given as to `pytest.mark.parametrize`: a name or names, and values. There are as many cases as the
    longest list has values, or as many as asked for; lists that are shorter start anew, one further each time.
    """
    lists = [(names, list(values)) for names, values in given]
    size = max(at_least, *(len(values) for _, values in lists))
    cases = [
        [values[(place + place // len(values)) % len(values)] for names, values in lists]
        for place in range(min(size, len(list(itertools.product(*(values for _, values in lists))))))
    ]
    flat = [
        tuple(part for (names, _), value in zip(lists, case, strict=True) for part in _parts(names, value))
        for case in cases
    ]
    return pytest.mark.parametrize([name for names, _ in lists for name in _parts(names, names)], flat)


def _parts(names, value):
    return (value,) if isinstance(names, str) else tuple(value)
