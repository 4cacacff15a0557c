"""Rows of linked tables: those of the first table, then of each other one row by row, given parents and predecessors.

A row of a parent's first place is drawn from the table's model given the parent's columns and numbers of rows; the row
of the next place given that row too. In an ordered table the steps from the row before are drawn first, chosen so that
all rows keep the released table of the order's column (`Pull`), and the rest of the row given where they lead.
Post-processing of released numbers: costs no budget.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np

from lapwing.errors import ParameterError
from lapwing.model.certificate.notices import Notice
from lapwing.model.model import ReleasedModel
from lapwing.model.rows import sample_codes, stand_ins
from lapwing.model.sampling.conditions import ConditionedModel
from lapwing.model.sampling.fixed import points
from lapwing.model.sampling.given_rows import possible_rows, rows_given
from lapwing.model.sampling.keeping import kept_components
from lapwing.release.linked.order import CANDIDATES, Pull, places
from lapwing.release.runs.generators import generator
from lapwing.schema.linked.coded import Lag
from lapwing.schema.linked.database import LinkedTables
from lapwing.schema.linked.tables import LinkedTable

Codes = dict[str, np.ndarray]

_UNITS: Final = 2**16  # of one chunk
_ROWS: Final = 2**17  # drawn at a time
_SPARE: Final = 2**10  # rows that may take the place of those whom rules leave none of their own
_REHEARSALS: Final = 12  # of correcting how much places in an order are wanted, with rows of a pool
_POOL: Final = 2**14
_ROUNDS: Final = 4  # likewise, with rows as they are drawn
_TRIED: Final = 2**12  # of these, about
_CLOSE: Final = 0.03  # what is off by less than this, chance may have moved
_OFF: Final = 0.05  # of the rows up to some place of an order, by which drawn ones may differ untold

_PULLS: WeakKeyDictionary[ReleasedModel, Mapping[str, Pull]] = WeakKeyDictionary()  # by the first table's model


@dataclass(frozen=True, slots=True, eq=False)
class DrawnTable:
    """Rows of a table: codes of its own columns and numbers of rows, and the place of each row's parent."""

    codes: Codes
    parents: np.ndarray

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.parents.size


