"""Learn a domain from noisy answers, write its certificate, and say beforehand, by the noise, what can be found."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from lapwing.errors import SchemaError
from lapwing.kernel.questions.category_selection.question import CategorySelection, SelectedTexts
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.terms import Terms
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.certificate.notices import Notice
from lapwing.release.runs.certify import AnswerCosts, promise_warnings
from lapwing.release.runs.learned.domains import LearnedFields, learned_fields
from lapwing.release.runs.learned.settings import LearnSettings
from lapwing.release.runs.records import Records, Run
from lapwing.release.runs.watching import report_progress
from lapwing.rows.counting import CodedSource
from lapwing.schema.fields import Field
from lapwing.schema.purchases import Purchase
from lapwing.schema.schemas import Schema
from lapwing.version import VERSION


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedDomain:
    """Hold a schema whose blanks were filled in with budget, and what is known about it: all of it may be published.

    schema: as it was given, with the learned bounds and lists; still a draft where anything is open; notes: what was
    not found; noisy: the noisy answers that everything here is computed from.
    """

    schema: Schema
    names: tuple[str, ...]
    notes: tuple[Notice, ...]
    certificate: Certificate
    noisy: tuple[Answer, ...]

    @property
    def open(self) -> tuple[str, ...]:
        """The fields that still lack bounds, categories or a provenance."""
        return tuple(field.name for field in self.schema.columns if _is_open(field))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON values."""
        return {
            "schema": self.schema.to_dict(),
            "fields": list(self.names),
            "notes": [note.text for note in self.notes],
            "certificate": self.certificate.to_dict(),
        }

    def __repr__(self) -> str:
        return f"LearnedDomain({len(self.names)} fields; {self.certificate.total})"


def run_learning(
    source: CodedSource,
    settings: LearnSettings,
    terms: Terms,
    run: Run,
) -> LearnedDomain:
    """Debit, ask, make fields, certify: a task of `Run`, with the rows as the opened schema reads them."""
    budget = settings.request.budget
    _ = outlook(settings, terms)  # what cannot be asked is refused before it is paid for
    answers = list(run.recorded)

    def keep(new: Sequence[Answer]) -> None:
        answers.extend(new)
        report_progress(
            "counting and adding noise", float(sum(each.question.cost.amount for each in answers) / budget.amount)
        )

    room = run.curator(source, settings.schema, terms, budget, watch=keep, delta=settings.selection_delta)
    learned = learned_fields(
        room,
        settings.schema,
        settings.original,
        settings.names,
        budget,
        settings.selection_delta,
        quantile=settings.quantile,
        dictionaries=settings.dictionaries,
    )
    schema = _fill_in(settings, learned, run.records)
    return LearnedDomain(
        schema=schema,
        names=settings.names,
        notes=learned.notes,
        certificate=_certificate(settings, terms, run.records, (tuple(answers), learned, schema)),
        noisy=tuple(answers),
    )


def _is_open(field: Field) -> bool:
    """Tell whether the owner has yet to say something of a field."""
    return bool(field.blank) or field.provenance == "drafted"


def _fill_in(settings: LearnSettings, learned: LearnedFields, records: Records) -> Schema:
    """Return the schema with the learned fields, and with what they cost."""
    original = settings.original
    found = {
        field.name: _as_known(field, original.field(field.name), has_dictionary=field.name in settings.dictionaries)
        for field in learned.fields
    }
    fields = tuple(found.get(field.name, field) for field in original.fields)
    budget = settings.request.budget
    # As debited: what the answers cost may be less, but is itself a function of them.
    purchase = Purchase(
        fields=settings.names,
        notion=budget.notion,
        amount=budget.amount,
        delta=settings.selection_delta,
        relation=settings.relation,
        privacy_unit=original.unit_label,
        release=records.release_id,
        lapwing=VERSION,
    )
    is_open = any(_is_open(field) for field in fields if not field.identifier)
    # Where blanks made it one, it is a draft no more once they are filled in; else that is its owner's matter.
    is_draft = original.is_draft and (is_open or not any(field.blank for field in original.columns))
    paid = replace(original, fields=fields, is_draft=True, purchases=(*original.purchases, purchase))
    try:
        return replace(paid, is_draft=is_draft)
    except SchemaError as error:
        # What was bought is kept, also where rules or public tables name values that were not found.
        question = f"what was learned does not go with the rest of the schema: {error}"
    return replace(paid, questions=(*paid.questions, question))


