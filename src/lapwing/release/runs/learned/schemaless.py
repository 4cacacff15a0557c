"""A release without a schema: what its columns hold is learned with a part of its budget, before its mechanism is run.

Public, and taken as such, are the names of the columns and their types. What a type does not say is asked: whether
numbers are whole, and whether the cells of a text file are numbers or dates.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, NamedTuple

import numpy as np

from lapwing.errors import DataError, ParameterError
from lapwing.kernel.budget.budget import Budget, BudgetRequest, Number, read_delta
from lapwing.kernel.plain import read_key
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.room.curator import Curator
from lapwing.kernel.terms import Relation, Terms
from lapwing.mechanisms.registry import check_mechanism, default_mechanism
from lapwing.model.certificate.certificate import DOMAIN
from lapwing.model.certificate.cost_lines import RequestedBudget
from lapwing.model.certificate.notices import Notice
from lapwing.release.runs.certify import LearnedSchema
from lapwing.release.runs.generators import generator
from lapwing.release.runs.learned.domains import LearnedFields, learned_fields
from lapwing.release.runs.learned.running import MadeUp
from lapwing.release.runs.learned.settings import opened_schema, shared_out
from lapwing.release.runs.settings import SETTINGS, TableSettings, table_settings
from lapwing.rows.layouts import Column
from lapwing.schema.fields import Field, FieldType
from lapwing.schema.groupings.grouping import interval_grouping
from lapwing.schema.schemas import Schema

SHARE: Final = Fraction(1, 5)
"""The part of the budget that learns; see docs/learn.md."""

_TEST: Final = Fraction(1, 10)  # what a question about a column's type costs, where its bounds cost 1
_LIST: Final = 3  # and what its list costs: a text that is not found is lost, and bounds are never far off
_SURE: Final = 3  # standard deviations of the noise on both counts
_ODD: Final = Fraction(1, 10)  # the share of cells that may be no whole numbers where all are taken for that

Columns = Mapping[str, Column]

OpenTable = Callable[[Schema, Budget, Fraction], AbstractContextManager[Curator]]
"""Opens a table as a schema reads it, for questions that cost so much, and take so much of δ."""


class _Named(NamedTuple):
    """What a policy knows of the part of a run that learns."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemalessSettings:
    """Everything public that fixes a release without a schema, apart from where it is recorded.

    request: what was asked for, and the budget of all questions; selection_delta: the part of δ that lists of texts
    take; share: the part of the budget that learns.
    """

    document: ClassVar = ("columns", "request", "relation", "expected_rows", "seed", "is_seeded", "share")

    columns: Columns
    request: BudgetRequest
    selection_delta: Fraction
    relation: Relation
    expected_rows: int | None
    seed: int
    is_seeded: bool
    share: Fraction

    linked: ClassVar[None] = None  # it is of one table

    def __post_init__(self) -> None:
        if not 0 <= self.seed < 2**128 or not 0 < self.share < 1:
            raise ParameterError(
                "the seed of a release must be from 0 to 2**128 - 1, the share that learns between 0 and 1",
                code="LW643",
            )
        if self.has_texts or any(kind not in ("string", "none") for kind in self.columns.values()):
            return
        raise DataError(
            "the table has no column that can be modelled without a schema: lists of texts are learned with a delta, "
            "such as 1e-9; give one, or a schema",
            code="LW272",
        )

    @property
    def name(self) -> str:
        """What the budget is spent on: the mechanism."""
        return default_mechanism().name

    @property
    def schema(self) -> Schema:
        """Reads any table of these columns; gives the privacy unit, which is a row."""
        return _open_schema({name: _guess(kind, has_texts=True) for name, kind in self.columns.items()})

    @property
    def parts(self) -> Mapping[str, object]:
        """What learns, and what is released of what was learned."""
        return {DOMAIN: _Named(DOMAIN), "": _Named(self.name)}

    @property
    def learning(self) -> Budget:
        """The part of the budget that learns."""
        return self.request.budget * self.share

    @property
    def has_texts(self) -> bool:
        """Whether lists of texts are learned."""
        return self.selection_delta > 0

    @classmethod
    def from_dict(cls, values: object) -> "SchemalessSettings":
        """Read back what `SETTINGS` wrote."""
        columns = read_key(values, "columns", dict)
        asked = SETTINGS.read(RequestedBudget, read_key(values, "request", dict))
        request, selected = _request(columns, asked.epsilon, asked.delta, asked.rho)
        return SETTINGS.read(cls, values, request=request, selection_delta=selected)

    def under(self, schema: Schema) -> TableSettings:
        """Return the settings of the release that follows once a schema was learned."""
        return table_settings(
            schema,
            None,
            self.request,
            self.relation,
            self.expected_rows,
            seed=self.seed,
            is_seeded=self.is_seeded,
        )

    def check(self, terms: Terms) -> None:
        """Refuse what cannot be asked, by a made-up table."""
        learned = learn_schema(self, lambda *_: nullcontext(MadeUp(terms)))
        left = self.request.budget - self.learning
        hidden = (name for name, kind in self.columns.items() if kind != "none" and name not in learned.names)
        stand_ins = tuple(Field(name=name, type="boolean") for name in hidden)
        used = self.under(Schema(fields=(*learned.fields, *stand_ins)))
        check_mechanism(used.mechanism, used.schema, left, terms, generator(self.seed, "fit"))


