"""Saved releases, read again."""

from pathlib import Path
from typing import cast

from lapwing.model.files import SavedRelease, load_tables
from lapwing.release.release import Release
from lapwing.rows.kinds import Kind, check_kind
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
        Of linked tables a `LinkedRelease`.

    Raises
    ------
    ParameterError
        If there is no such kind of frame.
    DataError
        If the file cannot be read or is not a Lapwing model file.
    """
    check_kind(kind)
    certificate, parts = load_tables(Path(path_text("path", path)))
    if certificate.linked is None:
        return _released(parts[""], kind, parts[""].schema)

    from lapwing.release.linked.release import LinkedRelease  # noqa: PLC0415

    written = certificate.linked.written
    tables = {name: _released(part, kind, written.get(name, part.schema)) for name, part in parts.items()}
    return cast("Release", LinkedRelease(tables=tables, certificate=certificate))


def _released(saved: SavedRelease, kind: Kind, written: Schema) -> Release:
    """Return the release of one table, whose rows are written under a schema."""
    layout = None
    if kind == "pandas":
        from lapwing.rows.layouts import layout_like  # noqa: PLC0415 - it imports polars

        layout = layout_like(kind, written)
    return Release(
        schema=saved.schema,
        model=saved.model,
        certificate=saved.certificate,
        noisy=saved.answers,
        kind=kind,
        layout=layout,
    )
