"""Saved releases, read again."""

from pathlib import Path

from lapwing.model.files import load_release
from lapwing.release.release import Release
from lapwing.rows.layouts import layout_like
from lapwing.rows.readers import Kind, check_kind
from lapwing.schema.scalars import path_text


def load(path: str | Path, kind: Kind = "path") -> Release:
    """Read a ``.lapwing`` file; safe on files from strangers.

    Parameters
    ----------
    path : path
        The file.
    kind : {"pandas", "polars", "pyarrow", "path", "duckdb", "dask", "spark"}, default "path"
        The frames that rows and tables come in, as for a table of this kind; Polars for ``path``. A file holds no types
        of a frame: pandas' are NumPy's, and `Release.sample` takes others as ``like``. Rows on Spark need an active
        session.

    Raises
    ------
    ParameterError
        If there is no such kind of frame.
    DataError
        If the file cannot be read or is not a Lapwing model file.
    """
    check_kind(kind)
    saved = load_release(Path(path_text("path", path)))
    layout = layout_like(kind, saved.schema) if kind == "pandas" else None
    return Release(
        schema=saved.schema,
        model=saved.model,
        certificate=saved.certificate,
        noisy=saved.answers,
        kind=kind,
        layout=layout,
    )
