"""The columns of a table, as far as they are public, and the privacy unit that one of them names."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy as np
import numpy.typing as npt

from lapwing.errors import SchemaError
from lapwing.schema.checks import (
    PROVENANCES,
    RANGED_TYPES,
    SCALES,
    check_bound,
    check_categories,
    check_labels,
    check_missing_values,
    check_name,
    check_resolution,
    check_special,
    check_type,
    field_error,
    of_field,
)
from lapwing.schema.groupings.category_trees import CategoryTree, Prefixes, branches, check_tree, depth_first, tree_cuts
from lapwing.schema.groupings.domains import MAGNITUDE_VALUES, MAX_VALUES, Domain, Range, octave_cuts, range_of
from lapwing.schema.reading import PLAIN, Dialect, Reading, check_reading
from lapwing.schema.scalars import category_key, find_duplicate, is_encodable, quote
from lapwing.schema.short import short
from lapwing.schema.typed import TypedObject

FieldType = Literal["integer", "number", "string", "boolean", "date", "datetime"]
Provenance = Literal["public", "assumed", "dp", "drafted"]
Scale = Literal["linear", "log"]
MadeUp = Literal["name", "first name", "last name", "e-mail", "phone", "address", "company", "record number"]
Scalar = str | int | float | bool

_MAX_FIELDS: Final = 100_000
_SPACES: Final = "".join(sign for sign in map(chr, range(0x3001)) if sign.isspace() and not "\x1c" <= sign <= "\x1f")
"""White space as the reader of rows has it, which takes the four separators of files for text."""
_KEYS: Final = {"ordered": "categoriesOrdered", "identifier": "role", "made_up": "madeUp"}
"""What a file calls settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One column of a table; everything in it is public.

    Parameters
    ----------
    name : str
        Column name, not empty.
    type : str
        One of integer, number, string, boolean, date, datetime.
    minimum, maximum : int, float, str or None
        Bounds of a numeric or date field, both included; dates as ISO text. A datetime maximum without a time of
        day includes that whole day. May be None for identifiers, categories, and in a draft.
    categories : tuple of str, int, float or bool, or None
        Every regular value, where the field is a list. A string field needs it. With a hierarchy they are kept in its
        depth-first order, so that every branch is a run.
    ordered : bool, default False
        Whether the categories are listed in a meaningful order.
    required : bool, default False
        Whether missing is not allowed.
    provenance : str, default "assumed"
        How the domain is known: ``public``, ``assumed`` (the owner's decision) or ``dp`` (learned with budget, or to
        be learned); ``drafted``, by a program that looked at the table, until its owner has edited the field.
    identifier : bool, default False
        Whether the column only names rows or people: it is not modelled, synthetic rows get fresh numbers.
    made_up : str or None
        What synthetic rows get in an identifier instead: a name, first name, last name, e-mail, phone, address or
        company of nobody, or a record number.
    target : bool, default False
        Whether the column is what models will predict: its relations matter more. At most one of a schema.
    special : tuple of int, float or str
        Values of a numeric or date field with a meaning of their own, such as -1; they may lie outside the bounds.
    resolution : str, int, float or None
        Of a datetime: year, month, day, hour, minute or second (the default); of a date: year, month, week or day
        (the default); of a number: a step such as 0.01; of an integer: a whole step such as 100.
    scale : str, default "linear"
        ``log`` for integers and numbers of many sizes: public grids are cut by powers of two away from zero. Codes
        are the same under both.
    hierarchy : Prefixes, Parents or None
        Which branches unordered categories form.
    description : str
        Free text.
    labels : tuple of pairs of str, default ()
        What categories and special values mean: their text, such as "1", and a label, such as "female". Those of
        other values are left out.
    missing_values : tuple of str, default ("",)
        Texts that are read as missing.
    unlisted : str or None
        The category of a string field into which every text goes that is not in the list and not missing.
    reading : Reading
        How its cells are written as text, such as 62,8 or 31.12.2010.
    open : bool, default False
        Whether any value fits: numbers by `lapwing.schema.groupings.domains`, texts by a public hash. So a table is
        read before its bounds or categories are known; never in files.

    Raises
    ------
    SchemaError
        Where a rule of the schema format is broken; the sentence names the field and the rule.

    Examples
    --------
    >>> Field(name="age", type="integer", minimum=0, maximum=120, required=True).domain.values
    121
    """

    name: str
    type: FieldType
    minimum: int | float | str | None = None
    maximum: int | float | str | None = None
    categories: tuple[Scalar, ...] | None = None
    ordered: bool = False
    required: bool = False
    provenance: Provenance = "assumed"
    identifier: bool = False
    special: tuple[int | float | str, ...] = ()
    resolution: str | int | float | None = None
    scale: Scale = "linear"
    hierarchy: CategoryTree | None = None
    description: str = ""
    missing_values: tuple[str, ...] = ("",)
    unlisted: str | None = None
    reading: Reading = PLAIN
    open: bool = False
    target: bool = False
    labels: tuple[tuple[str, str], ...] = ()
    made_up: MadeUp | None = None
    # Derived once, as a hierarchy may cut 10**6 codes; None where there is none or a draft leaves it blank.
    _domain: Domain | None = dataclasses.field(init=False, repr=False, compare=False, default=None)

    __repr__ = short

    def __post_init__(self) -> None:
        name, kind = check_name(self.name), self.type
        check_type(name, kind)
        check_reading(name, kind, self.reading)
        categories = check_categories(name, kind, self.categories)
        own = of_field(name, {_KEYS.get(key, key): getattr(self, key) for key in self.__slots__})
        normal = {
            "provenance": own.one_of("provenance", PROVENANCES, code="LW207"),
            "scale": own.one_of("scale", SCALES, code="LW207"),
            **{key: own.flag(_KEYS.get(key, key)) for key in ("ordered", "required", "identifier", "open", "target")},
            "description": own.text("description"),
            "made_up": None if self.made_up is None else own.one_of("madeUp", get_args(MadeUp), code="LW207"),
            "minimum": check_bound(name, kind, "minimum", self.minimum),
            "maximum": check_bound(name, kind, "maximum", self.maximum),
            "categories": categories,
            "special": check_special(name, kind, self.special),
            "resolution": check_resolution(name, kind, self.resolution),
            "hierarchy": check_tree(name, self.hierarchy),
            "missing_values": check_missing_values(name, self.missing_values, categories),
        }
        for key, value in normal.items():
            object.__setattr__(self, key, value)
        object.__setattr__(self, "labels", check_labels(name, self.labels, (*(categories or ()), *self.special)))
        _check_together(self)
        cuts = _in_branches(self)
        if not (self.identifier or self.blank):
            object.__setattr__(self, "_domain", _domain_of(self, cuts))

    @property
    def is_categorical(self) -> bool:
        """Whether the regular values are a list: the field has categories or is boolean."""
        return self.categories is not None or self.type == "boolean"

    @property
    def is_by_faker(self) -> bool:
        """Whether synthetic rows get what the extra `names` makes up."""
        return self.made_up not in (None, "record number")

    @property
    def folds(self) -> tuple[int, ...]:
        """The lengths of the prefixes to which texts that are not listed go, increasing; empty where they do not."""
        tree = self.hierarchy
        return tree.lengths if isinstance(tree, Prefixes) and tree.fold else ()

    @property
    def blank(self) -> tuple[str, ...]:
        """The settings without which the field has no domain and that a draft has left open."""
        if self.identifier or self.is_categorical or self.open:
            return ()
        if self.type == "string":
            return ("categories",)
        bounds = (("minimum", self.minimum), ("maximum", self.maximum))
        return tuple(key for key, bound in bounds if bound is None)

    @property
    def range(self) -> Range:
        """The range of a numeric or date field without categories.

        Raises
        ------
        SchemaError
            For other fields, and for bounds that a draft leaves blank.
        """
        if self.is_categorical or self.type not in RANGED_TYPES:
            raise field_error(self.name, "bounds apply to numbers and dates without categories", "LW212")
        return range_of(self.name, self.type, minimum=self.minimum, maximum=self.maximum, resolution=self.resolution)

    @property
    def domain(self) -> Domain:
        """The codes of this field.

        Raises
        ------
        SchemaError
            For identifiers, which are not modelled, and for a domain that a draft leaves blank.
        """
        if self.identifier:
            raise field_error(self.name, "an identifier is not modelled and has no domain", "LW219")
        if self.type == "string" and self.blank:
            way_out = "list every possible value, or give it the role identifier"
            raise field_error(self.name, f"a string field needs categories; {way_out}", "LW210")
        if self._domain is None:
            _ = self.range  # asked for its error about what is blank
        assert self._domain is not None
        return self._domain


def _domain_of(field: Field, cuts: tuple[tuple[int, ...], ...]) -> Domain:
    """Return the codes of a complete field; `cuts` are those of its hierarchy."""
    continuous = False
    if field.open:
        is_text = field.type == "string"
        values, ordered = MAX_VALUES if is_text else MAGNITUDE_VALUES, not is_text
    elif field.categories is not None:
        values, ordered = len(field.categories), field.ordered
    elif field.type == "boolean":
        values, ordered = 2, True
    else:
        found = field.range
        values, ordered = found.values, True
        continuous = field.type == "number" and field.resolution is None
        cuts = octave_cuts(found) if field.scale == "log" else ()
    return Domain(values, len(field.special), not field.required, ordered, continuous, cuts)


def _in_branches(field: Field) -> tuple[tuple[int, ...], ...]:
    """Put the categories of a new field in the order of its hierarchy, if it has one, and return its cuts."""
    if field.hierarchy is None or field.categories is None:
        return ()
    found = branches(field.name, field.hierarchy, list(map(category_key, field.categories)))
    order = depth_first(found)
    object.__setattr__(field, "categories", tuple(field.categories[place] for place in order.tolist()))
    return tree_cuts(found[order])


def _check_together(field: Field) -> None:
    """Refuse settings that are each fine and do not go together."""
    kind, listed, tree, target = field.type, field.categories, field.hierarchy, field.unlisted
    is_listable, has_tree = kind in ("integer", "number", "string"), tree is not None
    is_bounded = is_listable and kind != "string" and listed is None and not field.identifier
    # The prefixes of a list that a draft leaves blank are known before the list is.
    is_open_list = field.blank == ("categories",) and isinstance(tree, Prefixes)
    has_texts = kind == "string" and not field.identifier and (listed is None or isinstance(listed[0], str))
    for_texts = "applies to string fields whose categories are texts; remove it"
    is_text = isinstance(target, str) and is_encodable(target)
    told = (field.minimum, field.maximum, listed, field.resolution, tree)
    is_told = field.identifier or field.scale != "linear" or any(setting is not None for setting in told)
    identifiers = f"an identifier must have type integer or string, got {kind}"
    is_invented = field.identifier and (kind == "string" or field.made_up == "record number")
    invented = f'madeUp {quote(field.made_up)} needs type string and "role": "identifier"; add them, or remove it'
    numbers = "special applies to bounded numbers and dates only; put the values in categories"
    scaled = "scale log applies to bounded integers and numbers only; remove it"
    opened = f"open does not apply to type {kind}; give it bounds that hold any value"
    outside = f"unlisted {quote(target)} is not one of the categories; add it to them"
    for is_broken, said, code in (
        (field.identifier and kind not in ("integer", "string"), identifiers, "LW212"),
        (field.made_up is not None and not is_invented, invented, "LW212"),
        (field.identifier and field.target, "an identifier is not modelled and cannot be the target", "LW212"),
        (field.special and (listed is not None or field.identifier), numbers, "LW212"),
        (field.ordered and listed is None, "categoriesOrdered needs categories; list them or remove it", "LW212"),
        (field.resolution is not None and listed, "resolution does not apply to categories; remove it", "LW211"),
        (field.scale == "log" and not is_bounded, scaled, "LW212"),
        (has_tree and not is_listable, f"hierarchy does not apply to type {kind}; remove it", "LW215"),
        (
            has_tree and (field.identifier or (listed is None and not is_open_list)),
            "hierarchy needs categories; list them or remove it",
            "LW215",
        ),
        (has_tree and field.ordered, "hierarchy does not go with categoriesOrdered; remove one of them", "LW215"),
        (field.open and not is_listable, opened, "LW216"),
        (field.open and is_told, "open goes with no bounds, list or other rule for values; remove them", "LW216"),
        (target is not None and not has_texts, f"unlisted {for_texts}", "LW216"),
        (field.folds and not has_texts, f"hierarchy fold {for_texts}", "LW216"),
        (target is not None and not is_text, f"unlisted must be the text of a category, got {quote(target)}", "LW216"),
        (is_text and listed is not None and target not in listed, outside, "LW216"),
    ):
        if is_broken:
            raise field_error(field.name, said, code)
    if not field.is_categorical and field.minimum is not None and field.maximum is not None:
        # Asked for its errors about reversed or distant bounds; blank ones are the schema's matter (drafts have them).
        _ = field.range
    for value in field.special:
        if category_key(value) in field.missing_values:
            said = f"{quote(value)} is both a special and a missing value; remove it from one list"
            raise field_error(field.name, said, "LW213")


# -- What a schema says of a column for all others: whose rows are protected together, and the survey weight.


_MAX_ROWS: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class PrivacyUnit:
    """Whose records are protected together.

    Parameters
    ----------
    field : str
        Column whose equal values name one unit, such as a person.
    max_rows : int
        Rows of one unit that are used at most, at least 1.

    Examples
    --------
    >>> PrivacyUnit("patient", 5).max_rows
    5
    """

    field: str
    max_rows: int

    def __post_init__(self) -> None:
        own = TypedObject({"field": self.field, "maxRows": self.max_rows}, "privacyUnit", "LW217")
        own.text("field", None)
        object.__setattr__(self, "max_rows", own.whole("maxRows", 1, _MAX_ROWS))


def check_fields(fields: Sequence[Field]) -> None:
    """Refuse too many fields, names that stand twice, a second target, and a schema without a column to model."""
    if len(fields) > _MAX_FIELDS:
        raise SchemaError(f"the schema has more than {_MAX_FIELDS} fields; remove columns", code="LW209")
    for name in find_duplicate([field.name for field in fields]):
        raise field_error(name, "the name stands twice; rename one of the columns", "LW208")
    for name in [field.name for field in fields if field.target][1:]:
        raise field_error(name, "this is a second target; keep the role of one column", "LW212")
    if all(field.identifier for field in fields):
        said = "the schema has no field to model; list at least one that is not an identifier"
        raise SchemaError(said, code="LW209")


def ignores_case(field: Field) -> bool:
    """Tell whether a dialect's ``ignoreCase`` holds for a field: for texts and what names persons and rows.

    Prefixes are codes, in which case may tell, and so may it in moments.
    """
    is_key = field.identifier and field.type not in ("date", "datetime")
    return (field.type == "string" or is_key) and not field.folds


def known_texts(field: Field) -> list[str]:
    """Return what is known of a field's texts: its categories, and what is read as missing."""
    return [text for text in (*(field.categories or ()), *field.missing_values) if isinstance(text, str)]


