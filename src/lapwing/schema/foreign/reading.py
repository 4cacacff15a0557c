"""What another tool wrote about a table → the reader of its format, recognised by its content."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lapwing.errors import SchemaError
from lapwing.schema.files import parse_json, read_content
from lapwing.schema.foreign.converted import Converted, Lack
from lapwing.schema.foreign.croissant import is_croissant, read_croissant
from lapwing.schema.foreign.csvw import is_csvw, read_csvw
from lapwing.schema.foreign.mbi import is_mbi, mbi_misfit, read_mbi
from lapwing.schema.foreign.nist import is_nist, read_nist
from lapwing.schema.foreign.sdv import is_sdv, read_sdv
from lapwing.schema.foreign.smartnoise import is_smartnoise, read_smartnoise, smartnoise_misfit
from lapwing.schema.foreign.yaml_text import parse_yaml
from lapwing.schema.scalars import quote
from lapwing.schema.schemas import Schema

__all__ = ["Converted", "Lack", "read_foreign"]


@dataclass(frozen=True, slots=True)
class _Format:
    """One format: what it is called, whether a value is of it, and its reader.

    A reader gets the value in the file, what error sentences call the file (such as ``metadata file "x.json"``),
    and the table that was asked for, which a format of single tables refuses (`no_tables`). `misfit` says of a value
    that nothing recognises what keeps it from being of this format, or nothing where it does not look like it.
    """

    name: str
    recognises: Callable[[object], bool]
    read: Callable[[object, str, str | None], Converted]
    misfit: Callable[[object], str] | None = None


def no_tables(read: Callable[[object, str], Converted]) -> Callable[[object, str, str | None], Converted]:
    """Return the reader of a format whose files describe one table, so that none can be asked for."""

    def read_one(value: object, name: str, table: str | None) -> Converted:
        if table is not None:
            raise SchemaError(
                f"{name} describes one table and does not name it; leave out the table {quote(table)}", code="LW262"
            )
        return read(value, name)

    return read_one


_TABLES: Final = frozenset({".csv", ".tsv", ".parquet", ".pq", ".arrow", ".feather", ".xlsx", ".xls"})
# The loosest recogniser stands last: a domain of mbi is any object of whole numbers.
_FORMATS: Final = (
    _Format("Croissant", is_croissant, read_croissant),
    _Format("CSVW metadata", is_csvw, read_csvw),
    _Format("SDV metadata", is_sdv, read_sdv),
    _Format("SmartNoise SQL metadata", is_smartnoise, read_smartnoise, smartnoise_misfit),
    _Format("NIST data dictionary", is_nist, no_tables(read_nist)),
    _Format("mbi domain", is_mbi, no_tables(read_mbi), mbi_misfit),
)


def read_foreign(source: str | os.PathLike[str] | Mapping[str, Any], *, table: str | None = None) -> Converted:
    """Read a description of a table that another tool wrote.

    source: a JSON file of at most 64 MiB, or a YAML file of at most 8; or what such a file holds. Its content says
    which format it is, not its name.

    >>> read_foreign({"age": 85, "sex": 2}).format
    'mbi domain'
    """
    if isinstance(source, Mapping):
        name = "the metadata"
        value = _plain(source, name)
    elif isinstance(source, str | os.PathLike):
        name = f"metadata file {quote(Path(source).name)}"
        value = _value_in(Path(source), name)
    else:
        raise SchemaError(f"metadata is a path or a mapping, got a {type(source).__name__}", code="LW260")
    for form in _FORMATS:
        if form.recognises(value):
            return form.read(value, name, table)
    if not isinstance(source, Mapping):
        _refuse_table(Path(source), name)
    raise SchemaError(_unrecognised(value, name), code="LW260")


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
        return _parse(content, name)
    except SchemaError:
        if path.is_file():
            _refuse_table(path, name)
        raise


def _refuse_table(path: Path, name: str) -> None:
    """Refuse a file that holds rows by its name, as what it holds is no metadata."""
    if path.suffix.lower() in _TABLES:
        raise SchemaError(
            f"{name} is no metadata, and a table by its name; `lapwing schema draft` makes a schema of a table",
            code="LW260",
        ) from None


def _parse(content: bytes, name: str) -> object:
    """Return the value in a file: JSON where it begins as an object or a list does, YAML otherwise."""
    begins = content.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if not begins:
        raise SchemaError(f"{name} is empty; give the file that your tool wrote", code="LW260")
    return parse_json(content, name) if begins in (b"{", b"[") else parse_yaml(content, name)


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
