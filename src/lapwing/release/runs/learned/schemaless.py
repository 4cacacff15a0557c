"""A release without a schema: what its columns hold is learned with a part of its budget, before its mechanism is run.

Public, and taken as such, are the names of the columns and their types, or the first line of a text file. What a type
does not say is asked: whether numbers are whole, and whether the cells of a text file are numbers or dates, and which.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Final, NamedTuple

import numpy as np

from lapwing.errors import DataError, ParameterError
from lapwing.kernel.budget.budget import Budget, BudgetRequest, Number, read_delta
from lapwing.kernel.codec import SELDOM
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
from lapwing.schema.reading import PLAIN, PLAIN_FILE, Dialect, Reading
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

    dialect: how a text file is written, None of other tables; request: what was asked for, and the budget of all
    questions; selection_delta: the part of δ that lists of texts take; share: the part of the budget that learns.
    """

    document: ClassVar = ("columns", "dialect", "request", "relation", "expected_rows", "seed", "is_seeded", "share")

    columns: Columns
    dialect: Dialect | None = field(default=None, metadata=SELDOM)
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
        return _open_schema({name: _guess(kind, has_texts=True) for name, kind in self.columns.items()}, self.dialect)

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
    dialect: Dialect | None = None,
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
        dialect=dialect,
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
    weight = sum(_weight(form) for name, form in types.items() if form is not None or columns[name] == "text")
    tests, budget = settings.learning.split([_TEST * _most_questions(columns, settings.dialect), weight or 1])
    types |= _ask_types(columns, settings.dialect, tests, open_table)

    fields = {name: _field(name, form) for name, form in types.items() if form is not None}
    blank = [field for field in fields.values() if field.blank]
    lists, bounds = ([each for each in blank if (each.type == "string") == is_list] for is_list in (True, False))
    costs = budget.split([_LIST * len(lists), len(bounds)]) if blank else ()
    found = [
        _learn_domains(some, settings.dialect, cost, delta, open_table)
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
        dialect=settings.dialect or PLAIN_FILE,
        notes=(
            *_left_out(columns, types, hidden),
            *(each for each in notes if each.fields["field"] not in hidden),
        ),
    )


def _learn_domains(
    fields: Sequence[Field], dialect: Dialect | None, cost: Budget, delta: Fraction, open_table: OpenTable
) -> LearnedFields:
    """Learn the lists, or the bounds, of some columns."""
    names = [field.name for field in fields]
    draft = Schema(fields=tuple(fields), is_draft=True, dialect=dialect or PLAIN_FILE)
    reading = opened_schema(draft, names, {})
    with open_table(reading, cost, delta) as room:
        return learned_fields(room, reading, draft, names, cost, delta, quantile=Fraction(0), dictionaries={})


class _Form(NamedTuple):
    """What the cells of a column are, and how they are written."""

    kind: FieldType
    reading: Reading = PLAIN


Forms = Mapping[str, _Form | None]

_COMMA: Final = Reading(decimal_char=",")
_FORMS: Final[Mapping[str, _Form]] = {
    **{kind: _Form(kind) for kind in ("boolean", "integer", "number", "date", "datetime", "string")},
    "text": _Form("string"),
}
_DATES: Final = (_Form("date"), _Form("date", Reading(date_format="%d.%m.%Y")))
_DAY_OR_MONTH_FIRST: Final = tuple(_Form("date", Reading(date_format=each)) for each in ("%d/%m/%Y", "%m/%d/%Y"))


def _numbers(dialect: Dialect | None) -> tuple[_Form, ...]:
    """Return the forms of numbers that texts may have: a comma that parts cells is in none."""
    has_commas = dialect is not None and dialect.delimiter is not None
    return (_Form("number"), _Form("number", _COMMA)) if has_commas else (_Form("number"),)


def _dates(dialect: Dialect | None) -> tuple[_Form, ...]:
    """Return the forms of dates that texts may have; what is no text file has those of its library."""
    return _DATES[:1] if dialect is None else (*_DATES, *_DAY_OR_MONTH_FIRST)


def _most_questions(columns: Columns, dialect: Dialect | None) -> int:
    """Return how many questions all types may take, at equal costs."""
    tested = Counter(columns.values())
    return (len(_numbers(dialect)) + len(_dates(dialect))) * tested["text"] + tested["number"]


