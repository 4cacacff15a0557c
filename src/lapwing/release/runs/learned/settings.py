"""The settings of a learned domain, checked before any row is read, and the schema that rows are read by."""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Final, cast

from lapwing.errors import ParameterError, SchemaError
from lapwing.kernel.budget.budget import BudgetRequest, Number, exact_number, read_delta, read_request
from lapwing.kernel.terms import Relation, Terms
from lapwing.model.certificate.certificate import DOMAIN
from lapwing.release.runs.learned.domains import needs_selection
from lapwing.schema.checks import check_categories, field_error
from lapwing.schema.fields import Field
from lapwing.schema.groupings.category_trees import Prefixes
from lapwing.schema.purchases import MOST_PURCHASES
from lapwing.schema.scalars import quote
from lapwing.schema.schemas import Schema
from lapwing.schema.typed import read_content, text_of
from lapwing.schema.values import any_value

_MOST_QUANTILE: Final = Fraction(1, 4)

_not_learned = partial(ParameterError, code="LW271")
_no_dictionary = partial(ParameterError, code="LW361")

Dictionaries = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnSettings:
    """Everything public that fixes what is learned, apart from where it is recorded.

    schema: the opened schema that rows are read by: only the fields to learn, and the privacy unit's; quantile: the
    part of the rows that may lie beyond each bound, below 1/4; request: what was asked for, and the budget that all
    questions share; its ``delta`` is the whole one; selection_delta: what the deltas of all selections may sum to; 0
    where none is needed.
    """

    document: ClassVar = (DOMAIN, "original", "request", "selection_delta", "relation")

    original: Schema = field(metadata={"key": "schema"})
    schema: Schema
    names: tuple[str, ...]
    dictionaries: Dictionaries
    quantile: Fraction
    request: BudgetRequest
    selection_delta: Fraction
    relation: Relation

    name = DOMAIN  # what the budget is spent on
    expected_rows = None  # no guess of the number of rows is of use here

    @property
    def parts(self) -> Mapping[str, "LearnSettings"]:
        """The settings of its one table."""
        return {"": self}

    @property
    def domain(self) -> dict[str, Any]:
        """What was asked for, beside schema and budget, as plain JSON values: the certificate's settings."""
        return {
            "fields": list(self.names),
            "quantile": str(self.quantile),
            "dictionaries": {
                name: {"texts": len(texts), "sha256": hashlib.sha256(json.dumps(list(texts)).encode()).hexdigest()}
                for name, texts in self.dictionaries.items()
            },
        }


def read_learn_settings(
    schema: object,
    *,
    epsilon: Number | None,
    delta: Number | None,
    rho: Number | None,
    fields: object,
    dictionaries: object,
    quantile: Number,
    neighbours: str,
) -> LearnSettings:
    """Check the settings of `lapwing.Schema.learn`; see there for their meaning."""
    original = Schema.load_draft(cast("Any", schema))
    original.check_answered()
    if len(original.purchases) >= MOST_PURCHASES:
        raise ParameterError(
            f"the schema records {MOST_PURCHASES} runs of learn, the most that a file holds; learn more fields at once",
            code="LW270",
        )
    names = _checked_names(fields, original)
    learned = [original.field(name) for name in names]
    texts = _read_dictionaries(dictionaries, original, names)
    selecting = [field.name for field in learned if needs_selection(field, texts)]
    request, selection_delta = shared_out(epsilon, delta, rho, selecting)
    relation = Terms(relation=cast("Relation", neighbours), max_rows=original.max_rows).relation
    return LearnSettings(
        original=original,
        schema=opened_schema(original, names, texts),
        names=names,
        dictionaries=texts,
        quantile=_checked_quantile(quantile),
        request=request,
        selection_delta=selection_delta,
        relation=relation,
    )