def check_spellings(fields: Sequence[Field], dialect: Dialect) -> None:
    """Refuse texts that no cell can be once a dialect leaves out white space or case, or that are one then.

    Learned lists are left alone: they were read so, and what was paid for must not fail.
    """
    for field in fields if dialect.trim or dialect.ignore_case else ():
        if field.provenance == "dp":
            continue
        has_case = not (dialect.ignore_case and ignores_case(field))
        bare = {text: text.strip(_SPACES) if dialect.trim else text for text in known_texts(field)}
        spelled = {text: each if has_case else each.lower() for text, each in bare.items()}
        listed = [text for text in field.categories or () if isinstance(text, str)]
        missing = {spelled[text] for text in field.missing_values}
        why = "as the schema's dialect leaves out white space or case"
        for text in find_duplicate(listed, [spelled[text] for text in listed]):
            raise field_error(field.name, f"category {quote(text)} is listed twice, {why}; remove one", "LW213")
        for text in listed:
            if spelled[text] in missing:
                said = f"{quote(text)} is both a category and a missing value, {why}; remove it from one list"
                raise field_error(field.name, said, "LW213")
        for text, each in bare.items():
            if each not in bare:
                said = f'{quote(text)} is no cell, as "trim" of the schema\'s dialect takes off its ends'
                raise field_error(field.name, f"{said}; write {quote(each)}", "LW213")


