"""The mechanisms by name: a folder is one line of `_PATHS`, and is known by that everywhere."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from types import MappingProxyType
from typing import Any, Final, Literal, TypeVar, cast, get_args, get_origin

import numpy as np

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.shared.base import Mechanism
from lapwing.mechanisms.shared.priors import PublicRows
from lapwing.mechanisms.shared.settings import check_noise
from lapwing.mechanisms.tables.named import NamedTable
from lapwing.model.certificate.cost_lines import ChosenTable
from lapwing.model.certificate.notices import Notice
from lapwing.model.certificate.statements import Statement
from lapwing.model.model import ReleasedModel
from lapwing.model.statistics.expressions import RowFunction
from lapwing.on_demand import load_object
from lapwing.schema.schemas import Schema

T = TypeVar("T")


_PATHS: Final = {
    "adaptive": "lapwing.mechanisms.adaptive.mechanism:Adaptive",
    "independent": "lapwing.mechanisms.independent.mechanism:Independent",
    "tables": "lapwing.mechanisms.tables.mechanism:Tables",
    "pmm": "lapwing.mechanisms.trees.pmm.mechanism:PMM",
    "psmm": "lapwing.mechanisms.trees.psmm.mechanism:PSMM",
    "grid": "lapwing.mechanisms.trees.kd_tree.mechanism:Grid",
    "kdtree": "lapwing.mechanisms.trees.kd_tree.mechanism:KDTree",
    "microaggregation": "lapwing.mechanisms.vectors.microaggregation.mechanism:Microaggregation",
    "linearstatistics": "lapwing.mechanisms.vectors.linear_statistics.mechanism:LinearStatistics",
    "privatesampling": "lapwing.mechanisms.private_sampling.mechanism:PrivateSampling",
}
"""Where a mechanism stands, by its lower-case name, in the order in which they are listed."""


class _Loaded(Mapping[str, type[Mechanism]]):
    """The mechanisms; asking for one loads its module, and no other."""

    def __getitem__(self, name: str) -> type[Mechanism]:
        kind: type[Mechanism] = load_object(_PATHS[name])
        return kind

    def __iter__(self) -> Iterator[str]:
        return iter(_PATHS)

    def __len__(self) -> int:
        return len(_PATHS)


MECHANISMS: Final[Mapping[str, type[Mechanism]]] = _Loaded()
"""Mechanism classes by lower-case name."""

WHY_DEFAULT = (
    "Adaptive is the default: it counts single values that many rows share and, of one or two columns of numbers, "
    "cells where rows are; of others the tables that matter most"
)
_TRUTHS = MappingProxyType({"true": True, "false": False})


@dataclass(frozen=True, slots=True)
class Trusted:
    """A mechanism that is not Lapwing's, of whose code the caller says that it may run beside the private rows.

    Parameters
    ----------
    mechanism : Mechanism
        Settings of a class of your own, derived from `Mechanism` or from one of Lapwing's.

    Notes
    -----
    It is handed a curator that answers questions, and no row. Its run is called twice: before the debit with a curator
    that answers zeros, up to the question that spends the budget, so that what it refuses costs nothing. Code in the
    same process can look anywhere: so the certificate says whose code it was, and that it was trusted.

    Examples
    --------
    >>> import lapwing as lw
    >>> class Coarse(lw.Independent):
    ...     name = "Coarse"
    >>> lw.Trusted(Coarse(groups=4)).mechanism.groups
    4
    """

    mechanism: Mechanism


def kind_named(name: str) -> type[Mechanism]:
    """Return the mechanism that a certificate names, or what is known of one that is not Lapwing's."""
    return MECHANISMS.get(name.lower(), Mechanism)


def make_mechanism(name: str, settings: Mapping[str, Any]) -> Mechanism:
    """Return a mechanism by case-insensitive name.

    >>> make_mechanism("INDEPENDENT", {"groups": "16"})
    Independent(groups=16)
    >>> make_mechanism("adaptive", {"resolutions": "16,8,4"}).resolutions
    (16, 8, 4)
    >>> make_mechanism("microaggregation", {"calibrate": "false"}).calibrate
    False
    """
    kind = MECHANISMS.get(name.lower())
    if kind is None:
        known = ", ".join(each.name for each in MECHANISMS.values())
        raise ParameterError(f"there is no mechanism {name!r}; choose one of {known}", code="LW305")
    types = {field.name: field.type for field in fields(cast("Any", kind))}
    unknown = sorted(set(settings) - set(types))
    if unknown:
        raise ParameterError(
            f"{kind.name} has no setting {unknown[0]!r}; valid keys are {', '.join(sorted(types))}", code="LW306"
        )
    return kind(**cast("Any", {key: _read(key, value, types[key]) for key, value in settings.items()}))


def settings_of(mechanism: Mechanism) -> dict[str, Any]:
    """Return a mechanism's settings as plain JSON values, as they come back from a file."""
    names = fields(mechanism) if is_dataclass(cast("object", mechanism)) else ()  # type: ignore[arg-type]
    given = {each: getattr(mechanism, each.name) for each in names}
    return {each.name: _plain(value) for each, value in given.items() if value is not None or not each.metadata}


def _plain(value: object) -> object:
    """Return a value with its tuples as lists, callables and public rows by name: they are no part of a file."""
    if isinstance(value, PublicRows):
        return value.name
    if isinstance(value, RowFunction):
        return f"callable {value.text}"
    if callable(value):
        return f"callable {getattr(value, '__qualname__', type(value).__qualname__)}"
    if isinstance(value, NamedTable):
        return value.to_dict()
    return [_plain(each) for each in value] if isinstance(value, tuple | list) else value


