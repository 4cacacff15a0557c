"""Rows of a release on their way out: how they are prepared, and how they are written to a file or a folder."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import numpy as np

from lapwing.errors import LapwingWarning, ParameterError, warn
from lapwing.model.model import ReleasedModel
from lapwing.model.rows import CHUNK, RowChunks, row_chunks, sample_codes, seed_text
from lapwing.model.sampling.atom_matches import chosen_atoms
from lapwing.model.sampling.conditions import FEW_ATOMS, ConditionedModel, condition_model, support
from lapwing.model.sampling.given_rows import refused_rows, rows_given
from lapwing.model.statistics.expressions import Condition, Stat
from lapwing.on_demand import extra
from lapwing.release.runs.generators import chosen_seed, generator
from lapwing.release.runs.watching import ProgressLike, progress_counter, show_progress
from lapwing.rows.kinds import FrameLayout, Kind, Like
from lapwing.rows.out.outputs import check_made_up, is_folder_name, rows_format, whole_files
from lapwing.rows.threads import in_order, workers
from lapwing.schema.scalars import check_row_count, check_whole_number, path_text, safe_repr
from lapwing.schema.schemas import Schema

if TYPE_CHECKING:
    import polars as pl

    from lapwing.rows.given import GivenRows
    from lapwing.schema.fields import Field

    Conditions = list[tuple[np.ndarray, GivenRows | None]]


Where = Any
"""A mapping of column to value, list of values or `lw.between`; a text; or a table or list of mappings, a row each."""

Drawn = Literal["atoms", "sweeps", "nearest", "nothing"]

_MOST_SHARE: Final = 1e9  # of a value, beside those of others
_MANY: Final = 0.1  # of the condition rows: where more of them have little support, a warning says so


@dataclass(frozen=True, slots=True)
class Support:
    """How well a released model knows the rows that meet a condition.

    effective_atoms: effective number of the model's atoms (patterns) that match, ``(sum of w)**2 / (sum of w**2)``;
    drawn: how rows are drawn: from the atoms that match; with fewer than 50 of them by Gibbs sweeps of the log-linear
    part, where the model has one; from atoms that match in some of the columns; or not at all.
    """

    effective_atoms: float
    share: float
    drawn: Drawn

    @property
    def text(self) -> str:
        """The support on one line."""
        how = {
            "atoms": "rows are drawn from these",
            "sweeps": "rows are drawn by Gibbs sweeps of the log-linear part",
            "nearest": "rows are drawn from those that match in some columns",
            "nothing": "no row can be drawn",
        }
        return f"{self.effective_atoms:.1f} effective atoms, {self.share:.3%} of the rows; {how[self.drawn]}"


def with_index_of(where: Where, frame: Any) -> Any:  # noqa: ANN401 - a frame of any kind
    """Return synthetic rows with the index of the conditions that they stand for, where both are pandas frames.

    Returns as it is where one of the two has no index.
    """
    if isinstance(where, Mapping | list | tuple) or not (hasattr(where, "iloc") and hasattr(frame, "iloc")):
        return frame
    return frame.set_axis(where.index, axis=0)


def of_kind(frame: "pl.DataFrame", kind: Kind) -> Any:  # noqa: ANN401 - a frame of any kind
    """Return a frame as the library of a kind knows it."""
    from lapwing.rows.out.writers import to_frame_kind  # noqa: PLC0415 - it imports polars

    return to_frame_kind(frame, kind)


def layout_of(like: Like, schema: Schema) -> FrameLayout:
    """Return the layout of a frame that rows shall look like."""
    from lapwing.rows.layouts import layout_like  # noqa: PLC0415 - it imports polars

    return layout_like(like, schema)


def support_of(model: ReleasedModel, schema: Schema, where: Where) -> "Support | pl.DataFrame":
    """Return the support of a condition, or of each row of a table of them; see `Release.support`."""
    has_part = model.log_linear is not None
    if isinstance(where, Mapping | Stat | str):
        atoms, share = support(model, schema, where)
        is_few = has_part and atoms < FEW_ATOMS
        if not atoms and has_part and not _has_rows(model, schema, where):
            return Support(atoms, share, "nothing")
        return Support(atoms, share, "sweeps" if is_few else "atoms" if atoms else "nothing")
    import polars as pl  # noqa: PLC0415 - it takes a quarter of a second to import

    conditions = _read(where, schema)
    shares = np.ones(_count_of(conditions))
    effective = np.full(shares.size, support(model, schema, {})[0])
    is_refused = np.zeros(shares.size, dtype=bool)
    for numbers, given in conditions:
        if given is not None and numbers.size:
            # Support is no matter of chance: any stream gives the same.
            rng = generator(0, "rows")
            choice = chosen_atoms(model, given.codes, rng)
            effective[numbers], shares[numbers] = choice.effective, choice.shares
            is_refused[numbers] = refused_rows(model, schema, given.codes, choice, rng)
    few, none = ("sweeps", "sweeps") if has_part else ("atoms", "nearest")
    drawn = np.where(effective == 0, none, np.where(effective < FEW_ATOMS, few, "atoms"))
    drawn = np.where(is_refused, "nothing", drawn)
    return pl.DataFrame({"effective_atoms": effective, "share": shares, "drawn": drawn.tolist()})


def _has_rows(model: ReleasedModel, schema: Schema, where: Condition) -> bool:
    """Return whether a condition that no atom meets leaves rows all the same: rules may forbid them."""
    try:
        condition_model(model, schema, where)
    except ParameterError:
        return False
    return True


def _read(where: Where, schema: Schema) -> "Conditions":
    """Return condition rows, those with the same columns together, and their places."""
    from lapwing.rows.given import given_rows, listed_rows  # noqa: PLC0415 - they import polars

    if isinstance(where, list | tuple):
        return listed_rows(cast("Sequence[Mapping[str, object]]", where), schema)
    given = given_rows(where, schema)
    return [(np.arange(given.values.height), given)]


def filled_frame(
    model: ReleasedModel,
    schema: Schema,
    data: Any,  # noqa: ANN401 - frames
    seeds: tuple[int | None, int | None],
) -> Any:  # noqa: ANN401
    """Return a table with its gaps filled; see `Release.impute` and `rows_out`."""
    from lapwing.rows.entry import source_of  # noqa: PLC0415 - it imports polars
    from lapwing.rows.given import rows_with_gaps  # noqa: PLC0415

    conditions, source = rows_with_gaps(data, schema), source_of(data)
    names = source.names(Schema(fields=schema.columns))
    own = Schema(fields=tuple(schema.field(name) for name in names))
    rng = generator(chosen_seed(seeds[1] if seeds[0] is None else seeds[0]), "rows")
    frames = _given_frames(model, schema, conditions, rng)
    rows = RowsOut(own.fields, _count_of(conditions), None, lambda: (frame.select(names) for frame in frames))
    return with_index_of(data, rows_frame(rows, own, layout_of(data, own) if source.form == "frame" else FrameLayout()))


def balanced(
    schema: Schema, rows: int, balance: Mapping[str, object], seeds: tuple[int | None, int | None]
) -> "pl.DataFrame":
    """Return condition rows that give one column its values in stated shares, in random order.

    balance: a column, and ``"equal"`` or the share of each of its values.
    """
    import polars as pl  # noqa: PLC0415 - it takes a quarter of a second to import

    ((name, asked),) = balance.items() if isinstance(balance, Mapping) and len(balance) == 1 else (("", None),)
    field = schema.field(name) if name in schema.names else None
    values = () if field is None else (False, True) if field.type == "boolean" else field.categories or ()
    if asked == "equal" and values:
        shares: Mapping[Any, Any] = dict.fromkeys(values, 1)
    elif isinstance(asked, Mapping) and all(_is_share(each) for each in asked.values()) and sum(asked.values()) > 0:
        shares = asked
    else:
        raise ParameterError(
            'balance must map one column to "equal", where its values are listed, or to a share of each value, '
            f"got {safe_repr(balance)}",
            code="LW325",
        )
    weights = np.array(list(shares.values()), dtype=np.float64)
    ends = np.rint(np.cumsum(weights / weights.sum()) * rows).astype(np.int64)
    counts = np.diff(ends, prepend=0)
    places = np.repeat(np.arange(counts.size), counts)
    generator(chosen_seed(seeds[1] if seeds[0] is None else seeds[0]), "order").shuffle(places)
    return pl.DataFrame({name: pl.Series(list(shares), dtype=pl.Object, strict=False).gather(places)})


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= _MOST_SHARE


def _count_of(conditions: "Conditions") -> int:
    return sum(numbers.size for numbers, _ in conditions)


def _given_frames(
    model: ReleasedModel, schema: Schema, conditions: "Conditions", rng: np.random.Generator
) -> Iterator["pl.DataFrame"]:
    """Draw one row for each condition row, and give it the values as they were given."""
    from lapwing.rows.out.decode import decode  # noqa: PLC0415 - it imports polars

    rows = _count_of(conditions)
    codes, made_up = _codes(model, schema, conditions, rng), seed_text(rng)
    for start in range(0, max(rows, 1), CHUNK):
        stop = min(start + CHUNK, rows)
        frame = decode({name: values[start:stop] for name, values in codes.items()}, schema, start, made_up)
        for numbers, given in conditions:
            here = np.flatnonzero((numbers >= start) & (numbers < stop))
            if given is not None and here.size:
                values, places = given.values[here], numbers[here] - start
                frame = frame.with_columns(frame[name].scatter(places, values[name]) for name in values.columns)
        yield frame


def _codes(
    model: ReleasedModel, schema: Schema, conditions: "Conditions", rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Return the codes of one row for each condition row; warn where the model knows little of them."""
    rows = _count_of(conditions)
    codes = {field.name: np.empty(rows, dtype=field.domain.dtype) for field in schema.columns}
    effective = np.full(rows, np.inf)
    for numbers, given in conditions:
        for start in range(0, numbers.size, CHUNK):
            places = numbers[start : start + CHUNK]
            if given is None:
                (drawn,) = sample_codes(model, schema, places.size, rng, chunk=CHUNK)
            else:
                part = {name: each[start : start + CHUNK] for name, each in given.codes.items()}
                found = rows_given(model, schema, part, rng, called=places + 1)
                drawn, effective[places] = found.codes, found.support
            for name, values in drawn.items():
                codes[name][places] = values
    if model.log_linear is None and model.atoms > 1:
        _warn(effective)
    return codes


