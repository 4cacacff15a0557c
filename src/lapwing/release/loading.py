"""Saved releases, read again."""

from pathlib import Path

from lapwing.model.files import load_tables
from lapwing.release.release import Release
from lapwing.rows.kinds import FrameLayout, Kind, check_kind
from lapwing.schema.scalars import path_text
from lapwing.schema.schemas import Schema


def load(path: str | Path, kind: Kind = "path") -> Release:
    """Read a ``.lapwing`` file; safe on files from strangers.

    Parameters
    ----------
    path : path
        The file.
    kind : {"pandas", "polars", "pyarrow", "path", "duckdb", "spark"}, default "path"
        The frames that rows and tables come in, as for a table of this kind; Polars for ``path``. A file holds no types
        of a frame: pandas' are NumPy's, and `Release.sample` takes others as ``like``. Rows on Spark need an active
        session.

    Returns
    -------
    Release
        Of one table or of several.

    Raises
    ------
    ParameterError
        If there is no such kind of frame.
    DataError
        If the file cannot be read or is not a Lapwing model file.
    """
    check_kind(kind)
    certificate, parts = load_tables(Path(path_text("path", path)))
    written = {} if certificate.linked is None else certificate.linked.written
    layouts = {name: _layout(kind, written.get(name, part.schema)) for name, part in parts.items()}
    return Release(parts=parts, certificate=certificate, layouts=layouts)


def _layout(kind: Kind, written: Schema) -> FrameLayout:
    """Return how frames of a kind hold rows that are written under a schema."""
    if kind != "pandas":
        return FrameLayout(kind)
    from lapwing.rows.layouts import layout_like  # noqa: PLC0415 - it imports polars

    return layout_like(kind, written)
