"""Sums over cells of vectors: each row has its own cell, and the room's sums are those of the audit."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from helpers.bits import ZeroNoiseBits
from helpers.vectors import (
    Rows,
    all_rows,
    both_ways,
    coordinates_of,
    cut_cells,
    exact,
    lattice_cells,
    moment_asked,
    random_cells,
    random_coordinates,
    random_rows,
    sums_asked,
)
from lapwing.extras.audit.pairs import neighbour_pair
from lapwing.extras.audit.questions.cell_sums import resummed
from lapwing.kernel.questions.answering import PrivateRows
from lapwing.kernel.questions.cell_sums.answer import answer_cell_sums
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.questions.shared.coordinates import Coordinates
from lapwing.kernel.terms import Terms
from lapwing.rows.source import code_table
from lapwing.schema.groupings.grouping import evenly, lookup

# ------------------------------------------------------------------------------------------------- a cell of its own


def cells_by_hand(projection, vectors):
    """Return the cells of whole vectors, from what the documentation says, in Python's own integers."""
    cells = []
    for row in vectors.astype(int).tolist():
        at = [sum(a * b for a, b in zip(row, axis, strict=True)) for axis in projection.directions.T.tolist()]
        if projection.spacing:
            gaps = [a - b for a, b in zip(at, projection.origin.tolist(), strict=True)]
            net = projection._net.tolist()
            distances = [
                sum((a - projection.spacing * k) ** 2 for a, k in zip(gaps, each, strict=True)) for each in net
            ]
            cells.append(distances.index(min(distances)))
            continue
        cell = 0
        for number, cuts in zip(at, projection.cuts, strict=True):
            cell = cell * (len(cuts) + 1) + sum(cut <= number for cut in cuts.tolist())
        cells.append(cell)
    return cells


def near_ties(rng, projection, unit):
    """Move cuts or origin so that many of the rows lie on, just above, or just below a boundary."""
    vectors = rng.integers(-unit, unit + 1, (200, projection.width)).astype(np.float64)
    at = vectors.astype(np.int64) @ projection.directions
    if projection.spacing:
        origin = at[0] - projection.spacing // 2 + rng.integers(-1, 2, projection.count)
        return replace(projection, origin=origin), vectors
    cuts = tuple(np.unique(np.append(at[:3, place], at[3:6, place] + 1)) for place in range(projection.count))
    return replace(projection, cuts=cuts), vectors


@pytest.mark.parametrize("size", [3, 2**20, 2**33])
@pytest.mark.parametrize("width", [1, 5, 60])
def test_the_cell_of_a_row_is_a_function_of_the_row_alone(width, size):
    rng = np.random.default_rng([width, size])

    for _ in range(8):
        projection = random_cells(rng, width, directions=int(rng.integers(0, 4)), size=size)
        projection, vectors = near_ties(rng, projection, 2)
        cells = projection.cells_of(vectors)

        assert cells.tolist() == cells_by_hand(projection, vectors)
        order = rng.permutation(len(vectors))
        assert np.array_equal(projection.cells_of(np.asfortranarray(vectors[order])), cells[order])
        alone = [int(projection.cells_of(row[None])[0]) for row in vectors]
        assert alone == cells.tolist()
        with ThreadPoolExecutor(8) as pool:
            parts = list(pool.map(projection.cells_of, np.array_split(np.repeat(vectors, 50, axis=0), 16)))
        assert np.array_equal(np.concatenate(parts), np.repeat(cells, 50))


def test_a_row_on_a_cut_lies_above_it_and_on_a_lattice_the_smaller_point_wins():
    vectors = np.array([[-1.0], [0.0], [1.0], [2.0], [3.0]])

    assert cut_cells([[2]], [-1, 2]).cells_of(vectors).tolist() == [0, 1, 2, 2, 2]
    assert lattice_cells([[1]], spacing=2, norm=1).cells_of(vectors).tolist() == [0, 1, 1, 2, 2]


@pytest.mark.parametrize("chunk", [1, 7, 4097])
def test_sums_do_not_depend_on_order_chunks_or_threads(chunk):
    rng = np.random.default_rng(chunk)
    coordinates = coordinates_of(("line of 5", "line or missing", "list of 3", "list of 2"), bits=12)
    cells = lattice_cells(rng.integers(-(2**20), 2**20, (coordinates.size, 3)), spacing=2**30, norm=4)
    codes = random_rows(rng, coordinates, 60 if chunk < 10 else 9000)
    shuffled = Rows(coordinates, codes[rng.permutation(len(codes))], chunk)

    for question in (
        moment_asked(coordinates, diagonal=True),
        sums_asked(coordinates, cells, "rows"),
        sums_asked(coordinates, cells),
        sums_asked(coordinates, cells, "damped means", damping=3),
    ):
        expected = exact(question, Rows(coordinates, codes))
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda _, question=question: exact(question, shuffled), range(8)))
        assert all(np.array_equal(each, expected) for each in found)