def default_mechanism() -> Mechanism:
    """Return the mechanism that is used where none is named, whatever the schema."""
    return MECHANISMS["adaptive"]()


def check_mechanism(
    mechanism: Mechanism, schema: Schema, budget: Budget, terms: Terms, rng: np.random.Generator
) -> None:
    """Refuse a release that a mechanism would refuse by public numbers alone, before its budget is debited.

    rng: as it is handed to the run.
    """
    check_noise(budget, terms)
    for question in mechanism.questions(schema, budget, terms, rng):
        if not isinstance(question, ChosenTable):
            question.parts(terms.relation, terms.max_rows)  # refuses noise that could leave 64 bits


def release_warnings(
    mechanism: Mechanism, schema: Schema, answers: Sequence[Answer], accuracy: Sequence[Statement]
) -> tuple[Notice, ...]:
    """Say what rows of the mechanism never keep, and what went wrong in this release."""
    caveat = [Notice(mechanism.caveat)] if mechanism.caveat and len(schema.columns) > 1 else []
    return (*caveat, *mechanism.warnings(schema, answers, accuracy))


def postprocessed_statements(
    mechanism: Mechanism,
    schema: Schema,
    terms: Terms,
    answers: Sequence[Answer],
    stated: Sequence[Statement],
    *,
    model: ReleasedModel,
    changed: float,
) -> tuple[Statement, ...]:
    """Return what `statements` says of a mechanism's model, made true of the model that was released."""
    certified = mechanism.certified(schema, terms, answers, model)
    return (*certified, *after_finishing(stated[len(certified) :], changed))


def assumptions(mechanism: Mechanism) -> tuple[Notice, ...]:
    """Return what the promise of a mechanism takes on the caller's word, for the certificate."""
    assumed = mechanism.assumptions()
    if is_known(mechanism):
        return assumed
    return (Notice("code_trusted", {"mechanism": name_in_files(mechanism)}), *assumed)


def is_known(mechanism: object) -> bool:
    """Return whether a mechanism is one of Lapwing's itself, and not of a class derived from one."""
    kind = type(mechanism)
    return MECHANISMS.get(str(vars(kind).get("name")).lower()) is kind


def looks_at_misfits(mechanism: Mechanism) -> bool:
    """Return whether a mechanism counts misfits by itself; one of somebody else's is not trusted to."""
    return is_known(mechanism) and mechanism.looks_at_misfits


def name_in_files(mechanism: Mechanism) -> str:
    """Return the name by which a file names a mechanism: nothing reads one of somebody else's back."""
    kind = type(mechanism)
    return mechanism.name if is_known(mechanism) else f"{kind.__module__}.{kind.__qualname__}"


def _read(key: str, value: object, kind: object) -> object:
    """Read a setting given as text; other values, and choices from a list, are left to the mechanism's own check."""
    if not isinstance(value, str):
        return value
    lists = [each for each in (kind, *get_args(kind)) if get_origin(each) is tuple]
    if lists:
        item = get_args(lists[0])[0]
        if RowFunction in get_args(item) and not value.lstrip().startswith("["):
            return [value]  # one statistic, which may have commas
        return _read_list(key, value, int if item is int else str)
    choices = get_args(kind) or (kind,)
    words = [word for choice in (kind, *choices) if get_origin(choice) is Literal for word in get_args(choice)]
    numbers = {int, float} & set(choices)
    if bool in choices and value.lower() in _TRUTHS:
        return _TRUTHS[value.lower()]
    if str in choices or value in words or not numbers:
        return value
    try:
        return int(value) if int in choices else float(value)
    except ValueError:
        pass
    known = "".join(f"{word}, " for word in words)
    number = "a whole number" if int in choices else "a number"
    raise ParameterError(
        f"setting {key} must be {known}{'or ' if words else ''}{number}, got {value!r}; write {key}=NUMBER",
        code="LW301",
    )


def _read_list(key: str, value: str, item: type[int] | type[str]) -> list[Any]:
    """Read a list given as text: JSON where it starts with a bracket, else its entries with commas between them."""
    try:
        if value.lstrip().startswith("["):
            return cast("list[Any]", json.loads(value))
        return [item(entry.strip()) for entry in value.split(",") if entry.strip()]
    except (ValueError, RecursionError):
        pass
    example = "16,8,4" if item is int else 'age,sex or [["age", "sex"], "income"]'
    raise ParameterError(
        f"setting {key} must be a list, got {value!r}; write for example {key}={example}", code="LW304"
    )


# -- What is stated of a mechanism's model, made true of the model that rules and public tables made of it.


def after_finishing(stated: Sequence[Statement], changed: float) -> tuple[Statement, ...]:
    """Return statements about a mechanism's model as they hold for the released one.

    changed: share of the weight that rules and public tables moved at most, from 0 to 1. Returns bounds of the released
    model are larger by what was moved, and say so; statements about how the mechanism's model is made say that they are
    of that.

    >>> before = Statement("distance", 0.25, {"columns": ("age",)})
    >>> after_finishing([before], 0.125)[0].value
    0.375
    >>> after_finishing([before], 0.875)[0].text[-75:]
    'rules and public tables moved so much (up to 0.875) that this says nothing.'
    """
    return tuple(each if each.value is None else _finished(each, each.value, changed) for each in stated)


def _finished(stated: Statement, value: float, changed: float) -> Statement:
    """Add what was moved to a bound that is never above 1; say of all else that it is of the mechanism's model."""
    return replace(stated, value=min(1.0, value + changed) if stated.form.is_widened else value, moved=changed)