def _as_known(learned: Field, original: Field, *, has_dictionary: bool) -> Field:
    """Return a learned field: with the half that was known, and assumed still where that, or a list, was assumed."""
    had = original.categories is not None or original.minimum is not None or original.maximum is not None
    if learned == original:
        return learned
    rests_on_more = had or has_dictionary or bool(original.special)
    found = replace(learned, provenance="assumed") if original.provenance == "assumed" and rests_on_more else learned
    if not had:
        return found
    known = {"minimum": original.minimum, "maximum": original.maximum}
    kept: dict[str, Any] = {key: bound for key, bound in known.items() if bound is not None and original.blank}
    try:
        return replace(found, **kept)
    except SchemaError:
        return found  # a range of more values than there are codes: what was learned is inside it


def _certificate(
    settings: LearnSettings, terms: Terms, records: Records, found: tuple[Sequence[Answer], LearnedFields, Schema]
) -> Certificate:
    """Return what was spent on what, and what is known about the result."""
    answers, learned, schema = found
    paid = AnswerCosts.of(answers, terms, settings.request)
    filled = [field for field in map(schema.field, settings.names) if not field.blank]
    return paid.certificate(
        settings.schema,
        terms,
        records,
        mechanism=settings.name,
        public=settings.domain,
        delta=paid.selected,
        assumed_fields=tuple(field.name for field in filled if field.provenance == "assumed"),
        dp_fields=tuple(field.name for field in filled if field.provenance == "dp"),
        expected_rows=None,
        released_rows=0,
        accuracy=learned.statements,
        assumed=(Notice("lists_public"),) if _rests_on_lists(settings) else (),
        warnings=(*learned.notes, *promise_warnings(paid.total, paid.epsilons)),
        purchases=settings.original.purchases,
    )


def _rests_on_lists(settings: LearnSettings) -> bool:
    """Tell whether anything that was learned is inside bounds or lists that the caller says are public."""
    given = map(settings.original.field, settings.names)
    return bool(settings.dictionaries) or any(
        field.provenance != "assumed"
        and (field.categories is not None or field.minimum is not None or field.maximum is not None)
        for field in given
    )


_MANY = 2**55  # rows in the one cell of a made-up table: more than noise hides, and far from the ends of 64 bits


def outlook(settings: LearnSettings, terms: Terms) -> tuple[Notice, ...]:
    """Say what a run would notice, one sentence per field; refuse what cannot be asked.

    Returns what the certificate would say of a made-up table whose rows all lie in one place, fields of one kind
    together.
    """
    learned = learned_fields(
        MadeUp(terms),
        settings.schema,
        settings.original,
        settings.names,
        settings.request.budget,
        settings.selection_delta,
        quantile=Fraction(0),  # the parts that it leaves out are those of the table, whose number of rows is not known
        dictionaries=settings.dictionaries,
    )
    alike: dict[tuple[str, float], list[str]] = {}
    for name, each in zip(settings.names, learned.statements, strict=True):
        code = "list_needs" if each.code == "list_learned" else "ends_cut_off" if settings.quantile else "ends_unseen"
        alike.setdefault((code, each.value or 0.0), []).append(name)
    quantile = {"share": float(settings.quantile)}
    return tuple(
        Notice(code, {"fields": tuple(names), "rows": round(rows), **(quantile if code == "ends_cut_off" else {})})
        for (code, rows), names in alike.items()
    )


@dataclass(frozen=True, slots=True)
class MadeUp:
    """Answer questions about a made-up table: no row is looked at."""

    terms: Terms
    cell: int | None = None  # the one that is huge, where it is known

    def ask(self, *questions: Any) -> tuple[Any, ...]:  # noqa: ANN401 - as the room
        """Answer with no texts, or with counts of which one is huge and all others are 0.

        It stands where it is said to, or where numbers above zero do: nowhere are the cells that noise has to be told
        from as many.
        """
        return tuple(map(self._answer, questions))

    def _answer(self, question: MarginalCounts | CategorySelection) -> NoisyCounts | SelectedTexts:
        noise = question.noise(self.terms.relation, self.terms.max_rows)
        if isinstance(question, CategorySelection):
            threshold = question.threshold(self.terms.relation, self.terms.max_rows)
            return SelectedTexts(question, (), np.zeros(0, dtype=np.int64), noise, threshold)
        counts = np.zeros(question.counted, dtype=np.int64)
        counts.flat[counts.size * 3 // 4 if self.cell is None else self.cell] = _MANY
        return NoisyCounts(question, counts, noise)
