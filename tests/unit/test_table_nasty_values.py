"""One vector of nasty cells gives the same codes from every kind of table, for every kind of field."""

from itertools import product

import numpy as np
import pytest

from helpers.containers import CONTAINERS, HOLDS, as_held
from helpers.naive_codes import naive_apart, naive_code
from helpers.nasty_cells import CELLS, FIELDS, UNWRITTEN
from lapwing.rows.cells import texts
from lapwing.rows.codec import encode
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("container", CONTAINERS)
def test_nasty_cells_have_the_same_codes_in_every_kind_of_table(container, kind, tmp_path):
    cells = list(filter(HOLDS.get(container, lambda _: True), CELLS[kind]))
    names = [field.name for field in FIELDS]
    table = CONTAINERS[container](names, cells, kind, tmp_path)
    if table is None:
        pytest.skip("this kind of table cannot hold these cells")

    source = code_table(table, Schema(fields=FIELDS))

    for field, (apart, slow) in product(FIELDS, enumerate((naive_code, naive_apart))):
        if apart and field.open:  # never asked for: what is listed as missing is so by its text, in files without types
            continue
        codes = np.concatenate([chunk[field.name] for chunk in source.chunks(apart=bool(apart))])
        expected = [slow(as_held(container, kind, cell), field) for cell in cells]
        wrong = [
            (cell, code, want)
            for cell, code, want in zip(cells, codes.tolist(), expected, strict=True)
            if code != want
            and not (field.name == "open texts" and cell in UNWRITTEN)
            and not (
                apart and container == "CSV" and isinstance(cell, float) and np.isnan(cell)
            )  # in a file without types NaN is a text
        ]
        assert wrong == [], field.name
        assert codes.dtype == field.domain.dtype


@pytest.mark.parametrize("place", range(len(FIELDS)), ids=[field.name for field in FIELDS])
def test_a_text_has_the_same_code_whatever_most_cells_beside_it_say(place):
    field = FIELDS[place]
    cells = [cell for cell in CELLS["texts"] if cell is None or len(cell) < 100]
    alone = [encode(texts([cell]), field)[0] for cell in cells]

    # Each cell is what most say for every fourth field.
    for most in cells[place % 4 :: 4]:
        beside = encode(texts([*cells, *[most] * (2 * len(cells))]), field)[: len(cells)]

        assert beside.tolist() == alone
