"""What a stranger wrote, read by its types: JSON text → plain values → the values of an object, each with its place.

A key that is not known, a value of another type and one out of its range are refused in one sentence, with the place.
"""

import json
import math
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from lapwing.errors import LapwingError, SchemaError
from lapwing.schema.named_files import open_public_file
from lapwing.schema.scalars import find_duplicate, finite_number, is_encodable, nearest, quote, whole_number

MAX_BYTES: Final = 64 * 2**20
"""Largest file of a stranger's that is read as a whole."""

_SCHEMA: Final = "schema file"
_PARQUET: Final = b"PAR1"
_A_TABLE: Final = "a table is given as DATA, and `lapwing schema draft` makes a schema of one"
EXAMPLES: Final = {
    "the schema": '{"fields": [{"name": "age", "type": "integer"}]}',
    "a field": '{"name": "age", "type": "integer"}',
    "constraints": '{"minimum": 0, "maximum": 120}',
    "privacyUnit": '{"field": "person_id", "maxRows": 5}',
    "dialect": '{"delimiter": ";"}',
    "rule": '{"when": {"smokes": true}, "then": {"age": {"minimum": 10}}}',
    "rules": '[{"when": {"smokes": true}, "then": {"age": {"minimum": 10}}}]',
}
"""How objects and lists of them are written, for those who wrote something else."""


def read_json(path: str | os.PathLike[str]) -> object:
    """Return the value in a JSON file."""
    return parse_json(read_content(path, _SCHEMA), f"{_SCHEMA} {quote(os.fspath(path))}")


_unread = partial(SchemaError, code="LW201")
_no_text = partial(SchemaError, code="LW202")


def read_content(path: str | os.PathLike[str], kind: str, refused: Callable[[str], LapwingError] = _unread) -> bytes:
    """Return the bytes of a public file of at most 64 MiB; `kind` and its path begin each error sentence."""
    name = f"{kind} {quote(os.fspath(path))}"
    try:
        with open_public_file(path, None if kind == _SCHEMA else name) as (file, _):
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise refused(f"{name} does not exist; check the path") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "not a usable path"
        raise refused(f"{name} cannot be read: {reason}; check the path") from None
    if len(content) > MAX_BYTES:
        raise refused(f"{name} is larger than 64 MiB; shorten it")
    return content


