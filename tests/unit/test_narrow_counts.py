"""Tables counted in few bytes: sizes around the largest number of each width."""

import numpy as np
import pytest

from lapwing.rows.counting import count_tables
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import identity


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
