"""The public tree of cells over mixed columns against brute force, its limits, and what a budget buys."""

from fractions import Fraction

import pytest

from helpers.cases import spread
from lapwing.errors import CapacityError
from lapwing.kernel.budget.budget import Budget
from lapwing.mechanisms.shared.trees.cell_levels import epsilon_of
from lapwing.mechanisms.trees.kd_tree.cells import halving_tree
from lapwing.schema.groupings.hierarchies import diameters, hierarchy
from lapwing.schema.schemas import Schema

NEEDED = {"required": True}
FIELDS = {
    "x": {"type": "number", "constraints": {"minimum": 0, "maximum": 1, **NEEDED}},
    "optional": {"type": "number", "constraints": {"minimum": -5, "maximum": 3}, "special": [99, 98]},
    "few": {"type": "integer", "constraints": {"minimum": 0, "maximum": 6, **NEEDED}},
    "many": {"type": "integer", "constraints": {"minimum": 0, "maximum": 999}},
    "day": {"type": "date", "constraints": {"minimum": "2020-01-01", "maximum": "2020-12-31", **NEEDED}},
    "income": {"type": "integer", "constraints": {"minimum": -20, "maximum": 5000}, "scale": "log"},
    "flag": {"type": "boolean", "constraints": NEEDED},
    "kind": {"type": "string", "categories": ["a", "b", "c", "d", "e"]},
    "sole": {"type": "string", "categories": ["a"], "constraints": NEEDED},
    "code": {
        "type": "string",
        "categories": ["b12", "a11", "b22", "a12", "b11"],
        "hierarchy": {"prefixes": [1, 2]},
        "constraints": NEEDED,
    },
}
TABLES = [
    ("x",),
    ("x", "few"),
    ("few", "x"),
    ("x", "many", "day"),
    ("optional", "kind"),
    ("income", "x"),
    ("flag", "sole", "code"),
    ("sole",),
    tuple(FIELDS),
]


def schema_of(*names):
    return Schema.from_dict({"fields": [{"name": name, **FIELDS[name]} for name in names]})


def edges_of(domain):
    """Return the longest run of each level of a column, measured run by run."""
    nested = hierarchy(domain, 15)
    return [float(diameters(nested, domain, level).max()) for level in range(nested.depth + 1)]


def brute_force(schema, fine, coarse):
    """Cut cell by cell as the specification says: in turn, the columns that are too long, until none is."""
    edges = [edges_of(column.domain) for column in schema.columns]
    depths, schedule, first = [0] * len(edges), [], None
    while True:
        lengths = [each[depth] for each, depth in zip(edges, depths, strict=True)]
        if first is None and max(lengths) <= coarse:
            first = len(schedule)
        too_long = [place for place, length in enumerate(lengths) if length > fine]
        if not too_long:
            return tuple(schedule), len(schedule) if first is None else first, depths
        place = min(too_long, key=lambda place: (depths[place], place))
        depths[place] += 1
        schedule.append(place)


@spread(
    ("names", TABLES), (("fine", "coarse"), [(1, 1), (0.5, 1), (0.3, 0.3), (0.1, 0.5), (0.02, 0.26), (0.004, 0.004)])
)
def test_the_schedule_and_the_first_level_are_those_of_brute_force(names, fine, coarse):
    schema = schema_of(*names)

    tree = halving_tree(schema, fine, coarse)

    schedule, first, depths = brute_force(schema, fine, coarse)
    assert tree.schedule == schedule
    assert tree.first == first
    assert [nested.depth for nested in tree.hierarchies] == depths
    assert tree.columns == names
    assert not tree.is_split


@pytest.mark.parametrize("names", TABLES, ids="-".join)
@pytest.mark.parametrize(("fine", "coarse"), [(0.2, 0.5), (0.05, 0.1)])
def test_no_cell_of_the_last_level_is_longer_than_fine_and_none_of_the_first_than_coarse(names, fine, coarse):
    schema = schema_of(*names)

    tree = halving_tree(schema, fine, coarse)

    for level, longest in ((tree.first, coarse), (tree.depth, fine)):
        for nested, depth, column in zip(tree.hierarchies, tree.depths(level), schema.columns, strict=True):
            assert diameters(nested, column.domain, depth).max() <= longest
    if tree.first:
        above = [
            diameters(nested, column.domain, depth).max()
            for nested, depth, column in zip(tree.hierarchies, tree.depths(tree.first - 1), schema.columns, strict=True)
        ]
        assert max(above) > coarse


def test_columns_are_cut_in_turn_while_they_are_equally_long():
    tree = halving_tree(schema_of("x", "many", "day"), 0.25, 0.5)

    assert tree.schedule[:3] == (0, 1, 2)
    assert tree.schedule[3:6] == (0, 1, 2)


def test_missing_and_special_values_are_the_first_cut_of_their_column():
    tree = halving_tree(schema_of("optional"), 0.5, 1.0)

    (nested,) = tree.hierarchies
    assert nested.starts(1).tolist() == [0, 2**32]
    assert nested.starts(2).tolist() == [0, 2**31, 2**32, 2**32 + 1]


def test_a_column_that_would_be_cut_too_often_is_named():
    with pytest.raises(
        CapacityError, match="column 'x' would be cut 32 times to reach an edge of 1e-10, above 20; use a longer edge"
    ):
        halving_tree(schema_of("few", "x"), 1e-10, 1.0)


def test_a_tree_with_too_many_levels_is_refused():
    columns = [{"name": f"x{i}", **FIELDS["x"]} for i in range(256)]

    with pytest.raises(CapacityError, match="a tree over 256 columns would have 4352 levels, above 4096; use a longer"):
        halving_tree(Schema.from_dict({"fields": columns}), 2**-17, 1.0)


@pytest.mark.parametrize("epsilon", ["1e-9", "0.3", 7, "1e9"])
def test_a_pure_budget_is_its_own_epsilon(epsilon):
    assert epsilon_of(Budget.pure(epsilon)) == Fraction(str(epsilon))


@pytest.mark.parametrize("rho", ["1e-12", "0.001", "0.125", "0.3", 2, "12345.678", "1e6"])
def test_a_zcdp_budget_buys_the_root_of_twice_itself_rounded_down_to_six_digits(rho):
    epsilon = epsilon_of(Budget.zcdp(rho))

    exact = Fraction(str(rho))
    assert epsilon**2 / 2 <= exact < (epsilon * (1 + Fraction(1, 10**5))) ** 2 / 2
    assert len(str(epsilon.numerator)) <= 7


def test_six_digits_are_not_lost_where_a_budget_is_divided():
    whole = Budget.zcdp("0.7")

    parts = [epsilon_of(whole * share) for share in (Fraction(1, 3), Fraction(2, 3))]

    assert sum(part**2 / 2 for part in parts) <= whole.rho
    assert sum(part**2 / 2 for part in parts) > whole.rho * Fraction(99999, 100000)
