"""What the R package asks of Lapwing: columns cross as buffers and settings as JSON, so that nobody guesses a type.

Private columns come in memory and stay there. An error comes back as its sentence and code, without a traceback.
"""

import contextlib
import inspect
import json
import os
import signal
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import lapwing as lw
from lapwing.errors import DataError, LapwingError, LapwingWarning, ParameterError

_LEAST = {"int32": -(2**31), "int64": -(2**63)}  # R's NA
_MOST_DAYS = 2**31 - 1
_MOST_MICROSECONDS = 9e18


def answer(name: str, *given: Any) -> dict[str, Any]:  # noqa: ANN401 - what R hands over
    """Call one of the functions below: its value and what it warned of, or why there is none: an error, or Ctrl-C."""
    with _interruptible(), warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", LapwingWarning)
        try:
            found = {"value": _ASKED[name](*given)}
        except LapwingError as error:
            found = {"error": str(error), "code": error.code, "kind": type(error).__name__}
        except KeyboardInterrupt:
            found = {"interrupted": True}
    told = [each.message for each in heard if isinstance(each.message, LapwingWarning)]
    return found | {"warnings": [{"message": str(each), "code": each.code} for each in told]}


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C end the work: reticulate's handler hears nothing more once Lapwing has held signals for a moment."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


# -- Schemas and settings.


def schema(source: str) -> lw.Schema:
    """Return the schema of a file, or of JSON text."""
    if not source.lstrip().startswith("{"):
        return lw.Schema.load(source)
    try:
        found = _plain(source)
    except ValueError:
        found = None
    if found is None:
        raise ParameterError("schema is no JSON; give a path, a list or JSON text that begins with {", code="LW206")
    return lw.Schema.load(found)


def fields(known: lw.Schema) -> str:
    """Return the schema in the file format, as JSON."""
    return json.dumps(known.to_dict())


def _plain(text: str) -> Any:  # noqa: ANN401 - JSON
    """Read JSON as R writes it: 1e+05 is a whole number."""
    return json.loads(text, parse_float=_number)


def _number(digits: str) -> int | float:
    value = float(digits)
    return int(value) if "." not in digits and value.is_integer() else value


def _settings(verb: Callable[..., Any], text: str) -> dict[str, Any]:
    """Return the settings of a verb, which must know them."""
    found = _plain(text)
    known = [name for name, each in inspect.signature(verb).parameters.items() if each.kind is each.KEYWORD_ONLY]
    unknown = sorted(set(found) - set(known))
    if unknown:
        said = f"there is no setting {unknown[0]!r}; {verb.__name__} takes {', '.join(known)}"
        raise ParameterError(said, code="LW308")
    if isinstance(found.get("mechanism"), dict):
        found["mechanism"] = _mechanism(found["mechanism"])
    return found


def _mechanism(settings: dict[str, Any]) -> object:
    """Return the mechanism of a name with settings."""
    name = settings.pop("name", None)
    kind = next((getattr(lw, each) for each in lw.__all__ if each.lower() == str(name).lower()), None)
    if kind is None or not hasattr(kind, "run"):
        raise ParameterError(f"there is no mechanism {name!r}; see docs/mechanisms.md", code="LW305")
    unknown = sorted(set(settings) - set(inspect.signature(kind).parameters))
    if unknown:
        raise ParameterError(f"{kind.__name__} has no setting {unknown[0]!r}; leave it out", code="LW306")
    return kind(**{key: tuple(value) if isinstance(value, list) else value for key, value in settings.items()})


def _conditions(text: str) -> Any:  # noqa: ANN401 - whatever `where` takes
    """Return conditions from JSON, in which a range is an object of two ends."""

    def read(pairs: list[tuple[str, Any]]) -> Any:  # noqa: ANN401 - a range, or a dict
        found = dict(pairs)
        return lw.between(*found["lapwing_between"]) if "lapwing_between" in found else found

    return json.loads(text, parse_float=_number, object_pairs_hook=read)