def _checked_names(fields: object, schema: Schema) -> tuple[str, ...]:
    """Return the fields to learn: those that are named, or all that are blank."""
    if fields is None:
        blank = tuple(field.name for field in schema.columns if field.blank)
        if not blank:
            raise _not_learned(
                "no field of the schema is blank, so that there is nothing to learn; name fields whose bounds or "
                "categories are to be narrowed"
            )
        return _checked(blank, schema)
    listed = (fields,) if isinstance(fields, str) else fields
    is_list = isinstance(listed, Sequence) and all(isinstance(name, str) for name in listed)
    if not is_list or not listed:
        raise ParameterError(
            "fields must be a list of names of fields; leave it out for all that are blank", code="LW304"
        )
    names = tuple(dict.fromkeys(cast("Sequence[str]", listed)))
    return _checked(names, schema)


def _checked(names: tuple[str, ...], schema: Schema) -> tuple[str, ...]:
    """Refuse the field that names the privacy units, by which rows are cut, and types that a program has chosen."""
    unit = schema.privacy_unit
    if unit is not None and unit.field in names:
        raise _not_learned(
            f"field {quote(unit.field)}: it names the privacy units, and their names are not learned; give it the role "
            "identifier, or its bounds or categories from public knowledge"
        )
    drafted = [name for name in names if schema.field(name).provenance == "drafted"]
    if drafted:
        raise ParameterError(
            f"field {quote(drafted[0])}: its provenance is still drafted; check its type, role and missing values from "
            'public knowledge, and write "provenance": "dp" in each field that is to be learned',
            code="LW203",
        )
    return names


def _read_dictionaries(dictionaries: object, schema: Schema, names: Sequence[str]) -> Dictionaries:
    """Return the texts of each dictionary, distinct and in order."""
    if dictionaries is None:
        return {}
    if not isinstance(dictionaries, Mapping):
        raise _no_dictionary(
            "dictionaries must be a mapping from names of fields to lists of texts, or to files with one text a line"
        )
    found: dict[str, tuple[str, ...]] = {}
    for name, source in dictionaries.items():
        field = schema.field(name)
        if field.type != "string" or field.identifier:
            raise _no_dictionary(f"field {quote(name)}: a dictionary is for a string field; leave it out")
        if field.categories is not None:
            raise _no_dictionary(f"field {quote(name)}: it has categories already; leave out these or the dictionary")
        if name not in names:
            raise _no_dictionary(f"field {quote(name)}: it has a dictionary and is not asked for; name it in fields")
        texts = check_categories(name, "string", _texts_of(name, source))
        both = set(texts or ()) & set(field.missing_values)
        found[name] = tuple(text for text in texts or () if text not in both)
    return found


def _texts_of(name: str, source: object) -> tuple[str, ...]:
    """Return the texts of one dictionary: of a list, or of a file with one text on each line."""
    if isinstance(source, str | os.PathLike):
        content = read_content(source, "dictionary", _no_dictionary)
        lines = text_of(content, f"dictionary {quote(os.fspath(source))}", _no_dictionary).split("\n")
        listed: tuple[str, ...] = tuple(dict.fromkeys(line.removesuffix("\r") for line in lines))
        return tuple(line for line in listed if line)
    if not isinstance(source, Sequence) or not all(isinstance(text, str) for text in source):
        raise _no_dictionary(
            f"field {quote(name)}: a dictionary must be a list of texts, or a file with one text a line, got "
            f"{quote(source)}"
        )
    return tuple(dict.fromkeys(source))


