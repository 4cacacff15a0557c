"""The mechanisms by name."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, cast

import numpy as np

from lapwing.budget.budget import Budget
from lapwing.errors import ParameterError
from lapwing.mechanisms.independent import Independent
from lapwing.release.curator import Curator
from lapwing.release.model import ReleasedModel
from lapwing.release.terms import Relation
from lapwing.schema.schemas import Schema


class Mechanism(Protocol):
    """A published system: settings, and one run that asks, solves and returns a model.

    A mechanism may also have a ``caveat``: what its rows never keep, in plain words, for the certificate of every table
    of two columns or more.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    relations: ClassVar[tuple[Relation, ...]]

    def run(self, curator: Curator, schema: Schema, budget: Budget, rng: np.random.Generator) -> ReleasedModel:
        """Spend at most ``budget`` on questions and return the model."""
        ...


MECHANISMS: Mapping[str, type[Independent]] = MappingProxyType({"independent": Independent})
"""Mechanism classes by lower-case name."""


def make_mechanism(name: str, settings: Mapping[str, Any]) -> Mechanism:
    """Return a mechanism by case-insensitive name.

    Parameters
    ----------
    name : str
        For example ``"Independent"``.
    settings : mapping of str to JSON value or text
        Settings; texts are read as the setting's type.

    Raises
    ------
    ParameterError
        If the name or a setting is unknown, or a value cannot be read.

    Examples
    --------
    >>> make_mechanism("INDEPENDENT", {"groups": "16"})
    Independent(groups=16)
    """
    kind = MECHANISMS.get(name.lower())
    if kind is None:
        known = ", ".join(each.name for each in MECHANISMS.values())
        raise ParameterError(f"there is no mechanism {name!r}; choose one of {known}")
    types = {field.name: field.type for field in fields(kind)}
    unknown = sorted(set(settings) - set(types))
    if unknown:
        raise ParameterError(f"{kind.name} has no setting {unknown[0]!r}; valid keys are {', '.join(sorted(types))}")
    return kind(**cast("Any", {key: _read(key, value, types[key]) for key, value in settings.items()}))


def settings_of(mechanism: Mechanism) -> dict[str, Any]:
    """Return a mechanism's settings as plain JSON values."""
    return asdict(mechanism)  # type: ignore[call-overload,no-any-return]


def default_mechanism(schema: Schema) -> Mechanism:  # noqa: ARG001
    """Return the mechanism that fits a schema; a rule on the schema alone."""
    return Independent()


def _read(key: str, value: object, kind: object) -> object:
    """Read a setting given as text; other values are left to the mechanism's own check."""
    if not isinstance(value, str) or kind is str:
        return value
    try:
        return int(value) if kind is int else float(value)
    except ValueError:
        pass
    raise ParameterError(f"setting {key} must be a number, got {value!r}; write {key}=NUMBER")
