"""What another tool wrote about a table → the reader of its format."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from lapwing.errors import SchemaError
from lapwing.extras.connect.metadata.classes import is_class, is_pandera, read_class, read_pandera
from lapwing.extras.connect.metadata.converted import ConvertedTable, converted_table, refusal
from lapwing.extras.connect.metadata.croissant import is_croissant, read_croissant
from lapwing.extras.connect.metadata.frictionless import is_frictionless, read_frictionless, read_frictionless_tables
from lapwing.extras.connect.metadata.linked import ConvertedTables
from lapwing.extras.connect.metadata.sdv import is_sdv, read_sdv, read_sdv_tables
from lapwing.extras.connect.metadata.smartnoise import is_smartnoise, read_smartnoise, smartnoise_misfit
from lapwing.extras.connect.metadata.statistics import read_statistics
from lapwing.schema.fields import Field
from lapwing.schema.named_files import PROGRAMS, TABLES
from lapwing.schema.scalars import find_duplicate, quote
from lapwing.schema.schemas import Schema
from lapwing.schema.typed import check_object, parse_json, read_content, text_of
from lapwing.schema.values import number_of
from lapwing.version import install_command

# -- The domain of private-pgm (mbi): ``{"age": 85, "sex": 2}``, names of columns and their numbers of codes.


def is_mbi(value: object) -> bool:
    """Return whether a value is an object of whole numbers."""
    return isinstance(value, dict) and bool(value) and all(type(size) is int for size in value.values())


def mbi_misfit(value: object) -> str:
    """Return why an object that looks like a domain is none: its first size that is no whole number; or nothing."""
    if not isinstance(value, dict) or any(isinstance(size, Mapping | list) for size in value.values()):
        return ""
    if not any(number_of(size) is not None for size in value.values()):
        return ""
    for column, size in value.items():
        if type(size) is not int:
            # Without the size: it may be a row, where the file is a private table.
            return f"the size of column {quote(column)} is no whole number; write it without quotes or point"
    return ""


def read_mbi(value: object, name: str) -> ConvertedTable:
    """Return the schema of an mbi domain: integers from 0 to size - 1, never missing."""
    sizes = check_object(value, name)
    for column, size in sizes.items():
        if size < 1:
            raise refusal(f"{name}: column {quote(column)} has size {quote(size)}; a domain has at least one code")
    # A column of k codes has none for missing cells: with one it would have k + 1.
    fields = [
        Field(name=column, type="integer", minimum=0, maximum=size - 1, required=True) for column, size in sizes.items()
    ]
    note = (
        "the columns hold codes, 0 to size - 1, made by whatever cut and numbered the table for mbi; "
        "give the table in these codes, as the file does not say what they stand for"
    )
    return converted_table(fields, notes=[note])


# -- YAML text that somebody else wrote; PyYAML is imported when first needed.


MAX_YAML_BYTES: Final = 8 * 2**20
"""Largest YAML file that is read: a megabyte takes some two seconds."""

_MAX_DEPTH: Final = 20


def parse_yaml(content: bytes, what: str) -> Any:  # noqa: ANN401
    """Return the value that the bytes of one YAML document hold, with YAML's own types: dates are dates."""
    try:
        import yaml  # noqa: PLC0415
    except ImportError:
        raise SchemaError(f"{what} is not JSON; to read YAML, run {install_command('connect')}", code="LW701") from None
    if len(content) > MAX_YAML_BYTES:
        raise SchemaError(f"{what} is larger than 8 MiB, the most that is read of YAML; write it as JSON", code="LW202")
    text = text_of(content, what)
    try:
        _check_shape(yaml, text, what)
        return yaml.load(text, Loader=_loader(yaml, what))  # noqa: S506 - made of a safe one
    except yaml.YAMLError as error:
        said = f"{what} is neither JSON nor YAML: {_reason(error)}; correct it there"
        raise SchemaError(said, code="LW202") from None
    except (ValueError, OverflowError):
        # Scalars that look like numbers and dates and are none: 2020-02-31, an integer of thousands of digits.
        said = f"{what} holds a number or date that does not exist; put it in quotes"
        raise SchemaError(said, code="LW202") from None


