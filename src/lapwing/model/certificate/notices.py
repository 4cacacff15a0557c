"""What whoever reads a certificate or a plan should know: a code and its fields, of which documents make sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, make_dataclass
from functools import cache, partial
from typing import Any, Final, Literal, Self

from lapwing.errors import ParameterError
from lapwing.kernel.codec import SELDOM, Codec
from lapwing.kernel.plain import read_key
from lapwing.maths.arrays import Frozen
from lapwing.on_demand import Describable

Tables = Literal["singles", "pairs"]
Word = Literal["good", "fair", "weak", "unknown"]
_Names = tuple[str, ...]
_OF_FIELD: Final = {"field": str}
_OF_RULE: Final = {"rule": str, "share": float}
_OF_COLUMN: Final = {"column": str, "share": float}
_OF_TABLE: Final = {"columns": _Names, "share": float}
_EPSILON: Final = {"epsilon": str, "delta": str}
_RELATED: Final = {"fields": _Names, "relation": str, "unit": str}
_PRIOR: Final = {"prior": str, "rows": int, "digest": str}
_PRIOR_OF_RELEASE: Final = {**_PRIOR, "cost": str, "relation": str, "unit": str}

CODES: Final[Mapping[str, Mapping[str, Any]]] = {
    # of assumptions
    "assumed_by_mechanism": {"text": str},
    "code_trusted": {"mechanism": str},
    "function_trusted": {"name": str},
    "mu_public": {"mu": str},
    "lists_public": {},
    "rows_public": {},
    "types_public": {"share": float},
    "prior_made_up": {},
    "prior_public": _PRIOR,
    "prior_released": _PRIOR_OF_RELEASE,
    "prior_released_of": {"dataset": str, **_PRIOR_OF_RELEASE},
    "prior_summed": {"prior": str, "cost": str},
    "prior_of_several": {"prior": str},
    # of every paid run
    "uncovered": {"fields": Mapping[str, int | None]},
    "untold": {"fields": _Names},
    "other_terms": _RELATED,
    "weak_epsilon": _EPSILON,
    "no_epsilon": _EPSILON,
    "weak_delta": {"delta": str},
    "no_delta": {"delta": str},
    # of noisy answers
    "no_rows": {},
    "mostly_noise": {"sd": float, "rows": int},
    "column_missing": _OF_COLUMN,
    "column_missing_or_invalid": _OF_COLUMN,
    "column_invalid": _OF_COLUMN,
    "column_invalid_required": _OF_COLUMN,
    "rows_invalid": {"share": float},
    "keys_unmatched": {"share": float},
    "few_rows": {"rows": int},
    "order_not_kept": {"share": float, "column": str},
    "mended": {"answers": int},
    "rule_broken": _OF_RULE,
    # of rules and public tables
    "rules_moved": {"moved": float, **_OF_RULE},
    "map_guessed": _OF_RULE,
    "map_without_resolution": {"rule": str, "column": str},
    "table_not_reached": _OF_TABLE,
    "table_contradicted": _OF_TABLE,
    # of mechanisms
    "columns_apart": {},
    "columns_apart_in_cells": {},
    "inside_tree_cells": {},
    "thin_cells": {},
    "few_points": {},
    "tables_alone": {},
    "few_draws": {},
    "few_kept": {"share": float},
    "collapsed": {"points": float},
    "not_certified": {"error": float},
    "relations_of_prior": {},
    "relations_of_look": {"columns": int},
    "relations_of_missing": {},
    "no_relations": {},
    # of plans
    "unrelated": {},
    "unrelated_but_prior": {},
    "forbidden": {"why": str},
    # of parts of linked tables
    "one_of_several": {},
    "published_table": {"table": str, "file": str, "rows": int},
    # what linked tables keep
    "rows_of_key": {"key": str, "rows": int},
    "rows_belong": {"table": str, "parent": str, "rows": int},
    "events_ordered": {"key": str, "by": str},
    "rows_ordered": {"table": str, "parent": str, "by": str},
    "keys_public": {"column": str, "table": str, "lookup": str},
    "keys_fresh": {},
    "keys_fresh_of_events": {},
    # and what not
    "drawn_after_key": {"key": str},
    "drawn_after_rows": {},
    "rows_unordered": {"table": str, "parent": str},
    "depend_where_counted": {},
    "events_cut": {"table": str, "rows": int, "key": str},
    "rows_cut": {"table": str, "rows": int, "parent": str},
    "sums_apart": {},
    "priors_of_tables": {"tables": _Names},
    "totals_but": {"table": str},
    "made_up": {"fields": _Names},
    "identifiers_unused": {},
    "identifiers_unused_of_events": {},
    # of learned schemas
    "bounds_hidden": _OF_FIELD,
    "unread": {"field": str, "type": str},
    "unread_as_it_was": {"field": str, "type": str},
    "end_reached": _OF_FIELD,
    "list_hidden": _OF_FIELD,
    "no_text": _OF_FIELD,
    "dropped": _OF_FIELD,
    "left_out_type": {"fields": _Names},
    "left_out_empty": {"fields": _Names},
    "left_out_texts": {"fields": _Names},
    "left_out_rare": {"fields": _Names},
    "left_out_hidden": {"fields": _Names},
    "list_needs": {"fields": _Names, "rows": int},
    "ends_unseen": {"fields": _Names, "rows": int},
    "ends_cut_off": {"fields": _Names, "rows": int, "share": float},
    # of verdicts: what another budget would make of it, and what the rows are not for
    "better_at": {"tables": Tables, "word": Word, "cost": str},
    "counted_at": {"cost": str},
    "quote_columns": {},
    "quote_pairs": {"pairs": int},
    "not_for_anything": {},
    "not_for_rare_values": {"rows": int},
    "not_for_single_values": {},
    "not_for_relations": {},
    "not_for_weak_relations": {"least": float},
    "not_for_uncounted_pairs": {"pairs": int},
    "not_for_triples": {},
    "not_for_four": {},
    "not_for_weak_four": {},
    # of evaluations that are bought
    "wide": {"ways": int, "lower": float, "upper": float},
}
"""The types of the fields of each code."""

_LARGEST: Final = 1e300
_CODEC: Final = Codec({})
_refused = partial(ParameterError, code="LW621")


class Catalogue:
    """What may be said by code: each with the types of its fields; of `optional` ones, any statement may have them."""

    def __init__(self, what: str, codes: Mapping[str, Mapping[str, Any]], optional: Sequence[str] = ()) -> None:
        self._what, self._codes, self._optional = what, codes, optional

    @cache  # noqa: B019 - there are two, which live as long as the program; each class takes half a millisecond to make
    def _form(self, code: str) -> type:
        """Return the class that the fields of a code are written and read as."""
        more = [(name, float | None, field(default=None, metadata=SELDOM)) for name in self._optional]
        return make_dataclass(code, [*self._codes[code].items(), *more], frozen=True)

    def check(self, code: str, fields: Mapping[str, Any], **optional: float | None) -> None:
        """Refuse a code that is not known, other fields than it has, and numbers that are not finite."""
        if code not in self._codes or set(fields) != set(self._codes[code]):
            raise _refused(f"{code[:60]!r} with these fields is no code of a {self._what}; update lapwing")
        numbers = [each for each in fields.values() if isinstance(each, int | float)]
        figures = [each for each in optional.values() if each is not None]
        are_numbers = all(isinstance(each, int | float) and not isinstance(each, bool) for each in figures)
        if not are_numbers or any(not abs(each) <= _LARGEST for each in (*numbers, *figures)):
            raise _refused(f"the numbers of the {self._what} {code!r} must be finite; leave them out")

    def write(self, code: str, fields: Mapping[str, Any], **optional: float | None) -> dict[str, Any]:
        """Return a code and its fields as plain JSON values."""
        return {"code": code, **_CODEC.write(self._form(code)(**fields, **optional))}

    def read(self, values: object) -> tuple[str, dict[str, Any]]:
        """Return the code and the fields that `write` wrote; a ParameterError where one is not known."""
        code = read_key(values, "code", str)
        if code not in self._codes:
            raise _refused(f"{code[:60]!r} is no code of a {self._what}; update lapwing")
        own = {key: each for key, each in dict(values).items() if key != "code"}  # type: ignore[call-overload]
        return code, dict(vars(_CODEC.read(self._form(code), own)))


_CATALOGUE: Final = Catalogue("warning", CODES)


@dataclass(frozen=True, slots=True)
class Notice(Describable):
    """Say one thing that whoever reads a certificate or a plan should know.

    Parameters
    ----------
    code : str
        One of `CODES`, such as ``rows_invalid``.
    fields : mapping
        Its figures and names, such as ``{"share": 0.2}``.
    table : str
        Of linked tables: the one that it is about; in no document, which has a part for each.

    Examples
    --------
    >>> print(Notice("few_rows", {"rows": 50}, table="people").text[:48])
    people: by the noisy counts there is surely less
    """

    code: str
    fields: Mapping[str, Any] = field(default_factory=dict, hash=False)
    table: str = ""

    def __post_init__(self) -> None:
        _CATALOGUE.check(self.code, self.fields)
        object.__setattr__(self, "fields", Frozen(self.fields))

    @property
    def text(self) -> str:
        """The same as a sentence, without its full stop."""
        return str(self._in_words("text"))

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Return the code and its fields as plain JSON values."""
        return _CATALOGUE.write(self.code, self.fields)

    @classmethod
    def from_dict(cls, values: object) -> Self:
        """Read back what `to_dict` wrote; a ParameterError where a code or a field is not known."""
        return cls(*_CATALOGUE.read(values))