# -- Columns from R.


def frame(columns: Sequence[Mapping[str, Any]], rows: float) -> pl.DataFrame:
    """Return R's columns as a Polars frame."""
    names = [column["name"] for column in columns]
    twice = [name for place, name in enumerate(names) if name in names[:place]]
    if twice:
        said = f'the table has more than one column "{twice[0]}"; rename or drop all but one'
        raise DataError(said, code="LW105")
    return pl.DataFrame([_COLUMNS[each["kind"]](each, int(rows)).alias(each["name"]) for each in columns])


def _values(column: Mapping[str, Any], dtype: str) -> np.ndarray:
    return np.frombuffer(column["data"], dtype=dtype)


def _whole(column: Mapping[str, Any], dtype: str) -> pl.Series:
    values = _values(column, dtype)
    return pl.Series(values).set(pl.Series(values == _LEAST[dtype]), None)


def _texts(column: Mapping[str, Any]) -> pl.Series:
    """Return text cells from places in a list of texts, which are kept as bytes where one of them is no UTF-8."""
    listed = bytes(column["levels"]).split(b"\0")[:-1]
    try:
        levels = pl.Series([level.decode() for level in listed], dtype=pl.String)
    except UnicodeDecodeError:
        levels = pl.Series(listed, dtype=pl.Binary)
    return levels.gather(_whole(column, "int32") - 1)


def _days(column: Mapping[str, Any]) -> pl.Series:
    days = np.floor(_values(column, "float64"))
    missing = ~np.isfinite(days)
    whole = np.clip(np.where(missing, 0, days), -_MOST_DAYS, _MOST_DAYS).astype(np.int32)
    return pl.Series(whole).set(pl.Series(missing), None).cast(pl.Date)


def _moments(column: Mapping[str, Any]) -> pl.Series:
    microseconds = np.round(_values(column, "float64") * 1e6)
    missing = ~np.isfinite(microseconds)
    whole = np.clip(np.where(missing, 0, microseconds), -_MOST_MICROSECONDS, _MOST_MICROSECONDS).astype(np.int64)
    return pl.Series(whole).set(pl.Series(missing), None).cast(pl.Datetime("us"))


_COLUMNS: dict[str, Callable[[Mapping[str, Any], int], pl.Series]] = {
    "logical": lambda column, _: _whole(column, "int32").cast(pl.Boolean),
    "integer": lambda column, _: _whole(column, "int32"),
    "integer64": lambda column, _: _whole(column, "int64"),
    "double": lambda column, _: pl.Series(_values(column, "float64")),
    "text": lambda column, _: _texts(column),
    "date": lambda column, _: _days(column),
    "moment": lambda column, _: _moments(column),
    # Of a type that no field can hold: 0 where there is something.
    "other": lambda column, _: _whole(column, "int32").cast(pl.Int64).cast(pl.Duration("us")),
    "nested": lambda _, rows: pl.Series([None] * rows, dtype=pl.List(pl.Int64)),
}


# -- Columns to R.