def text_of(content: bytes, what: str, refused: Callable[[str], LapwingError] = _no_text) -> str:
    """Return the text that bytes hold, with or without the mark that some editors begin it with."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        pass
    raise refused(f"{what} is not UTF-8 text; save it in that encoding")


def parse_json(content: bytes, what: str) -> object:
    """Return the value that JSON bytes hold; `what` begins each error sentence."""
    said = "holds a number of thousands of digits; shorten it"  # the one ValueError that is not told apart
    try:
        if content.startswith(_PARQUET):
            raise SchemaError(f"{what} is a table in Parquet; {_A_TABLE}", code="LW202")
        return json.loads(
            text_of(content, what),
            object_pairs_hook=partial(_distinct, what),
            parse_constant=partial(_finite, what),
            parse_float=partial(_finite, what),
        )
    except json.JSONDecodeError as error:
        way_out = "correct it there" if error.doc.lstrip()[:1] in ("{", "[") else f"a schema begins with {{; {_A_TABLE}"
        said = f"is not JSON: {error.msg.lower()} at line {error.lineno} column {error.colno}; {way_out}"
    except RecursionError:
        said = "is nested too deeply; a schema needs five levels"
    except ValueError:
        pass
    raise SchemaError(f"{what} {said}", code="LW202")


def _distinct(what: str, pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object's pairs as a dict, refusing a key that stands twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        key = find_duplicate([key for key, _ in pairs])[0]
        raise SchemaError(f"{what} has the key {quote(key)} twice in one object; remove one", code="LW202")
    return found


def _finite(what: str, text: str) -> float:
    """Return a JSON number, refusing NaN, Infinity, and one such as 1e999 that no float can hold."""
    number = float(text)
    if math.isfinite(number):
        return number
    said = f"{text}, which is not a JSON number; write a finite number or null"
    if text[-1].isdigit():
        said = f"the number {text:.40}, which is too large for a float; write a finite one"
    raise SchemaError(f"{what} holds {said}", code="LW202")


# -- Objects, key by key.


def check_object(value: object, what: str) -> Mapping[str, Any]:
    """Return a value that must be a JSON object with text keys."""
    if not isinstance(value, Mapping):
        example = EXAMPLES.get(what.rpartition(": ")[2].rstrip(" 0123456789"), "")
        way_out = example and f"; write for example {example}"
        raise SchemaError(f"{what} must be an object with keys, got {quote(value)}{way_out}", code="LW206")
    for key in value:
        if not isinstance(key, str):
            raise SchemaError(f"{what} has the key {quote(key)}, which is not a text; put it in quotes", code="LW206")
    return value


@dataclass(frozen=True, slots=True)
class TypedObject:
    """The values of an object, each of which is read by its type; null is as good as absent.

    where: begins each sentence; code: of the rule, where a method is given none; error: what is raised.

    >>> person = TypedObject({"age": 41, "cat": "yes"}, "the person")
    >>> person.whole("age", 0, 120), person.flag("dog")
    (41, False)
    >>> person.flag("cat")
    Traceback (most recent call last):
    ...
    lapwing.errors.SchemaError: the person: cat must be true or false, got "yes"
    `lapwing explain LW206` says why, and what to do
    """

    values: Mapping[str, Any]
    where: str
    code: str = "LW206"
    error: type[LapwingError] = SchemaError

    @classmethod
    def of(cls, value: object, where: str, code: str = "LW206") -> "TypedObject":
        """Return the values of what must be an object."""
        return cls(check_object(value, where), where, code)

    def only(
        self,
        known: Collection[str],
        inside: Mapping[str, str] = MappingProxyType({}),
        passed: Collection[str] = (),
        code: str = "LW205",
    ) -> "TypedObject":
        """Refuse a key that is not known: read past, it would change in silence what the others say.

        inside: keys one level deeper, and where; passed: keys that only describe.
        """
        for key in self.values:
            if key in known or key in passed:
                continue
            near = nearest(key, [*known, *inside])[:1]
            place = "".join(f', inside "{inside[each]}"' for each in near if each in inside)
            way_out = f"did you mean {quote(near[0])}{place}?" if near else f"known are {', '.join(known)}"
            raise self.error(f"{self.where}: unknown key {quote(key)}; {way_out}", code)
        return self

    def refusal(self, key: str, rule: str, code: str = "") -> LapwingError:
        """Return the error that a value breaks a rule."""
        return self.error(f"{self.where}: {key} {rule}", code or self.code)

    def wrong(self, key: str, must: str, code: str = "", *, hint: str = "", found: object = None) -> LapwingError:
        """Return the error that a value is not what it must be; found: the part of it that is not."""
        got = self(key) if found is None else found
        if got is None:
            return self.error(f'{self.where} needs "{key}", which must {must}{hint}', code or self.code)
        return self.refusal(key, f"must {must}, got {quote(got)}{hint}", code)

    def __call__(self, key: str, usual: object = None) -> Any:  # noqa: ANN401 - JSON
        """Return a value as it is."""
        found = self.values.get(key)
        return usual if found is None else found

    def flag(self, key: str, usual: bool = False, code: str = "") -> bool:
        """Return a yes/no setting."""
        found = self(key, usual)
        if not isinstance(found, bool):
            raise self.wrong(key, "be true or false", code)
        return found

    def text(self, key: str, usual: str | None = "", *, is_name: bool = False, code: str = "") -> str:
        """Return a text that can be written; a name is not empty."""
        found = self(key, usual)
        if not isinstance(found, str) or not is_encodable(found) or (is_name and not found):
            must = "be a text that is not empty" if is_name else "be a text"
            raise self.wrong(key, must, code, hint="; write it in quotes" * (not isinstance(found, str)))
        return found

    def one_of(self, key: str, words: Collection[str], usual: str | None = None, code: str = "") -> str:
        """Return one of some words."""
        found = self(key, usual)
        if not isinstance(found, str) or found not in words:
            raise self.refusal(key, f"{quote(found)} is not known; choose one of {', '.join(words)}", code)
        return found

    def whole(self, key: str, least: int, most: int | None = None, usual: int | None = None, hint: str = "") -> int:
        """Return a whole number in a range."""
        found = whole_number(self(key, usual))
        if found is None or found < least or (most is not None and found > most):
            raise self.wrong(key, f"be a whole number from {least} {'up' if most is None else f'to {most}'}", hint=hint)
        return found

    def number(self, key: str) -> int | float | None:
        """Return a finite number; None where there is none."""
        found = finite_number(self(key))
        if found is None and self(key) is not None:
            raise self.wrong(key, "be a finite number")
        return found

    def listed(self, key: str, least: int = 0, most: float = math.inf, code: str = "") -> tuple[Any, ...]:
        """Return a list of so many values as a tuple."""
        found = self(key, ())
        if not isinstance(found, list | tuple):
            example = f"for example {EXAMPLES[key]}" if key in EXAMPLES else _as_list(found)
            raise self.wrong(key, "be a list", code, hint=f"; write {example}")
        if not least <= len(found) <= most:
            size = f"at least {least}" if len(found) < least else f"at most {most}"
            raise self.refusal(key, f"must be a list of {size}, got {len(found)}", code)
        return tuple(found)

    def texts(self, key: str, least: int = 0, code: str = "") -> tuple[str, ...]:
        """Return a list of texts that can be written."""
        found = self.listed(key, least, code=code)
        for text in found:
            if not isinstance(text, str) or not is_encodable(text):
                raise self.refusal(key, f"must be a list of texts, got {quote(text)}; put it in quotes", code)
        return found

    def names(self, key: str, least: int = 1) -> tuple[str, ...]:
        """Return a list of names, none empty and each once."""
        found = self.texts(key, least)
        for name in ["" for each in found if not each] or find_duplicate(found):
            raise self.refusal(key, f"must be a list of names, each once, got {quote(name)}{' twice' * bool(name)}")
        return found

    def columns(self, key: str) -> tuple[str, ...]:
        """Return the columns of a key, which is a name or a list of them."""
        found = self(key, ())
        for name in (listed := found if isinstance(found, list | tuple) else (found,)):
            if not isinstance(name, str):
                raise self.wrong(key, "hold names of columns", found=name)
        return tuple(listed)

    def objects(self, key: str) -> "tuple[TypedObject, ...]":
        """Return the values of each object of a list."""
        where = f"{self.where}: {key}"
        return tuple(replace(self, values=check_object(each, where), where=where) for each in self.listed(key))

    def inner(self, key: str, usual: Mapping[str, Any] | None = MappingProxyType({})) -> "TypedObject":
        """Return the values of the object under a key; without ``usual`` it must be there."""
        found = self(key, usual)
        if not isinstance(found, Mapping):
            example = f"; write for example {EXAMPLES[key]}" if key in EXAMPLES else ""
            raise self.wrong(key, "be an object with keys", hint=example)
        return replace(self, values=check_object(found, f"{self.where}: {key}"), where=f"{self.where}: {key}")


def _as_list(value: object) -> str:
    """Return how a value that is no list is written as one; texts with commas are taken apart."""
    if isinstance(value, str):
        parts = [part.strip() for part in value.split(",")]
        return f"[{', '.join(map(quote, parts[:3]))}{', ...' if len(parts) > 3 else ''}]"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"[{quote(value)}]" if is_number else 'for example ["a", "b"]'
