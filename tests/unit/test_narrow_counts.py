"""Tables counted in few bytes: sizes around the largest number of each width, and many tables at once."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from lapwing.rows.counting import _MANY, count_tables
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import evenly, identity


def column(size):
    return identity(Domain(size, 0, missing=False, ordered=True, continuous=False))


@pytest.mark.parametrize("sizes", [(127,), (128,), (129,), (255, 1), (1, 256), (181, 181), (182, 181), (256, 256)])
def test_every_cell_is_counted_once_whatever_the_width(sizes):
    # The misfit group of each column makes one more.
    groupings = [column(size) for size in sizes]
    shape = [grouping.groups for grouping in groupings]
    cells = np.indices(shape).reshape(len(sizes), -1)
    codes = {f"c{place}": each.astype(np.int32) for place, each in enumerate(cells)}

    table = tuple((f"c{place}", grouping) for place, grouping in enumerate(groupings))
    (found,) = count_tables([codes], [table])

    assert found.dtype == np.int64
    assert (found == 1).all()
    assert found.size == np.prod(shape)


@pytest.mark.parametrize("height", [1, 8191, 20_000])
def test_many_tables_at_once_are_those_of_a_loop_over_the_rows(height):
    rng = np.random.default_rng(height)
    sizes = (2, 3, 9, 100, 300, 70_000, 5, 2**20)
    domains = [Domain(size, 1, missing=True, ordered=True, continuous=False) for size in sizes]
    chunks = [
        {f"c{place}": rng.integers(0, each.last + 1, height).astype(each.dtype) for place, each in enumerate(domains)}
        for _ in range(5)
    ]
    axes = [
        (f"c{place}", each) for place, domain in enumerate(domains) for each in (evenly(domain, 4), identity(domain))
    ]
    few = [axis for axis in axes if axis[1].groups < 400]
    tables = [(), (axes[-1],), *combinations(few, 2), *combinations(few[:5], 3), *combinations(few[:5], 4)]
    assert sum(len(table) in (2, 3) for table in tables) > _MANY

    found = count_tables(chunks, tables)

    for table, counts in zip(tables, found, strict=True):
        groups = [
            np.concatenate([grouping.apply(chunk[name]) for chunk in chunks]).tolist() for name, grouping in table
        ]
        expected = Counter(zip(*groups, strict=True)) if table else {(): 5 * height}
        shape = [grouping.groups for _, grouping in table]
        assert counts.dtype == np.int64
        assert {cell: int(counts.reshape(shape)[cell]) for cell in expected} == expected
        assert counts.sum() == 5 * height
