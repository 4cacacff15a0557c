"""A file that another tool wrote → the reader of its format, recognised by its content."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lapwing.errors import SchemaError
from lapwing.schema.foreign.converted import Converted, Lack
from lapwing.schema.foreign.croissant import is_croissant, read_croissant
from lapwing.schema.foreign.csvw import is_csvw, read_csvw
from lapwing.schema.foreign.mbi import is_mbi, read_mbi
from lapwing.schema.foreign.nist import is_nist, read_nist
from lapwing.schema.foreign.sdv import is_sdv, read_sdv
from lapwing.schema.foreign.smartnoise import is_smartnoise, read_smartnoise
from lapwing.schema.foreign.yaml_text import parse_yaml
from lapwing.schema.reading import parse_json, read_content
from lapwing.schema.scalars import quote

__all__ = ["Converted", "Lack", "read_foreign"]


@dataclass(frozen=True, slots=True)
class _Format:
    """One format: what it is called, whether a value is of it, and its reader.

    A reader gets the value in the file, what error sentences call the file (such as ``metadata file "x.json"``),
    and the table that was asked for, which a format of single tables refuses (`no_tables`).
    """

    name: str
    recognises: Callable[[object], bool]
    read: Callable[[object, str, str | None], Converted]


def no_tables(read: Callable[[object, str], Converted]) -> Callable[[object, str, str | None], Converted]:
    """Return the reader of a format whose files describe one table, so that none can be asked for."""

    def read_one(value: object, name: str, table: str | None) -> Converted:
        if table is not None:
            raise SchemaError(f"{name} describes one table and does not name it; leave out the table {quote(table)}")
        return read(value, name)

    return read_one


# The loosest recogniser stands last: a domain of mbi is any object of whole numbers.
_FORMATS: Final = (
    _Format("Croissant", is_croissant, read_croissant),
    _Format("CSVW metadata", is_csvw, read_csvw),
    _Format("SDV metadata", is_sdv, read_sdv),
    _Format("SmartNoise SQL metadata", is_smartnoise, read_smartnoise),
    _Format("NIST data dictionary", is_nist, no_tables(read_nist)),
    _Format("mbi domain", is_mbi, no_tables(read_mbi)),
)


def read_foreign(path: str | os.PathLike[str], *, table: str | None = None) -> Converted:
    """Read a description of a table that another tool wrote.

    Parameters
    ----------
    path : path
        A JSON file of at most 64 MiB, or a YAML file of at most 8. Its content says which format it is, not
        its name.
    table : str or None
        Which table, where the file describes several.

    Returns
    -------
    Converted
        The schema, and what is missing from it.

    Raises
    ------
    SchemaError
        Where the file cannot be read, is of no known format, or is broken.
    """
    name = f"metadata file {quote(Path(path).name)}"
    value = _parse(read_content(path, "metadata file"), name)
    for form in _FORMATS:
        if form.recognises(value):
            return form.read(value, name, table)
    known = ", ".join(form.name for form in _FORMATS)
    raise SchemaError(f"{name} is of no known format; known are {known}")


def _parse(content: bytes, name: str) -> object:
    """Return the value in a file: JSON where it begins as an object or a list does, YAML otherwise."""
    begins = content.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    return parse_json(content, name) if begins in (b"{", b"[") else parse_yaml(content, name)