def schemaless_settings(
    columns: Columns,
    *,
    epsilon: Number | None,
    delta: Number | None,
    rho: Number | None,
    neighbours: Relation,
    expected_rows: int | None,
    seed: int,
    is_seeded: bool,
    share: Fraction = SHARE,
) -> SchemalessSettings:
    """Check the settings of a release of columns of which names and types are known."""
    request, selected = _request(columns, epsilon, delta, rho)
    terms = Terms(relation=neighbours, expected_rows=expected_rows)
    return SchemalessSettings(
        columns=columns,
        request=request,
        selection_delta=selected,
        relation=terms.relation,
        expected_rows=terms.expected_rows,
        seed=seed,
        is_seeded=is_seeded,
        share=share,
    )


def _request(
    columns: Columns, epsilon: Number | None, delta: Number | None, rho: Number | None
) -> tuple[BudgetRequest, Fraction]:
    """Return the budget, and the part of δ that lists of texts take, if there may be any."""
    texts = [name for name, kind in columns.items() if kind in ("string", "text")]
    return shared_out(epsilon, delta, rho, texts if read_delta(delta) > 0 else [])


def learn_schema(settings: SchemalessSettings, open_table: OpenTable) -> LearnedSchema:
    """Learn what columns hold, and leave out those of which noise hides it: a function of the answers alone.

    Types first, as far as they are not known; then all lists, and all bounds, by `learned_fields`. Booleans need
    nothing.
    """
    columns, has_texts = settings.columns, settings.has_texts
    types = {name: _guess(kind, has_texts=has_texts) for name, kind in columns.items()}
    tested = Counter(columns.values())
    weight = sum(_weight(kind) for name, kind in types.items() if kind is not None or columns[name] == "text")
    tests, budget = settings.learning.split([_TEST * (2 * tested["text"] + tested["number"]), weight or 1])
    types |= _ask_types(columns, tests, open_table)

    fields = {name: _field(name, kind) for name, kind in types.items() if kind is not None}
    blank = [field for field in fields.values() if field.blank]
    lists, bounds = ([each for each in blank if (each.type == "string") == is_list] for is_list in (True, False))
    costs = budget.split([_LIST * len(lists), len(bounds)]) if blank else ()
    found = [
        _learn_domains(some, cost, delta, open_table)
        for some, cost, delta in zip((lists, bounds), costs, (settings.selection_delta, Fraction(0)), strict=False)
        if some
    ]
    fields |= {field.name: field for learned in found for field in learned.fields}
    hidden = tuple(name for name, field in fields.items() if field.blank or field.categories == (field.unlisted,))
    statements = (each for learned in found for each in learned.statements)
    notes = (each for learned in found for each in learned.notes)
    return LearnedSchema(
        fields=tuple(field for name, field in fields.items() if name not in hidden),
        assumed=(Notice("types_public", {"share": float(settings.share)}),),
        statements=tuple(each for each in statements if each.fields["field"] not in hidden),
        notes=(
            *_left_out(columns, types, hidden),
            *(each for each in notes if each.fields["field"] not in hidden),
        ),
    )


def _learn_domains(fields: Sequence[Field], cost: Budget, delta: Fraction, open_table: OpenTable) -> LearnedFields:
    """Learn the lists, or the bounds, of some columns."""
    names, draft = [field.name for field in fields], Schema(fields=tuple(fields), is_draft=True)
    reading = opened_schema(draft, names, {})
    with open_table(reading, cost, delta) as room:
        return learned_fields(room, reading, draft, names, cost, delta, quantile=Fraction(0), dictionaries={})


