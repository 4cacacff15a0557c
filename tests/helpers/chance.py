"""A plugin of pytest: the bits that a test draws follow from its name and ``--randomly-seed``.

So the line with which a run begins, "Using --randomly-seed=...", repeats all of it: the order of the tests, the noise,
the seeds of synthetic rows. ``make test`` has one number for it. Other processes, and children of a fork, draw the bits
of the system as ever.
"""

import os
from collections.abc import Callable, Iterator
from hashlib import sha256

import numpy as np
import pytest

_SYSTEM = os.urandom


def _stream(seed: object, name: str) -> Callable[[int], bytes]:
    digest = sha256(f"{seed} {name}".encode()).digest()
    return np.random.Generator(np.random.SFC64(int.from_bytes(digest, "little"))).bytes


def _use(draw: Callable[[int], bytes]) -> None:
    os.urandom = draw


def _seed(config: pytest.Config) -> object:
    return config.getoption("randomly_seed", default=0)


def pytest_configure() -> None:
    """Give children of a fork other bits than their parent."""
    os.register_at_fork(after_in_child=lambda: _use(_SYSTEM))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Begin the stream of a test."""
    _use(_stream(_seed(item.config), item.nodeid))


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest) -> Iterator[None]:
    """Give what several tests share a stream of its own: which of them is first differs."""
    if fixturedef.scope == "function":
        return (yield)
    of_test, place = os.urandom, getattr(request, "param_index", 0)
    _use(_stream(_seed(request.config), f"{fixturedef.baseid} {fixturedef.argname} {place}"))
    try:
        return (yield)
    finally:
        _use(of_test)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Give the bits of the system to what runs between tests."""
    _use(_SYSTEM)