def columns(table: pl.DataFrame, wide: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return the columns of a frame of released or public values as R reads them.

    wide: the columns of whole numbers that go over in 64 bits; others as R's doubles.
    """
    wide = [wide] if isinstance(wide, str) else wide
    return [_column(each, each.name in wide) | {"name": each.name} for each in table.get_columns()]


def _column(column: pl.Series, is_wide: bool) -> dict[str, Any]:
    kind, levels = column.dtype, b""
    if kind == pl.Boolean:
        sent, name = column.cast(pl.Int32), "logical"
    elif kind == pl.Date:
        sent, name = column.to_physical().cast(pl.Float64), "date"
    elif isinstance(kind, pl.Datetime):
        sent, name = column.cast(pl.Datetime("us")).to_physical() / 1e6, "moment"
    elif kind.is_integer() and is_wide:
        sent, name = column.cast(pl.Int64), "integer64"
    elif kind.is_numeric():
        sent, name = column.cast(pl.Float64), "double"
    else:
        texts = column.cast(pl.String)
        listed = texts.drop_nulls().unique(maintain_order=True)
        levels = b"".join(text.replace("\0", "\ufffd").encode() + b"\0" for text in listed)
        sent, name = texts.cast(pl.Enum(listed)).to_physical().cast(pl.Int32) + 1, "text"
    missing = sent.is_null().to_numpy().astype(np.int32)
    data = sent.fill_null(0).to_numpy()
    return {
        "kind": name,
        "data": bytearray(data.tobytes()),
        "missing": bytearray(missing.tobytes()),
        "levels": bytearray(levels),
    }


# -- Verbs.


def synthesize(data: pl.DataFrame | str, known: lw.Schema, settings: str) -> lw.Release:
    """Make a release of a frame, or of a file."""
    return lw.synthesize(data, known, **_settings(lw.synthesize, settings))


def load(path: str) -> lw.Release:
    """Read a release from its file."""
    return lw.load(path, kind="polars")


def schema_of(release: lw.Release) -> lw.Schema:
    """Return the schema of a release."""
    return release.schema


def sample(
    release: lw.Release, n: float | None, seed: float | None, where: pl.DataFrame | str | None, wide: Sequence[str]
) -> list[dict[str, Any]]:
    """Draw rows, in the types of the schema."""
    conditions = _conditions(where) if isinstance(where, str) else where
    parts = list(release.frames(_whole_or_itself(n), seed=_whole_or_itself(seed), where=conditions))
    return columns(pl.concat(parts), wide)


def _whole_or_itself(number: float | None) -> Any:  # noqa: ANN401 - checked by the caller
    return int(number) if isinstance(number, float) and number.is_integer() else number


def query(release: lw.Release, text: str) -> list[dict[str, Any]]:
    """Return a contingency table."""
    return columns(release.query(**_plain(text)))


def accuracy(release: lw.Release, text: str, where: str | None) -> dict[str, str]:
    """Return what may be said of the accuracy: text, and JSON."""
    condition = {} if where is None else {"where": _conditions(where)}
    found = release.accuracy(**_plain(text), **condition)
    return _told(found, getattr(found, "summary", None) or getattr(found, "text", None) or repr(found))


def certificate(release: lw.Release) -> dict[str, str]:
    """Return the certificate: text, and JSON."""
    return _told(release.certificate, release.certificate.text)


def plan(known: lw.Schema, settings: str) -> dict[str, str]:
    """Return a plan: text, and JSON."""
    found = lw.plan(known, **_settings(lw.plan, settings))
    return _told(found, found.text)


def evaluate(
    real: pl.DataFrame | str, synthetic: pl.DataFrame | str, known: lw.Schema, settings: str
) -> dict[str, str]:
    """Compare two tables: text, and JSON."""
    found = lw.evaluate(real, synthetic, known, **_settings(lw.evaluate, settings))
    return _told(found, getattr(found, "summary", None) or repr(found))


def _told(found: Any, text: Any) -> dict[str, str]:  # noqa: ANN401 - each has `to_dict`
    return {"text": text() if callable(text) else str(text), "json": json.dumps(found.to_dict())}


def save(release: lw.Release, path: str) -> None:
    """Write a release to a file."""
    release.save(path)


def shown(release: lw.Release) -> str:
    """Return a release on one line."""
    return repr(release)


def example() -> dict[str, Any]:
    """Return the bundled sample of the census table, which is public, and the path of its schema."""
    folder = Path(os.path.dirname(lw.__file__), "examples")
    return {
        "columns": columns(pl.read_parquet(folder / "adult.parquet")),
        "schema": str(folder / "adult.schema.json"),
    }


_ASKED: dict[str, Callable[..., Any]] = {
    each.__name__: each
    for each in (
        accuracy, certificate, evaluate, example, fields, frame, load, plan, query, sample, save, schema, schema_of,
        shown, synthesize,
    )
}  # fmt: skip
