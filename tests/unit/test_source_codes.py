"""Lists of close whole numbers are looked up in a table, repeated texts once: the codes are those of the slow ways."""

import numpy as np
import polars as pl
import pytest

from lapwing.rows.cells import Numbers, Texts
from lapwing.rows.codec import encode
from lapwing.schema.fields import Field

EDGES = [-(2**63), -(2**62), -1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 2**31, 2**62, 2**63 - 1]


@pytest.mark.parametrize(
    "listed", [(3, 1, 5), (0,), (-7, 8), (5, 2**62, -(2**63)), (2**63 - 1, 2**63 - 2), (-(2**63), 1 - 2**63)]
)
def test_whole_numbers_are_looked_up_as_a_dictionary_would(listed):
    field = Field(name="n", type="integer", categories=listed)
    codes = {value: place for place, value in enumerate(listed)}
    cells = np.array([*EDGES, *listed], dtype=np.int64)
    expected = [codes.get(value, field.domain.last) for value in cells.tolist()]
    assert encode(Numbers(cells), field).tolist() == expected
    assert encode(Texts(pl.Series([str(value) for value in cells.tolist()])), field).tolist() == expected


def test_texts_that_only_mean_a_category_get_its_code_however_often_they_occur():
    field = Field(name="flag", type="boolean")
    texts = ["yes", " no", "TRUE", "maybe", None, "1.0", "f", "", "true", "false"]
    codes = [1, 0, 1, 2, 2, 1, 0, 2, 1, 0]
    order = np.random.default_rng(1).integers(0, len(texts), 500)
    cells = pl.Series([texts[place] for place in order], dtype=pl.String)
    assert encode(Texts(cells), field).tolist() == [codes[place] for place in order]
