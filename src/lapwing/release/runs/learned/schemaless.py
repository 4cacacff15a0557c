"""A release without a schema: what its columns hold is learned with a part of its budget, before its mechanism is run.

Public, and taken as such, are the names of the columns and their types, or the first line of a text file. What a type
does not say is asked: how many cells of a column have each public form, such as a number of two decimals.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Final, NamedTuple, cast

from lapwing.errors import DataError, ParameterError
from lapwing.kernel.budget.budget import Budget, BudgetRequest, Number, read_delta
from lapwing.kernel.codec import SELDOM
from lapwing.kernel.plain import read_key
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.room.curator import Curator
from lapwing.kernel.terms import Relation, Terms
from lapwing.mechanisms.registry import check_mechanism, default_mechanism
from lapwing.model.certificate.certificate import DOMAIN
from lapwing.model.certificate.cost_lines import RequestedBudget
from lapwing.model.certificate.notices import Notice
from lapwing.release.runs.certify import LearnedSchema
from lapwing.release.runs.generators import generator
from lapwing.release.runs.learned.domains import LearnedFields, learned_fields
from lapwing.release.runs.learned.forms import SeenForms, column_of, form_field
from lapwing.release.runs.learned.running import MadeUp
from lapwing.release.runs.learned.settings import opened_schema, shared_out
from lapwing.release.runs.settings import SETTINGS, TableSettings, table_settings
from lapwing.rows.layouts import Column
from lapwing.schema.fields import Field, FieldType
from lapwing.schema.forms import FORMS, TEXT, WHOLE
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.reading import PLAIN_FILE, Dialect
from lapwing.schema.schemas import Schema

SHARE: Final = Fraction(1, 5)
"""The part of the budget that learns; see docs/learn.md."""

_FORMS: Final = Fraction(1, 4)  # what the forms of a column's cells cost, where its bounds cost 1
_LIST: Final = 3  # and what its list costs: a text that is not found is lost, and bounds are never far off

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
            "the table has no column that can be modelled without a schema: lists of texts need a delta; give "
            '--delta 1e-9 (in Python delta="1e-9"), or a schema with the lists',
            code="LW272",
        )

    @property
    def name(self) -> str:
        """What the budget is spent on: the mechanism."""
        return default_mechanism().name

    @property
    def schema(self) -> Schema:
        """Reads any table of these columns; gives the privacy unit, which is a row."""
        guesses = {name: _guess(name, kind, has_texts=True) for name, kind in self.columns.items()}
        return _open_schema(guesses, self.dialect)

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
        for form in (TEXT, WHOLE):
            self._check_where(form, terms)

    def _check_where(self, form: str, terms: Terms) -> None:
        """Refuse what cannot be asked where all cells that have no type are of one form."""
        place = list(FORMS).index(form)

        def open_table(schema: Schema, *_: object) -> AbstractContextManager[Curator]:
            has_forms = any(field.reading.as_form for field in schema.fields)
            return nullcontext(MadeUp(terms, place if has_forms else None))

        learned = learn_schema(self, open_table)
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

    Forms first; then all lists, and all bounds, by `learned_fields`. Booleans need nothing.
    """
    columns, dialect, has_texts = settings.columns, settings.dialect, settings.has_texts
    guesses = {name: _guess(name, kind, has_texts=has_texts) for name, kind in columns.items()}
    asked = [name for name, kind in columns.items() if kind in _ASKED]
    weight = sum(_weight(columns[name], guess) for name, guess in guesses.items())
    tests, budget = settings.learning.split([_FORMS * len(asked), weight or 1])
    seen = _ask_forms(asked, dialect, tests, open_table)
    has_commas = dialect is not None and dialect.delimiter == ";"
    types = guesses | {
        name: column_of(name, columns[name], forms, has_commas=has_commas, has_texts=has_texts)
        for name, forms in seen.items()
    }

    fields = {name: field for name, field in types.items() if field is not None}
    blank = [field for field in fields.values() if field.blank]
    lists, bounds = ([each for each in blank if (each.type == "string") == is_list] for is_list in (True, False))
    costs = budget.split([_LIST * len(lists), len(bounds)]) if blank else ()
    found = [
        _learn_domains(some, dialect, cost, delta, open_table)
        for some, cost, delta in zip((lists, bounds), costs, (settings.selection_delta, Fraction(0)), strict=False)
        if some
    ]
    fields |= {field.name: field for learned in found for field in learned.fields}
    hidden = tuple(name for name, field in fields.items() if field.blank or field.categories == (field.unlisted,))
    statements = (each for learned in found for each in learned.statements)
    notes = [each for learned in found for each in learned.notes]
    empty = {name for name, forms in seen.items() if forms.is_empty}
    empty.update(each.fields["field"] for each in notes if each.code == "unread_as_it_was")
    return LearnedSchema(
        fields=tuple(field for name, field in fields.items() if name not in hidden),
        assumed=(Notice("types_public", {"share": float(settings.share)}),),
        statements=tuple(each for each in statements if each.fields["field"] not in hidden),
        dialect=dialect or PLAIN_FILE,
        notes=(
            *_left_out(columns, types, hidden, empty),
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


Fields = Mapping[str, Field | None]

_ASKED: Final = ("text", "number", "datetime")  # kinds of columns whose forms are counted


def _weight(kind: str, field: Field | None) -> int:
    """Return how much of what learns goes to a column, as far as is known beforehand."""
    if field is None:  # numbers or dates at most, as no list is learned
        return int(kind == "text")
    return _LIST if field.type == "string" else int(field.type != "boolean")


def _guess(name: str, kind: str, *, has_texts: bool) -> Field | None:
    """Return a column of which nothing is asked, its bounds or list still blank; None where it is left out."""
    if kind == "none" or (kind in ("string", "text") and not has_texts):
        return None
    known = "string" if kind == "text" else cast(FieldType, kind)
    return Field(name=name, type=known, provenance="public" if known == "boolean" else "dp")


def _open_schema(fields: Fields, dialect: Dialect | None) -> Schema:
    """Return a schema that any cells of these columns fit."""
    found = {name: field for name, field in fields.items() if field is not None}
    blank = [name for name, field in found.items() if field.blank]
    if blank:
        draft = Schema(fields=tuple(found.values()), is_draft=True)
        found |= {field.name: field for field in opened_schema(draft, blank, {}).fields}
    return Schema(fields=tuple(found.values()), dialect=dialect or PLAIN_FILE)


def _ask_forms(
    names: Sequence[str], dialect: Dialect | None, cost: Budget, open_table: OpenTable
) -> dict[str, SeenForms]:
    """Ask how many cells of each column are of each public form, at equal costs."""
    if not names:
        return {}
    schema = Schema(fields=tuple(map(form_field, names)), dialect=dialect or PLAIN_FILE)
    with open_table(schema, cost, Fraction(0)) as room:
        groupings = [identity(field.domain) for field in schema.fields]
        each = cost / len(names)
        answers = room.ask(
            *(
                MarginalCounts(columns=(name,), groupings=(grouping,), cost=each)
                for name, grouping in zip(names, groupings, strict=True)
            )
        )
    return dict(zip(names, map(SeenForms.of, answers), strict=True))


def _left_out(columns: Columns, types: Fields, hidden: Sequence[str], empty: Set[str]) -> tuple[Notice, ...]:
    """Say which columns are not modelled, and why."""
    left = [name for name, field in types.items() if field is None or name in hidden]
    why = {name: _why(columns[name], types[name], is_empty=name in empty) for name in left}
    codes = ("left_out_type", "left_out_empty", "left_out_texts", "left_out_rare", "left_out_hidden")
    return tuple(
        Notice(code, {"fields": tuple(name for name in left if why[name] == code)})
        for code in codes
        if code in why.values()
    )


def _why(kind: str, field: Field | None, *, is_empty: bool) -> str:
    """Return the code of the reason for which a column is left out."""
    if kind == "none":
        return "left_out_type"
    if is_empty:
        return "left_out_empty"
    if field is None:
        return "left_out_texts"
    return "left_out_rare" if field.type == "string" else "left_out_hidden"
