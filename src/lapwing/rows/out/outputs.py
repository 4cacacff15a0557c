"""Output files and folders that appear whole or not at all, and what files of rows are called.

Temporary files are made beside the targets before anything is spent; when the work is done they are flushed to the disk
and renamed, and when it fails they are removed and earlier versions stay.
"""

import contextlib
import os
import re
import stat
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, get_args

from lapwing.atomic import flush_folder, unwritable, writing
from lapwing.errors import DataError, LapwingWarning, ParameterError, visible, warn
from lapwing.on_demand import extra
from lapwing.rows.out.staging import alone_in, staging_folder
from lapwing.schema.scalars import is_encodable

if TYPE_CHECKING:
    import polars as pl

    from lapwing.schema.fields import Field

Format = Literal["parquet", "csv", "csv.gz", "sav", "dta"]

STATISTICS: Final[Collection[Format]] = ("sav", "dta")
"""Those of SPSS and Stata, which an extra writes."""
_FORMATS: Final[tuple[Format, ...]] = get_args(Format)
_PART: Final = re.compile(r"part-\d{5,}\.parquet")


def has_row_name(file: Path) -> bool:
    """Return whether a file's name says that it holds rows."""
    return _format(file) is not None


def _format(file: Path) -> Format | None:
    return next((found for found in _FORMATS if "".join(file.suffixes).lower().endswith(f".{found}")), None)


def rows_format(file: Path) -> Format:
    """Return the format that a file's name asks for.

    >>> rows_format(Path("rows.CSV"))
    'csv'
    """
    found = _format(file)
    if found is None:
        raise ParameterError(
            "the name of the rows' file must end in .parquet or .csv (also .csv.gz, .sav, .dta), got "
            f"{file.name!r}; rename it",
            code="LW114",
        )
    if found in STATISTICS:
        extra("statistics files").statistics_library(f".{found}")  # refused here where it is not installed
    return found


def check_made_up(fields: "Iterable[Field]") -> None:
    """Refuse fields of which rows cannot be made up here, before anything is paid or drawn."""
    if any(field.is_by_faker for field in fields):
        extra("made-up values").names_library()


def is_folder_name(text: str) -> bool:
    """Return whether rows go to a folder: by a slash at the end, or as it is one and not called like a file of rows."""
    separators = (os.sep,) if os.altsep is None else (os.sep, os.altsep)
    return text.endswith(separators) or (os.path.isdir(text) and not has_row_name(Path(text)))


def part_name(number: int) -> str:
    """Return what one file of a folder of rows is called.

    >>> part_name(7)
    'part-00007.parquet'
    """
    return f"part-{number:05d}.parquet"


def is_part(file: Path) -> bool:
    """Return whether a file could be one of a folder of rows that was written here, by its name."""
    return bool(_PART.fullmatch(file.name)) and file.is_file()


def is_table_file(file: Path, tables: Iterable[str]) -> bool:
    """Return whether a file could be one of a folder of tables of these names."""
    return file.is_file() and file.name in {f"{name}.{form}" for name in tables for form in ("parquet", "csv")}


@dataclass(frozen=True, slots=True)
class Place:
    """A target, with symbolic links followed, and where it is written until it is whole: in a hidden folder beside."""

    target: Path
    temporary: Path
    earlier: object = None  # which file or folder was there before


@contextlib.contextmanager
def whole_files(
    targets: Sequence[Path],
    inputs: Sequence[Path] = (),
    folders: Collection[Path] = (),
    replaces: Callable[[Path], bool] = is_part,
) -> Iterator[tuple[Path, ...]]:
    """Write a set of files that appear together, in order, when the block ends well.

    The last target vouches for the others: an earlier version of it is taken away first, so that a set that a crash cut
    short has none. Inputs are read, and must not be among the targets. Folders are those targets that are to be filled
    with files of rows; an earlier one is replaced if it holds nothing but what `replaces` is true of. Yields empty
    files, or folders, to write instead of the targets.

    Guarantee: wherever the process is killed, each target is absent, the earlier one, or whole, and the last one never
    stands beside others than it was written with. Two processes with the same last target put their files in place
    one after the other, and the later one warns of what it replaces.

    >>> from tempfile import mkdtemp
    >>> folder = Path(mkdtemp())
    >>> with whole_files([folder / "rows.csv"]) as (place,):
    ...     _ = place.write_text("a,b")
    >>> [file.name for file in folder.iterdir()]
    ['rows.csv']
    """
    for target in targets:
        _check_folder(target)
    real = _distinct(targets, inputs)
    inside = [Path(os.path.realpath(folder)) for folder in folders]
    _check_parts(inside, [*targets, *inputs], replaces)
    with writing(targets[-1]), contextlib.ExitStack() as hidden:
        places = _reserve(real, hidden, inside)
        yield tuple(place.temporary for place in places)
        for place in places:
            _make_durable(place.temporary)
        is_lost = _rename(places)
    if is_lost:
        said = f"another run wrote {targets[-1]} while this one ran; its files, and what it paid for them, are replaced"
        warn(LapwingWarning(f"{said}; give each run a name of its own, and finish that one from its transcript"))


def write_output(path: object, text: str, inputs: Sequence[Path] = ()) -> None:
    """Write a text file that appears whole or not at all."""
    if not isinstance(path, str | Path):
        raise ParameterError(f"path must be a path to write to, got {type(path).__name__}", code="LW304")
    with whole_files([Path(path)], inputs) as (place,):
        place.write_text(text, encoding="utf-8", newline="\n")