@dataclass(frozen=True, slots=True, eq=False)
class LinkedRows:
    """Draw rows of linked tables from the models of their parts.

    asked: the model of the first table given a condition, where there is one; pulls: how much places are wanted in
    each table's order, as `settled` finds it.
    """

    linked: LinkedTables
    models: Mapping[str, ReleasedModel]
    asked: ConditionedModel | None
    pulls: Mapping[str, Pull]

    @classmethod
    def settled(
        cls, linked: LinkedTables, models: Mapping[str, ReleasedModel], asked: ConditionedModel | None = None
    ) -> "LinkedRows":
        """Return rows that keep the released table of each order's column, as far as they can.

        Some rows are drawn, and what they have too few of is wanted more, again and again: a function of the models.
        """
        first = models[linked.names[0]]
        if first not in _PULLS:
            _PULLS[first] = cls(linked, models, None, {})._settled_pulls()
        return cls(linked, models, asked, _PULLS[first])

    def _settled_pulls(self) -> Mapping[str, Pull]:
        """Return the pulls whose rows were closest to the released tables."""
        rng = generator(0, "pull")
        pulls = {
            table.name: self._rehearsed(table, lag, rng)
            for table, lag in ((table, self.linked.lag(table.name)) for table in self.linked.tables)
            if lag is not None and lag.gap is not None
        }
        if not pulls:
            return pulls
        first, rows = self.models[self.linked.names[0]].rows, max(self.models[name].rows for name in pulls)
        units = max(1, min(_TRIED, _TRIED * first // max(rows, 1)))
        best = pulls
        for _ in range(_ROUNDS):
            (drawn,) = replace(self, pulls=pulls).chunks(units, rng)
            codes = {name: drawn[name].codes[pull.by.name] for name, pull in pulls.items()}
            measured = {name: pull.measured(codes[name]) for name, pull in pulls.items()}
            best = {name: min(best[name], pull, key=lambda each: each.off) for name, pull in measured.items()}
            if all(pull.off < _CLOSE for pull in best.values()):
                break
            pulls = {name: pull.corrected(codes[name]) for name, pull in pulls.items()}
        return best

    def _rehearsed(self, table: LinkedTable, lag: Lag, rng: np.random.Generator) -> Pull:
        """Return a pull for rows that are put together from rows of a table's model with the same numbers: a start."""
        assert table.order is not None
        coded, model = self.linked.coded[table.name], self.models[table.name]
        pull = Pull.of(model, table.order, coded.field(table.order.by), coded.field(lag.gap or ""))
        (pool,) = sample_codes(model, coded, _POOL, rng, chunk=_POOL)
        by, gaps = pool[pull.by.name], pool[pull.gap.name]
        goes_on = (by < pull.by.domain.values) & ((gaps < pull.gap.domain.values) | (pool[lag.number] == 0))
        number = np.where(goes_on, pool[lag.number], table.max_rows)  # only rows with a place
        rows = [np.flatnonzero(number == place) for place in range(table.max_rows)]
        left = pool[lag.left][rows[0]]
        for _ in range(_REHEARSALS if left.size else 0):
            several = rng.choice(rows[0], (left.size, CANDIDATES))
            chosen = pull.first(by[several], np.zeros(several.shape, dtype=bool), rng)
            codes = [by[several[np.arange(left.size), chosen]].astype(np.int64)]
            for place, next_rows in enumerate(rows[1:], 1):
                here = codes[-1][left[left >= place - 1] >= place]
                if not here.size or not next_rows.size:
                    break
                several = rng.choice(next_rows, (here.size, CANDIDATES))
                here = places(here, pull.by.domain.values, pull.order)
                codes.append(pull.next(here, gaps[several], rng)[1])
            pull = pull.corrected(np.concatenate(codes))
        return pull

    @property
    def _first(self) -> ConditionedModel:
        return self.asked or ConditionedModel(self.models[self.linked.names[0]], is_matched=True)

    def chunks(self, units: int, rng: np.random.Generator) -> Iterator[dict[str, DrawnTable]]:
        """Yield all tables of some units at a time; parents are numbered within the chunk."""
        for codes in self._drawn_units(units, rng, _UNITS):
            yield self._families(codes, rng)

    def _drawn_units(self, n: int, rng: np.random.Generator, chunk: int) -> Iterator[Codes]:
        """Yield rows of the first table."""
        first, schema = self._first, self.linked.coded[self.linked.names[0]]
        return sample_codes(first.model, schema, n, rng, chunk=chunk, is_matched=first.is_matched)

    def _families(self, units: Codes, rng: np.random.Generator) -> dict[str, DrawnTable]:
        """Return the rows of all tables that belong to some rows of the first one."""
        firsts, is_lost = self._first_rows(units, rng)
        if is_lost.any():
            # Rules may leave a row of the first table none of another. Each such search takes long.
            units = self._with_rows(units, rng)
            firsts, _ = self._first_rows(units, rng)
        found = {self.linked.names[0]: DrawnTable(units, np.full(_height(units), -1))}
        for name in self.linked.names[1:]:
            found[name] = self._of_parents(name, found, firsts.get(name), rng)
        return found

    # -- Rows of the first table, all of which can have rows in the others.

    def _first_rows(self, units: Codes, rng: np.random.Generator) -> tuple[dict[str, "_Step"], np.ndarray]:
        """Draw the first row of each unit in each child table of the first; tell which units rules leave none."""
        is_lost = np.zeros(_height(units), dtype=bool)
        firsts = {}
        above = {self.linked.names[0]: DrawnTable(units, np.full(is_lost.size, -1))}
        for table in self.linked.below(self.linked.names[0]):
            step = self._step(table, above, np.flatnonzero(units[table.count] > 0), None, rng)
            is_lost[step.owners[step.is_lost]] = True
            firsts[table.name] = step
        return firsts, is_lost

    def _with_rows(self, units: Codes, rng: np.random.Generator) -> Codes:
        """Return units from their law given that there can be such rows: some are replaced by others."""
        schema = self.linked.coded[self.linked.names[0]]
        (spare,) = self._drawn_units(_SPARE, rng, _SPARE)
        pool = {name: np.concatenate((codes, spare[name])) for name, codes in units.items()}
        _, is_lost = self._first_rows(pool, rng)
        if is_lost.all() and self.asked is not None:
            raise ParameterError(
                f"rules leave none of {is_lost.size} rows of {self.linked.names[0]} that match where rows of the other "
                "tables; ask for a wider condition",
                code="LW322",
            )
        if is_lost.all():
            return self._whose_rows_are_known(is_lost.size - _SPARE, rng)
        chosen = stand_ins(schema, pool, is_lost, rng)[: is_lost.size - _SPARE]
        return {name: codes[chosen] for name, codes in pool.items()}

    def _whose_rows_are_known(self, n: int, rng: np.random.Generator) -> Codes:
        """Return units who have what the rules tie to their rows from an atom of the second table's model.

        For budgets so small that the two models have no family in common.
        """
        first, second = self.linked.names[:2]
        model = self.models[second]
        names = {called: column for (_, column), called in self.linked.given_names(second).items()}
        kept = kept_components(model, self.linked.coded[second])
        tied = [name for component in kept for name in component.columns if name in names]
        atoms = rng.choice(model.atoms, n, p=model.weights / model.weights.sum())
        given = {names[name]: codes[atoms] for name, codes in points(model, tied).items()}
        return rows_given(self.models[first], self.linked.coded[first], given, rng).codes

    # -- Rows of the other tables.

    def _of_parents(
        self, name: str, found: Mapping[str, DrawnTable], first: "_Step | None", rng: np.random.Generator
    ) -> DrawnTable:
        """Draw the rows of a table for the rows of its parent, place by place."""
        table = self.linked.table(name)
        counts = found[table.parent or ""].codes[table.count]
        steps: list[_Step] = []
        for place in range(int(counts.max(initial=0))):
            if place == 0 and first is not None:
                step = first
            else:
                # Where rules left a row no place, the rows of its parent end before it.
                going = steps[-1].owners[~steps[-1].is_lost] if steps else np.arange(counts.size)
                step = self._step(table, found, going[counts[going] > place], steps[-1] if steps else None, rng)
            steps.append(step)
        names = [field.name for field in table.schema.columns]
        owners = np.concatenate([np.empty(0, np.int64), *(step.owners[~step.is_lost] for step in steps)])
        order = np.argsort(owners, kind="stable")
        codes = {
            each: np.concatenate(
                [
                    np.empty(0, table.schema.field(each).domain.dtype),
                    *(step.codes[each][~step.is_lost] for step in steps),
                ]
            )[order]
            for each in names
        }
        return DrawnTable(codes, owners[order])

    def _step(
        self,
        table: LinkedTable,
        found: Mapping[str, DrawnTable],
        owners: np.ndarray,
        before: "_Step | None",
        rng: np.random.Generator,
    ) -> "_Step":
        """Draw the next row of some rows of the parent; `before` has the rows before, of these owners and others."""
        given = self._above(table.name, found, owners)
        place = 0 if before is None else before.place + 1
        lag = self.linked.lag(table.name)
        if lag is not None:
            given = self._lagged(table, lag, given, place)
            counts = found[table.parent or ""].codes[table.count][owners].astype(np.int64)
            given[lag.left] = counts - place - 1
            if before is not None:
                rows = np.searchsorted(before.owners, owners)
                previous = {column: codes[rows] for column, codes in before.codes.items()}
                given |= {called: previous[column] for column, called in lag.previous.items()}
                given |= {called: previous[lag.previous[column]] for column, called in lag.second.items()}
                given = self._gone_on(table, lag, given, previous, rng)
        pull = self.pulls.get(table.name) if before is None else None
        if pull is None:
            codes, is_lost = self._drawn(table.name, given, owners.size, rng)
            return _Step(owners, codes, is_lost, place)
        codes, is_lost = self._candidates(table.name, given, rng)
        chosen = pull.first(codes[pull.by.name], is_lost, rng)
        every = np.arange(owners.size)
        return _Step(owners, {name: each[every, chosen] for name, each in codes.items()}, is_lost[every, chosen], place)

    def _lagged(self, table: LinkedTable, lag: Lag, given: Codes, place: int) -> Codes:
        """Return what is given with the place of rows, as if there were no row before."""
        coded = self.linked.coded[table.name]
        none = {name: coded.field(name).domain.last for name in lag.names} | {lag.number: place}
        height = _height(given)
        return given | {name: np.full(height, code) for name, code in none.items()}

    def _gone_on(
        self, table: LinkedTable, lag: Lag, given: Codes, before: Mapping[str, np.ndarray], rng: np.random.Generator
    ) -> Codes:
        """Return what is given with the steps to the next row, and where in the order they lead."""
        if lag.gap is None or table.order is None:
            return given
        by, gaps = table.schema.field(table.order.by).domain, self.linked.coded[table.name].field(lag.gap).domain
        here = places(before[table.order.by], by.values, table.order)
        known = {name: codes for name, codes in given.items() if name != lag.gap}
        gap, there = np.full(here.size, gaps.values), before[table.order.by].astype(np.int64)
        going = np.flatnonzero(here < by.values)  # rows without a place come last
        drawn, _ = self._candidates(table.name, {name: codes[going] for name, codes in known.items()}, rng)
        pull = self.pulls[table.name]
        gap[going], there[going] = pull.next(here[going], drawn[lag.gap], rng)
        return {**known, lag.gap: gap, table.order.by: there}

    def _above(self, name: str, found: Mapping[str, DrawnTable], owners: np.ndarray) -> Codes:
        """Return the codes of the rows above, under their names in a table's coded rows."""
        given: Codes = {}
        names, rows = self.linked.given_names(name), owners
        for above in self.linked.above(name):
            drawn = found[above.name]
            given |= {called: drawn.codes[column][rows] for (of, column), called in names.items() if of == above.name}
            rows = drawn.parents[rows]
        return given

    def _candidates(self, name: str, given: Codes, rng: np.random.Generator) -> tuple[Codes, np.ndarray]:
        """Draw several rows for each that is given: (n, c); tell which of them rules leave no place."""
        n = _height(given)
        codes, is_lost = self._drawn(
            name, {column: np.repeat(each, CANDIDATES) for column, each in given.items()}, n * CANDIDATES, rng
        )
        return {column: each.reshape(n, CANDIDATES) for column, each in codes.items()}, is_lost.reshape(n, CANDIDATES)

    def _drawn(self, name: str, given: Codes, n: int, rng: np.random.Generator) -> tuple[Codes, np.ndarray]:
        """Draw one row for each that is given; tell which of them rules leave no place."""
        coded, model = self.linked.coded[name], self.models[name]
        parts: dict[str, list[np.ndarray]] = {field.name: [np.empty(0, field.domain.dtype)] for field in coded.columns}
        lost = [np.empty(0, dtype=bool)]
        for start in range(0, n, _ROWS):
            part = {column: codes[start : start + _ROWS] for column, codes in given.items()}
            drawn, is_lost = possible_rows(model, coded, part, rng)
            lost.append(is_lost)
            for column, codes in parts.items():
                codes.append(drawn.codes[column])
        return {column: np.concatenate(codes) for column, codes in parts.items()}, np.concatenate(lost)


def order_warnings(linked: LinkedTables, models: Mapping[str, ReleasedModel]) -> dict[str, tuple[Notice, ...]]:
    """Say of which tables rows that follow one another do not keep the counts of the column they are in order of."""
    pulls = LinkedRows.settled(linked, models).pulls
    return {
        name: (Notice("order_not_kept", {"column": pull.by.name, "share": pull.off}),) if pull.off > _OFF else ()
        for name, pull in pulls.items()
    }


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """The rows of one place: their parents, increasing; their codes; and which of them rules leave no place."""

    owners: np.ndarray
    codes: Codes
    is_lost: np.ndarray
    place: int


def _height(codes: Codes) -> int:
    return next(iter(codes.values())).size
