"""Rows of a release on their way out: how they are prepared, and how they are written to a file or a folder."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lapwing.errors import ParameterError
from lapwing.model.model import ReleasedModel
from lapwing.model.rows import CHUNK, RowChunks
from lapwing.release.conditional import Where, conditional_chunks, conditional_frames
from lapwing.rows.out.outputs import is_folder_name, rows_format, whole_files
from lapwing.rows.threads import in_order, workers
from lapwing.runs.generators import checked_seed, fresh_seed, generator
from lapwing.schema.scalars import path_text, told
from lapwing.schema.schemas import Schema

if TYPE_CHECKING:
    import polars as pl

    from lapwing.rows.readers import Kind


Written = Callable[[int], None]

ROWS_PER_FILE: Final = 2**22
"""Of a folder, where nothing else is asked for."""


@dataclass(frozen=True, slots=True, eq=False)
class RowsOut:
    """Rows that are asked for, before any is drawn.

    chunks: they can be drawn in any order, by several threads and elsewhere; None where each stands for a row of a
    table of conditions.
    """

    chunks: RowChunks | None
    one_by_one: "Callable[[], Iterator[pl.DataFrame]]"

    def frames(self, threads: int = 1) -> "Iterator[pl.DataFrame]":
        """Draw the rows as frames, in order; at least one, empty where there is no row."""
        if self.chunks is None or threads == 1:
            return self.one_by_one()
        return in_order(self.chunks.frame, range(self.chunks.count), threads=threads)


def rows_out(
    model: ReleasedModel, schema: Schema, n: int | None, where: Where, seeds: tuple[int | None, int | None]
) -> RowsOut:
    """Prepare the rows of `Release.sample`.

    seeds: the one asked for, and the release's own; a fresh one where both are None.
    """
    asked, own = checked_seed(seeds[0]), seeds[1]
    seed = own if asked is None else asked
    chosen = fresh_seed() if seed is None else seed
    chunks = conditional_chunks(model, schema, n, where, generator(chosen, "rows"))
    if chunks is not None:
        return RowsOut(chunks, chunks.frames)
    frames = conditional_frames(model, schema, n, where, generator(chosen, "rows"))
    return RowsOut(None, lambda: frames)


def rows_frame(rows: RowsOut, schema: Schema, kind: "Kind") -> Any:  # noqa: ANN401 - a frame of any kind
    """Return rows as the frame of `Release.sample`, drawn when Dask or Spark asks for them."""
    import polars as pl  # noqa: PLC0415 - it takes a quarter of a second to import

    from lapwing.rows.out.writers import library_of, to_frame_kind  # noqa: PLC0415

    if kind in {"dask", "spark"}:
        with library_of(kind):
            from lapwing.release import distributed_rows as engines  # noqa: PLC0415 - on these engines only

            if rows.chunks is None:
                return engines.engine_rows(pl.concat(rows.frames()), schema, kind)
            if kind == "dask":
                return engines.dask_rows(rows.chunks)
            return engines.spark_rows(rows.chunks, engines.active_session())
    return to_frame_kind(pl.concat(rows.frames(workers())), kind)


def write_to(rows: RowsOut, place: Path, name: Path, *, rows_per_file: int = ROWS_PER_FILE, written: Written) -> None:
    """Write rows to a place that is kept for them.

    name: what it will be called: a file that ends in ``.parquet`` or ``.csv``, or a folder; written: is told the number
    of rows of each frame, by any thread.
    """
    from lapwing.rows.out import writers  # noqa: PLC0415 - polars takes a quarter of a second to import

    threads = workers()
    if not place.is_dir():
        writers.write_rows(_told(rows.frames(threads), written), place, rows_format(name))
        return
    frames_per_file = _frames_per_file(rows_per_file)
    if rows.chunks is None:
        made = list(_told(rows.frames(), written))
        writers.write_parts(made.__getitem__, len(made), place, frames_per_file=frames_per_file, threads=1)
        return
    chunks = rows.chunks

    def frame(number: int) -> "pl.DataFrame":
        found = chunks.frame(number)
        written(found.height)
        return found

    writers.write_parts(frame, chunks.count, place, frames_per_file=frames_per_file, threads=threads)


def write_release(rows: RowsOut, path: str | Path, *, rows_per_file: int) -> None:
    """Write rows to a file or folder, whole or not at all; see `Release.write`."""
    text = path_text("path", path)
    target, is_folder = Path(text), is_folder_name(text)
    if not is_folder:
        rows_format(target)
    _frames_per_file(rows_per_file)
    with whole_files([target], folders=[target] if is_folder else []) as (place,):
        write_to(rows, place, target, rows_per_file=rows_per_file, written=lambda _: None)


def _frames_per_file(rows_per_file: int) -> int:
    """Return how many whole chunks a file of a folder holds."""
    if isinstance(rows_per_file, bool) or not isinstance(rows_per_file, int) or rows_per_file < CHUNK:
        raise ParameterError(
            f"rows_per_file must be a whole number of at least {CHUNK}, got {told(rows_per_file)}", code="LW302"
        )
    return rows_per_file // CHUNK


def _told(frames: "Iterator[pl.DataFrame]", written: Written) -> "Iterator[pl.DataFrame]":
    """Pass frames on, and tell of each how many rows it had when the next one is asked for."""
    for frame in frames:
        yield frame
        written(frame.height)