def _weight(kind: FieldType | None) -> int:
    """Return how much of what learns goes to a column, as far as is known beforehand."""
    return _LIST if kind == "string" else int(kind != "boolean")


def _guess(kind: str, *, has_texts: bool) -> FieldType | None:
    """Return the type of a column of which nothing is asked; None where it is left out."""
    return None if kind == "none" or (kind in ("string", "text") and not has_texts) else _TYPES[kind]


_TYPES: Final[Mapping[str, FieldType]] = {
    **{"boolean": "boolean", "integer": "integer", "number": "number", "date": "date", "datetime": "datetime"},
    **{"string": "string", "text": "string"},
}


def _field(name: str, kind: FieldType) -> Field:
    """Return a column of a type whose bounds or list are to be learned, if it needs any."""
    return Field(name=name, type=kind, provenance="public" if kind == "boolean" else "dp")


def _open_schema(types: Mapping[str, FieldType | None]) -> Schema:
    """Return a schema that any cells of these types fit."""
    fields = tuple(_field(name, kind) for name, kind in types.items() if kind is not None)
    blank = [field.name for field in fields if field.blank]
    found = {field.name: field for field in fields}
    if blank:
        draft = Schema(fields=fields, is_draft=True)
        found |= {field.name: field for field in opened_schema(draft, blank, {}).fields}
    return Schema(fields=tuple(found.values()))


def _ask_types(columns: Columns, budget: Budget, open_table: OpenTable) -> dict[str, FieldType]:
    """Return the types of numbers, and of the columns of text files, as far as answers show them.

    Every column is asked about twice at most, at equal costs. Texts are numbers or dates where most of them surely are;
    numbers are whole numbers only where nearly all surely are, as others would be lost.
    """
    texts = [name for name, kind in columns.items() if kind == "text"]
    numbers = [name for name, kind in columns.items() if kind == "number"]
    cost = budget / max(1, 2 * len(texts) + len(numbers))
    found: dict[str, FieldType] = {}
    are_numbers = [name for name, seen in _ask_kind("number", texts, cost, open_table) if _mostly(seen)]
    found.update((name, "number") for name in are_numbers)
    whole = _ask_kind("integer", [*numbers, *are_numbers], cost, open_table)
    found.update((name, "integer") for name, seen in whole if _nearly_all(seen))
    dates = _ask_kind("date", [name for name in texts if name not in found], cost, open_table)
    found.update((name, "date") for name, seen in dates if _mostly(seen))
    return found


def _ask_kind(
    kind: FieldType, names: Sequence[str], cost: Budget, open_table: OpenTable
) -> Sequence[tuple[str, NoisyCounts]]:
    """Ask how many cells of each column are of a type, and how many are not; empty ones are neither."""
    if not names:
        return ()
    schema = _open_schema(dict.fromkeys(names, kind))
    with open_table(schema, cost * len(names), Fraction(0)) as room:
        whole = {field.name: interval_grouping(field.domain, np.zeros(0, np.int64)) for field in schema.fields}
        answers = room.ask(
            *(MarginalCounts(columns=(name,), groupings=(whole[name],), cost=cost, apart=True) for name in names)
        )
    return tuple(zip(names, answers, strict=True))


def _counts(seen: NoisyCounts) -> tuple[int, int, float]:
    """Return how many cells are of the type, how many are not, and what the noise on both may be."""
    assert seen.misfits is not None
    return int(seen.counts[0]), seen.misfits, _SURE * seen.noise.sd


def _mostly(seen: NoisyCounts) -> bool:
    """Tell whether most cells are surely of the type, and perhaps nearly all."""
    fit, other, noise = _counts(seen)
    return fit > other + noise and other - noise <= _ODD * (fit + other)


def _nearly_all(seen: NoisyCounts) -> bool:
    """Tell whether nearly all cells are surely of the type."""
    fit, other, noise = _counts(seen)
    return other + noise <= _ODD * (fit + other)


def _left_out(columns: Columns, types: Mapping[str, FieldType | None], hidden: Sequence[str]) -> tuple[Notice, ...]:
    """Say which columns are not modelled, and why."""
    why = {
        "left_out_type": [name for name, kind in columns.items() if kind == "none"],
        "left_out_texts": [name for name, kind in types.items() if kind is None and columns[name] != "none"],
        "left_out_rare": [name for name in hidden if types[name] == "string"],
        "left_out_hidden": [name for name in hidden if types[name] != "string"],
    }
    return tuple(Notice(code, {"fields": tuple(names)}) for code, names in why.items() if names)