def _warn(effective: np.ndarray) -> None:
    """Say how many condition rows a model without a log-linear part knows little of."""
    none, few = int((effective == 0).sum()), int((effective < FEW_ATOMS).sum())
    if none:
        text = (
            f"no atom of the model matches {none} of {effective.size} condition rows: what they do not give was drawn "
            "from atoms that match in some of their columns only; give fewer columns"
        )
    elif few > _MANY * effective.size:
        text = (
            f"fewer than {FEW_ATOMS} effective atoms of the model match each of {few} of {effective.size} condition "
            "rows, which will repeat few patterns; give fewer columns"
        )
    else:
        return
    warn(LapwingWarning(text, code="LW322"))


# -- Rows on their way out.


Written = Callable[[int], None]

WRITING: Final = {"first": "writing rows", "of": "of the rows written"}  # what is shown while rows are written

ROWS_PER_FILE: Final = 2**22  # of a folder, where nothing else is asked for


@dataclass(frozen=True, slots=True, eq=False)
class RowsOut:
    """Rows that are asked for, before any is drawn.

    fields: their columns; chunks: they can be drawn in any order, by several threads and elsewhere; None where each
    stands for a row of a table of conditions.
    """

    fields: "tuple[Field, ...]"
    total: int
    chunks: RowChunks | None
    one_by_one: "Callable[[], Iterator[pl.DataFrame]]"

    def __repr__(self) -> str:
        return "RowsOut(none is drawn yet; see frames)"

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
    check_made_up(schema.fields)
    rng = generator(chosen_seed(seeds[1] if seeds[0] is None else seeds[0]), "rows")
    if where is None or isinstance(where, Mapping | Stat | str):
        given = ConditionedModel(model, is_matched=True) if where is None else condition_model(model, schema, where)
        count = check_row_count("the number of rows", given.model.rows if n is None else n)
        chunks = row_chunks(given.model, schema, count, rng, is_matched=given.is_matched)
        return RowsOut(schema.fields, count, chunks, chunks.frames)
    conditions = _read(where, schema)
    rows = _count_of(conditions)
    if n is not None and n != rows:
        raise ParameterError(
            f"where has {rows} condition rows and gives a row for each, but n is {n!r}; leave n out", code="LW325"
        )
    frames = _given_frames(model, schema, conditions, rng)
    return RowsOut(schema.fields, rows, None, lambda: frames)


