"""A logarithmic scale cuts codes around zero and at powers of two from it, and changes no code."""

import itertools
import json

import pytest

from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema


def log(kind="integer", **settings):
    return Field(name="x", type=kind, scale="log", **settings)


@pytest.mark.parametrize(
    ("field", "cuts"),
    [
        (log(minimum=0, maximum=20), ((1,), (2, 4, 8, 16))),
        (log(minimum=-20, maximum=0), ((20,), (5, 13, 17, 19))),
        (log(minimum=-3, maximum=20), ((3, 4), (2, 5, 7, 11, 19))),
        (log(minimum=5, maximum=20), ((3, 11),)),
        (log(minimum=0, maximum=1), ((1,),)),
        (log(minimum=7, maximum=7), ()),
        (log(minimum=0, maximum=2000, resolution=100), ((1,), (2, 4, 8, 16))),
        (log(minimum=-250, maximum=500, resolution=100), ((2, 3), (1, 4, 6))),
        (log("number", minimum=-0.85, maximum=0, resolution=0.1), ((8,), (1, 5, 7))),
        (log("number", minimum=-0.2, maximum=0.2, resolution=0.1), ((2, 3), (1, 4))),
    ],
)
def test_codes_are_cut_around_zero_and_at_powers_of_two(field, cuts) -> None:
    assert field.domain.cuts == cuts


@pytest.mark.parametrize("bounds", [(0, 10**6), (-(10**6), 10**6), (-7.3, 1e5), (0.25, 8), (-9, -0.5), (-1e-3, 1e300)])
def test_every_run_of_real_numbers_lies_on_one_side_of_zero_and_within_an_octave(bounds) -> None:
    domain = log("number", minimum=bounds[0], maximum=bounds[1]).domain
    low, high = map(float, bounds)
    cell = (high - low) / 2**32
    zero = (0 - low) / cell

    cuts = sorted(code for tier in domain.cuts for code in tier)
    edges = [0, *cuts, 2**32]

    for start, stop in itertools.pairwise(edges):
        if stop == start + 1:
            continue
        near, far = sorted((abs(start + 0.5 - zero), abs(stop - 0.5 - zero)))
        assert (start + 0.5 > zero) == (stop - 0.5 > zero)
        assert far < 2 * near + 2, (start, stop)
    assert len(cuts) <= 2 * 33 + 2


def test_the_scale_changes_nothing_else_and_is_written_only_where_it_is_log() -> None:
    plain = {"name": "x", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}}
    schemas = [
        Schema.from_dict({"fields": [{**plain, **more}]}) for more in ({}, {"scale": "linear"}, {"scale": "log"})
    ]

    written = [schema.to_dict()["fields"][0].get("scale") for schema in schemas]
    domains = [schema.columns[0].domain for schema in schemas]

    assert written == [None, None, "log"]
    assert schemas[0] == schemas[1] != schemas[2]
    assert Schema.from_dict(json.loads(json.dumps(schemas[2].to_dict()))) == schemas[2]
    assert (domains[0].values, domains[0].cuts) == (domains[2].values, ())
    assert domains[2].cuts == ((1,), (2, 4, 8))