def _weight(form: _Form | None) -> int:
    """Return how much of what learns goes to a column, as far as is known beforehand."""
    if form is None:  # numbers or dates at most, as no list is learned
        return 1
    return _LIST if form.kind == "string" else int(form.kind != "boolean")


def _guess(kind: str, *, has_texts: bool) -> _Form | None:
    """Return the form of a column of which nothing is asked; None where it is left out."""
    return None if kind == "none" or (kind in ("string", "text") and not has_texts) else _FORMS[kind]


def _field(name: str, form: _Form) -> Field:
    """Return a column of a form whose bounds or list are to be learned, if it needs any."""
    is_known = form.kind == "boolean"
    return Field(name=name, type=form.kind, reading=form.reading, provenance="public" if is_known else "dp")


def _open_schema(forms: Forms, dialect: Dialect | None) -> Schema:
    """Return a schema that any cells of these forms fit."""
    fields = tuple(_field(name, form) for name, form in forms.items() if form is not None)
    blank = [field.name for field in fields if field.blank]
    found = {field.name: field for field in fields}
    if blank:
        draft = Schema(fields=fields, is_draft=True)
        found |= {field.name: field for field in opened_schema(draft, blank, {}).fields}
    return Schema(fields=tuple(found.values()), dialect=dialect or PLAIN_FILE)


def _ask_types(columns: Columns, dialect: Dialect | None, budget: Budget, open_table: OpenTable) -> dict[str, _Form]:
    """Return the forms of numbers, and of the columns of text files, as far as answers show them.

    Texts are numbers or dates where most of them surely are; numbers are whole only where nearly all surely are, as
    others would be lost. Dates that may have the day first as well as the month are left as texts.
    """
    texts = [name for name, kind in columns.items() if kind == "text"]
    numbers = [name for name, kind in columns.items() if kind == "number"]
    cost = budget / max(1, _most_questions(columns, dialect))

    def seen_as(form: _Form, names: Sequence[str]) -> dict[str, NoisyCounts]:
        return _ask_form(dict.fromkeys(names, form), dialect, cost, open_table)

    found: dict[str, _Form] = {}
    fits: dict[str, int] = {}
    for form in _numbers(dialect):
        for name, seen in seen_as(form, texts).items():
            if _mostly(seen) and _counts(seen)[0] > fits.get(name, 0):
                found[name], fits[name] = form, _counts(seen)[0]
    asked = {**dict.fromkeys(numbers, _FORMS["number"]), **found}
    whole = _ask_form({name: _Form("integer", form.reading) for name, form in asked.items()}, dialect, cost, open_table)
    found |= {name: _Form("integer", asked[name].reading) for name, seen in whole.items() if _nearly_all(seen)}
    dates: dict[str, list[_Form]] = {name: [] for name in texts if name not in found}
    for form in _dates(dialect):
        unknown = [name for name, forms in dates.items() if {*forms} <= {*_DAY_OR_MONTH_FIRST}]
        for name, seen in seen_as(form, unknown).items():
            dates[name] += [form] if _mostly(seen) else []
    return found | {name: forms[0] for name, forms in dates.items() if len(forms) == 1}


def _ask_form(
    forms: Mapping[str, _Form], dialect: Dialect | None, cost: Budget, open_table: OpenTable
) -> dict[str, NoisyCounts]:
    """Ask how many cells of each column are of a form, and how many are not; empty ones are neither."""
    if not forms:
        return {}
    schema = _open_schema(forms, dialect)
    with open_table(schema, cost * len(forms), Fraction(0)) as room:
        whole = {field.name: interval_grouping(field.domain, np.zeros(0, np.int64)) for field in schema.fields}
        answers = room.ask(
            *(MarginalCounts(columns=(name,), groupings=(whole[name],), cost=cost, apart=True) for name in forms)
        )
    return dict(zip(forms, answers, strict=True))


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


def _left_out(columns: Columns, types: Forms, hidden: Sequence[str]) -> tuple[Notice, ...]:
    """Say which columns are not modelled, and why."""
    why = {
        "left_out_type": [name for name, kind in columns.items() if kind == "none"],
        "left_out_texts": [name for name, form in types.items() if form is None and columns[name] != "none"],
        "left_out_rare": [name for name in hidden if types[name] == _FORMS["string"]],
        "left_out_hidden": [name for name in hidden if types[name] != _FORMS["string"]],
    }
    return tuple(Notice(code, {"fields": tuple(names)}) for code, names in why.items() if names)