def check_weight(weight: object, fields: Sequence[Field]) -> None:
    """Refuse a weight that is not the name of a modelled number from 0 up; a draft may leave its bounds blank."""
    if not isinstance(weight, str):
        said = f"weight must be the name of a field, got {quote(weight)}; name the column of weights"
        raise SchemaError(said, code="LW218")
    field = next((each for each in fields if each.name == weight), None)
    if field is None:
        raise SchemaError(f"weight: no field is called {quote(weight)}; name the column of weights", code="LW219")
    said = ""
    if field.identifier:
        said = "is an identifier, which is not modelled; take its role away"
    elif field.type not in ("integer", "number") or field.is_categorical:
        said = "must be an integer or a number with a minimum and a maximum, without categories"
    elif field.minimum is not None and float(field.minimum) < 0:
        said = f"has the minimum {quote(field.minimum)}, and a weight is at least 0; raise it"
    if said:
        raise SchemaError(f"weight: field {quote(weight)} {said}", code="LW218")


def weights_at(field: Field, codes: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return the weights that codes, or places between them, stand for; 0 for special values and missing."""
    found, placed = field.range, np.asarray(codes, dtype=np.float64)
    if found.step is not None:
        values = found.lo + placed * float(found.step)
    else:
        values = found.lo + (placed + 0.5) / found.values * (found.hi - found.lo)
    return np.where(placed < found.values, values, 0.0)