def rows_frame(rows: RowsOut, schema: Schema, layout: FrameLayout) -> Any:  # noqa: ANN401 - a frame of any kind
    """Return rows as the frame of `Release.sample`, drawn when Spark asks for them."""
    import polars as pl  # noqa: PLC0415 - it takes a quarter of a second to import

    from lapwing.rows.out.writers import library_of, to_layout  # noqa: PLC0415

    kind = layout.kind
    if kind == "spark":
        with library_of(kind):
            engines = extra("Spark rows")

            if rows.chunks is None:
                return engines.rows_drawn_here(pl.concat(rows.frames()), schema)
            return engines.spark_rows(rows.chunks, engines.active_session())
    return to_layout(pl.concat(rows.frames(workers())), layout, schema)


def write_to(rows: RowsOut, place: Path, name: Path, *, rows_per_file: int = ROWS_PER_FILE) -> None:
    """Write rows to a place that is kept for them, and tell whoever watches how many are written.

    name: what it will be called: a file that ends in ``.parquet`` or ``.csv``, or a folder.
    """
    from lapwing.rows.out import writers  # noqa: PLC0415 - polars takes a quarter of a second to import

    threads, written = workers(), progress_counter(rows.total, WRITING["first"])
    if not place.is_dir():
        frames = _count_frames(rows.frames(threads), written)
        writers.write_rows(frames, place, rows_format(name), fields=rows.fields)
        return
    frames_per_file = _frames_per_file(rows_per_file)
    if rows.chunks is None:
        made = list(_count_frames(rows.frames(), written))
        writers.write_parts(made.__getitem__, len(made), place, frames_per_file=frames_per_file, threads=1)
        return
    chunks = rows.chunks

    def frame(number: int) -> "pl.DataFrame":
        found = chunks.frame(number)
        written(found.height)
        return found

    writers.write_parts(frame, chunks.count, place, frames_per_file=frames_per_file, threads=threads)


def write_release(rows: RowsOut, path: str | Path, rows_per_file: int, progress: ProgressLike) -> None:
    """Write rows to a file or folder, whole or not at all; see `Release.write`."""
    text = path_text("path", path)
    target, is_folder = Path(text), is_folder_name(text)
    if not is_folder:
        rows_format(target)
    _frames_per_file(rows_per_file)
    with show_progress(progress, **WRITING), whole_files([target], folders=[target] if is_folder else []) as (place,):
        write_to(rows, place, target, rows_per_file=rows_per_file)


def _frames_per_file(rows_per_file: int) -> int:
    """Return how many whole chunks a file of a folder holds."""
    return check_whole_number("rows_per_file", rows_per_file, CHUNK, code="LW302") // CHUNK


def _count_frames(frames: "Iterator[pl.DataFrame]", written: Written) -> "Iterator[pl.DataFrame]":
    """Pass frames on, and tell of each how many rows it had when the next one is asked for."""
    for frame in frames:
        yield frame
        written(frame.height)