def _check_shape(yaml: Any, text: str, what: str) -> None:  # noqa: ANN401
    """Refuse aliases, which multiply, and deep nesting, before anything is built: the events come one by one."""
    depth = 0
    for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        if isinstance(event, yaml.AliasEvent):
            raise SchemaError(f"{what} repeats parts by anchors and aliases (& and *); write them out", code="LW202")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            said = f"{what} is nested more than {_MAX_DEPTH} deep; a description of tables needs five levels"
            raise SchemaError(said, code="LW202")


def _loader(yaml: Any, what: str) -> Any:  # noqa: ANN401
    """Return PyYAML's safe loader, compiled where there is one, that refuses a key that stands twice."""

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        """The safe loader with `construct_mapping` of this module."""

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:  # noqa: ANN401
            """Return a mapping node as a dict."""
            if isinstance(node, yaml.MappingNode):
                keys = [(key.tag, key.value) for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
                for _, key in find_duplicate(keys):
                    raise SchemaError(f"{what} has the key {quote(key)} twice in one object; remove one", code="LW202")
            return super().construct_mapping(node, deep=deep)

    return Loader


def _reason(error: Any) -> str:  # noqa: ANN401
    """Return what PyYAML found and where, on one line."""
    said = quote(getattr(error, "problem", None) or "characters that YAML does not allow").strip('"')
    mark = getattr(error, "problem_mark", None)
    return said if mark is None else f"{said} at line {mark.line + 1} column {mark.column + 1}"


# -- Every format, recognised by its content.


@dataclass(frozen=True, slots=True)
class _Format:
    """One format; `misfit` says what keeps a value that nearly fits from being of it."""

    name: str
    recognises: Callable[[object], bool]
    read: Callable[[object, str, str | None], ConvertedTable]  # value, what errors call its file, table asked for
    misfit: Callable[[object], str] | None = None
    read_tables: Callable[[object, str], ConvertedTables | None] | None = None  # all, where keys link them


def no_tables(read: Callable[[Any, str], ConvertedTable]) -> Callable[[Any, str, str | None], ConvertedTable]:
    """Return the reader of a format whose files describe one table, so that none can be asked for."""

    def read_one(value: object, name: str, table: str | None) -> ConvertedTable:
        if table is not None:
            said = f"{name} describes one table and does not name it; leave out the table {quote(table)}"
            raise SchemaError(said, code="LW262")
        return read(value, name)

    return read_one


# The loosest recogniser stands last: a domain of mbi is any object of whole numbers.
_FORMATS: Final = (
    _Format("Croissant", is_croissant, read_croissant),
    _Format("Frictionless metadata", is_frictionless, read_frictionless, read_tables=read_frictionless_tables),
    _Format("SDV metadata", is_sdv, read_sdv, read_tables=read_sdv_tables),
    _Format("SmartNoise SQL metadata", is_smartnoise, read_smartnoise, smartnoise_misfit),
    _Format("mbi domain", is_mbi, no_tables(read_mbi), mbi_misfit),
)


def read_foreign(source: object, *, table: str | None = None) -> ConvertedTable:
    """Read a description of a table that another tool wrote; its content says which format it is, not its name."""
    if is_class(source) or is_pandera(source):
        read = read_pandera if is_pandera(source) else read_class
        return no_tables(lambda value, _: read(value))(source, "the class", table)
    if isinstance(source, str | os.PathLike) and Path(source).suffix.lower() in PROGRAMS:
        return no_tables(lambda path, name: read_statistics(Path(path), name))(source, _named(source), table)
    value, name = _value_of(source)
    for form in _FORMATS:
        if form.recognises(value):
            return replace(form.read(value, name, table), format=form.name)
    if isinstance(source, str | os.PathLike):
        _refuse_table(Path(source), name)
    raise SchemaError(_unrecognised(value, name), code="LW260")


def read_foreign_tables(source: object) -> ConvertedTables | None:
    """Read all tables that another tool described, None where the file has one, or no keys between them."""
    if is_class(source) or is_pandera(source):
        return None
    if isinstance(source, str | os.PathLike) and Path(source).suffix.lower() in PROGRAMS:
        return None
    value, name = _value_of(source)
    form = next((form for form in _FORMATS if form.recognises(value)), None)
    found = None if form is None or form.read_tables is None else form.read_tables(value, name)
    return None if form is None or found is None else replace(found, format=form.name)


def _value_of(source: object) -> tuple[object, str]:
    """Return the value in a mapping or file, and what error sentences call it."""
    if isinstance(source, Mapping):
        return _plain(source, "the metadata"), "the metadata"
    if isinstance(source, str | os.PathLike):
        return _value_in(Path(source), _named(source)), _named(source)
    raise SchemaError(f"metadata is a path, a mapping or a class, got a {type(source).__name__}", code="LW260")


def _named(path: str | os.PathLike[str]) -> str:
    return f"metadata file {quote(Path(path).name)}"


def _unrecognised(value: object, name: str) -> str:
    """Return why a value is of no format: what nearly fits is named with the first thing that does not."""
    fields = value.get("fields") if isinstance(value, Mapping) else None
    if isinstance(fields, list) and fields and all(isinstance(each, Mapping) and "name" in each for each in fields):
        try:
            Schema.load_draft(value)  # type: ignore[arg-type]
        except SchemaError as error:
            return f"{name} looks like a schema of Lapwing already, but: {error}"
        return f"{name} is a schema of Lapwing already; use it as it is, or look at it with `lapwing schema check`"
    for form in _FORMATS:
        misfit = "" if form.misfit is None else form.misfit(value)
        if misfit:
            return f"{name} is nearly of the format {form.name}, but {misfit}"
    known = ", ".join(form.name for form in _FORMATS)
    return f"{name} is of no known format; known are {known}"


def _value_in(path: Path, name: str) -> object:
    """Return the value in a file."""
    try:
        content = read_content(path, "metadata file")
        begins = content.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
        if not begins:
            raise SchemaError(f"{name} is empty; give the file that your tool wrote", code="LW260")
        # JSON where it begins as an object or a list does, YAML otherwise.
        return parse_json(content, name) if begins in (b"{", b"[") else parse_yaml(content, name)
    except SchemaError:
        if path.is_file():
            _refuse_table(path, name)
        raise


def _refuse_table(path: Path, name: str) -> None:
    """Refuse a file that holds rows by its name, as what it holds is no metadata."""
    if path.name.lower().endswith(TABLES):
        said = f"{name} is no metadata, and a table by its name; `lapwing schema draft` makes a schema of a table"
        raise SchemaError(said, code="LW260") from None


def _plain(value: Mapping[str, Any], name: str) -> object:
    """Return a mapping as the JSON file that holds it would be read."""
    reason = "holds something that JSON has no word for"
    try:
        text = json.dumps(dict(value), default=_plain_part)
    except RecursionError:
        reason = "is nested too deeply"
    except (TypeError, ValueError):
        pass
    else:
        return parse_json(text.encode(), name)
    raise SchemaError(f"{name} {reason}; give what the file of your tool holds, or the file", code="LW260")


def _plain_part(value: object) -> object:
    """Return a part of a mapping that JSON does not know by itself: other mappings, days, NumPy's numbers."""
    if isinstance(value, Mapping):
        return dict(value)
    for name in ("isoformat", "tolist"):
        make = getattr(value, name, None)
        if callable(make):
            return make()
    raise TypeError