def _check_folder(target: Path) -> None:
    """Refuse a target whose folder has yet to be made, or whose name no certificate can tell."""
    if not is_encodable(str(target)) or "\0" in str(target):
        raise unwritable(target, "its name holds a zero byte, or bytes that are no text")
    if not os.path.lexists(os.path.realpath(target.parent)):
        raise DataError(f"the folder {target.parent} does not exist; make it first", code="LW115")


def _distinct(targets: Sequence[Path], inputs: Sequence[Path]) -> list[Path]:
    """Return the real paths of the targets, if no two files are the same one."""
    seen = {_identity(path): path for path in inputs}
    real = []
    for target in targets:
        if _identity(target) in seen:
            other = "read" if seen[_identity(target)] in inputs else "written"
            raise ParameterError(
                f"{target} is {other} by the same command already; give every output a file of its own",
                code="LW113",
            )
        seen[_identity(target)] = target
        real.append(Path(os.path.realpath(target)))
    return real


def _identity(path: Path) -> object:
    """Return what two names of one file have in common."""
    try:
        found = os.stat(path)
    except OSError:
        return os.path.normcase(os.path.realpath(path))
    return (found.st_dev, found.st_ino)


def _check_parts(folders: Sequence[Path], files: Sequence[Path], replaces: Callable[[Path], bool]) -> None:
    """Refuse to write a folder of rows where there is anything else, or a file in it."""
    for folder in folders:
        for file in files:
            if folder in Path(os.path.realpath(file)).parents:
                raise ParameterError(
                    f"{file} is in the folder {folder}, which is written as a whole; move one of them", code="LW113"
                )
        if os.path.isdir(folder) and not all(map(replaces, folder.iterdir())):
            raise ParameterError(
                f"{folder} is there already and holds other files than parts of rows; give a folder that does not "
                "exist yet",
                code="LW113",
            )


def _reserve(targets: Sequence[Path], hidden: contextlib.ExitStack, inside: Sequence[Path]) -> list[Place]:
    """Make an empty temporary file or folder for each target, in a hidden folder beside it."""
    folders: dict[Path, Path] = {}
    places: list[Place] = []
    for target in targets:
        is_folder = target in inside
        fault = _why_not(target, is_folder=is_folder)
        if fault is not None:
            raise unwritable(target, fault)
        with writing(target):
            if target.parent not in folders:
                folders[target.parent] = hidden.enter_context(staging_folder(target.parent))
            place = folders[target.parent] / f"{len(places)}{target.suffix}"
            if is_folder:
                place.mkdir()
            else:
                place.touch(exist_ok=False)
            places.append(Place(target, place, version(target)))
    return places


def _why_not(target: Path, *, is_folder: bool) -> str | None:
    """Return why nothing can be called so, or an existing thing must not be replaced by a file or folder, if so."""
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        return None
    except OSError as error:  # a name that is too long shows here, and not when the file is there
        return error.strerror
    if is_folder:
        return None if stat.S_ISDIR(mode) else "it is no folder"
    if stat.S_ISDIR(mode):
        return "it is a folder"
    if not stat.S_ISREG(mode):
        return "it is not a regular file"
    return None if os.access(target, os.W_OK) else "the file there is read-only"


def _make_durable(place: Path) -> None:
    """Wait until a temporary file or folder is on the disk."""
    for file in sorted(place.iterdir()) if place.is_dir() else [place]:
        with open(file, "r+b") as stream:
            os.fsync(stream.fileno())
    if place.is_dir():
        flush_folder(place)


def _rename(places: Sequence[Place]) -> bool:
    """Name each file, in order; the last one's old version goes first. Return whether it replaced a newer one."""
    *others, last = places
    with alone_in(last.target.parent) if others else contextlib.nullcontext():
        is_lost = version(last.target) not in (None, last.earlier)
        with _move_away(last, others[0]) if others else contextlib.nullcontext():
            _name(others)
            _name([last])
    return is_lost


@contextlib.contextmanager
def _move_away(place: Place, first: Place) -> Iterator[None]:
    """Move an earlier version away, and put it back where nothing has its new name yet: the old one is still true."""
    old = place.temporary.with_name(place.temporary.name + ".old")
    if place.target.exists():
        os.replace(place.target, old)
        flush_folder(place.target.parent)
    try:
        yield
    finally:
        if old.exists() and first.temporary.exists():
            os.replace(old, place.target)


def version(path: str | os.PathLike[str]) -> tuple[int, ...] | None:
    """Return what tells one version of a file or folder from others, if there is any."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino, found.st_mtime_ns)


def _name(places: Sequence[Place]) -> None:
    """Give each file its name, in order, and wait until the names are on the disk; no system replaces a folder."""
    for place in places:
        with _move_away(place, place) if place.temporary.is_dir() else contextlib.nullcontext():
            os.replace(place.temporary, place.target)
    for folder in {place.target.parent for place in places}:
        flush_folder(folder)


def to_standard_output(frames: Iterable["pl.DataFrame"]) -> int:
    """Write synthetic rows to standard output as CSV; return how many there were."""
    count = 0
    for number, frame in enumerate(frames):
        text = frame.write_csv(include_header=not number)
        sys.stdout.buffer.write((visible(text) if sys.stdout.isatty() else text).encode())
        count += frame.height
    sys.stdout.buffer.flush()
    return count