# ---------------------------------------------------------------------------------- the room and the audit's recount


def test_room_and_audit_agree_on_random_questions():
    rng = np.random.default_rng(7)

    for _ in range(60):
        coordinates = random_coordinates(rng)
        cells = random_cells(rng, coordinates.size, size=3 * coordinates.unit) if rng.integers(4) else None
        source = Rows(coordinates, random_rows(rng, coordinates, int(rng.integers(0, 40))), int(rng.integers(1, 20)))
        for question in (
            moment_asked(coordinates, diagonal=bool(rng.integers(2))),
            sums_asked(coordinates, cells, "rows"),
            sums_asked(coordinates, cells),
            sums_asked(coordinates, cells, "damped means", damping=int(rng.integers(1, 9))),
        ):
            room, audit = both_ways(question, source)
            assert room.dtype == np.int64
            assert np.array_equal(room, audit)


def test_questions_of_one_batch_have_their_own_cells():
    rng = np.random.default_rng(6)
    centred = coordinates_of(("line of 5", "line or missing"), bits=2)
    others = (replace(centred, coding="unit"), replace(centred, bits=3), replace(centred))
    cells = lattice_cells([[1, 0], [2, 1], [-3, 1]], spacing=2, norm=4)
    source = Rows(centred, random_rows(rng, centred, 40), 7)
    asked = [
        sums_asked(coordinates, cells, summed, damping=3 if summed == "damped means" else None)
        for coordinates in (centred, *others)
        for summed in ("rows", "vectors", "damped means")
    ]

    answers = answer_cell_sums(asked, PrivateRows.of(source, None), Terms(relation="add-remove"), ZeroNoiseBits())

    assert all(np.array_equal(each.values, resummed(each.question, source)) for each in answers)
    assert [each.question for each in answers] == asked


def coordinates_for(schema, rng, *, bits):
    """Return coordinates of all columns of any schema: ordered ones as lines, one time in two."""
    domains = [column.domain for column in schema.columns]
    kinds = ["line" if domain.ordered and rng.integers(2) else "list" for domain in domains]
    tables = [
        lookup(domain, np.arange(domain.values) % 2) if domain.values in range(2, 9) and rng.integers(3) == 0 else None
        for domain in domains
    ]
    return Coordinates(
        columns=tuple(column.name for column in schema.columns),
        groupings=tuple(
            evenly(domain, 5) if table is None else table for domain, table in zip(domains, tables, strict=True)
        ),
        kinds=tuple(kinds),
        listed=tuple(int(rng.integers(0, domain.reserved + 1)) for domain in domains),
        coding=str(rng.choice(["centred", "unit"])),
        bits=bits,
    )


@pytest.mark.parametrize("max_rows", [1, 3])
def test_room_and_audit_agree_on_tables_of_all_kinds_of_fields(max_rows):
    rng = np.random.default_rng(max_rows)

    for _ in range(40):
        pair = neighbour_pair(rng, "replace-one", max_rows)
        coordinates = coordinates_for(pair.schema, rng, bits=int(rng.integers(0, 13)))
        cells = random_cells(rng, coordinates.size, size=2 + coordinates.unit)
        questions = [moment_asked(coordinates, diagonal=True), sums_asked(coordinates, cells, "rows")]
        questions += [sums_asked(coordinates, cells), sums_asked(coordinates, cells, "damped means", damping=3)]
        changes = []
        sources = [code_table(data, pair.schema) for data in (pair.data, pair.neighbour)]
        for question in questions:
            (one, recount), (other, _) = (both_ways(question, source) for source in sources)
            assert np.array_equal(one, recount)
            bound = question.sensitivity("replace-one", max_rows)
            changes.append((np.abs(one - other).sum() <= bound.l1, ((one - other) ** 2).sum() <= bound.l2_squared))
        assert all(map(all, changes))


def test_all_rows_of_a_small_table_have_the_vectors_that_the_audit_finds():
    coordinates = coordinates_of(("line of 5", "line or missing", "list of 2 or missing"), bits=4)

    for row in all_rows(coordinates):
        room_finds, audit_finds = both_ways(sums_asked(coordinates), Rows(coordinates, [row]))
        assert np.array_equal(room_finds, audit_finds)
    assert isinstance(moment_asked(coordinates), SecondMoment)
