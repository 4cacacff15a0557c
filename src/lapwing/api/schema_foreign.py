"""`Schema.from_foreign`: a schema from a file that another tool wrote."""

import os

from lapwing.schema.foreign.reading import read_foreign
from lapwing.schema.schemas import Schema

__all__ = ["from_foreign"]


def from_foreign(path: str | os.PathLike[str], *, table: str | None = None) -> Schema:
    """Return the schema that another tool's description of a table gives.

    Parameters
    ----------
    path : path
        A JSON file of at most 64 MiB, or a YAML file of at most 8; the format is recognised by what is in it.
    table : str or None
        Which table, where the file describes several.

    Returns
    -------
    Schema
        A draft where the file leaves anything open. Bounds, categories and ``required`` are taken where the file
        states them; every field is ``assumed``. ``lapwing schema convert`` says what is missing.

    Raises
    ------
    SchemaError
        Where the file cannot be read, is of no known format, or is broken.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "domain.json"
    >>> _ = path.write_text(json.dumps({"age": 85, "sex": 2}))
    >>> from_foreign(path).field("age").maximum
    84
    """
    return read_foreign(path, table=table).schema


Schema.from_foreign = staticmethod(from_foreign)