def shared_out(
    epsilon: Number | None, delta: Number | None, rho: Number | None, selecting: Sequence[str]
) -> tuple[BudgetRequest, Fraction]:
    """Return the budget of all questions, and the delta that is set aside for selections."""
    if (epsilon is None) == (rho is None):
        read_request(epsilon=epsilon, rho=rho)  # asked for its error
    exact = read_delta(delta)
    if selecting and exact == 0:
        name = quote(selecting[0])
        raise ParameterError(
            f"field {name}: which texts occur is found by a selection, which needs a delta; give delta, such as 1e-9, "
            "a dictionary of texts that may occur, or categories",
            code="LW311",
        )
    if rho is not None and exact > 0:
        if not selecting:
            raise ParameterError(
                "delta beside rho is for lists of texts that occur, and no field needs one; leave delta out",
                code="LW311",
            )
        request = read_request(rho=rho)
        return BudgetRequest(budget=request.budget, epsilon=None, delta=exact, rho=request.rho), exact
    if not selecting:
        return read_request(epsilon=epsilon, delta=delta, rho=rho), Fraction(0)
    # What is rho-zCDP except with probability s is (epsilon, s + d)-DP where rho-zCDP is (epsilon, d)-DP.
    half = exact / 2
    request = read_request(epsilon=epsilon, delta=half, rho=rho)
    return BudgetRequest(budget=request.budget, epsilon=request.epsilon, delta=exact, rho=None), half


def _checked_quantile(quantile: Number) -> Fraction:
    """Return the quantile, exact."""
    exact = exact_number("quantile", quantile)
    if not 0 <= exact < _MOST_QUANTILE:
        raise ParameterError(
            f"quantile must be at least 0 and below 1/4, got {quantile}; 0.001 leaves out a thousandth of the rows at "
            "each end",
            code="LW301",
        )
    return exact


def opened_field(field: Field) -> Field:
    """Return a field that any value of its type fits.

    field: of any type but boolean, no identifier; what it says about values, categories too, is left out. Returns
    integers and numbers on the grid of `lapwing.schema.groupings.domains`; texts as they are; dates and datetimes by
    day from year 1 to 9999. Name, type, special values, ``required`` and missing values stay.
    """
    if field.identifier:
        raise field_error(field.name, "an identifier has no bounds and no categories to learn; leave it out", "LW271")
    if field.type == "boolean":
        raise field_error(field.name, "a boolean is true or false, there is nothing to learn; leave it out", "LW271")
    return any_value(field)


def opened_schema(schema: Schema, fields: Sequence[str], dictionaries: Mapping[str, tuple[str, ...]]) -> Schema:
    """Return the schema by which a table is read to learn some of its fields.

    fields: names of the fields to learn, at least one; dictionaries: public lists of what the values of string fields
    may be, by field. Returns the fields to learn, in the schema's order, and the field of the privacy unit. A field
    with a dictionary or with categories is a list, all others are opened. No draft.

    The privacy unit's field names the unit exactly as under `schema`: by its type and its missing values. It is an
    identifier here unless it is learned itself, or of a type that no identifier has; then it is one more column.
    """
    wanted = {schema.field(name).name for name in fields}
    if not wanted:
        raise SchemaError("no field is named whose values are to be learned; name at least one", code="LW271")
    unit = schema.privacy_unit
    found = []
    for each in schema.fields:
        if each.name in wanted:
            found.append(_readable(each, dictionaries.get(each.name)))
        elif unit is not None and each.name == unit.field:
            found.append(_naming(each))
    dialect = replace(schema.dialect, names=schema.names)
    return Schema(fields=tuple(found), privacy_unit=unit, name=schema.name, dialect=dialect)


def _readable(field: Field, dictionary: tuple[str, ...] | None) -> Field:
    """Return a field to learn: a list where there is one, else opened."""
    if dictionary is None:
        return field if field.categories is not None and not field.identifier else opened_field(field)
    # What the field says about its own list need not hold for another; but codes fold into those that the list has.
    tree = replace(field.hierarchy, fold=True) if isinstance(field.hierarchy, Prefixes) else None
    return replace(opened_field(field), open=False, categories=dictionary, hierarchy=tree)


def _naming(field: Field) -> Field:
    """Return the privacy unit's field so that its cells name the same units, and are as little else as possible."""
    if field.type == "boolean":
        return replace(field, provenance="assumed")
    if field.type not in ("integer", "string"):
        return opened_field(field)
    return Field(name=field.name, type=field.type, identifier=True, missing_values=field.missing_values)
