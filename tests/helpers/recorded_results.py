"""What a recorded run gives when it is replayed: digests of its rows and documents, and figures to compare loosely.

All is a function of transcript and settings but for two things, which are left out: the fingerprint of the code, which
certificates, reports and saved models name, and the version. Times stand in files of `Release.write` alone, which are
not made here. Replays use one thread of linear algebra: of several each sums a part, which changes last digits of
a model's weights. Digests are of one machine: another processor or library may round a sum otherwise, and other
libraries draw other charts. Where its fingerprint differs, figures are compared alone, within a tolerance.
"""

import contextlib
import hashlib
import json
import math
import platform
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Literal

import numpy as np
import polars as pl
import scipy.linalg  # noqa: F401 - so that the threads of its library are there when they are limited
from threadpoolctl import threadpool_info, threadpool_limits

import lapwing as lw
from lapwing.version import code_fingerprint

SEED: Final = 20
"""Of the rows that are drawn."""
LIBRARIES: Final = ("numpy", "scipy", "numba", "llvmlite", "polars", "highspy", "altair", "vl-convert-python", "jinja2")
COMMONEST: Final = 3
_TRANSCRIPT: Final = "run.jsonl"

Verb = Literal["release", "learning", "evaluation"]


@dataclass(frozen=True, kw_only=True)
class Run:
    """A paid run: what is bought of which table, under which schema and settings.

    table, schema: made when they are needed; mended: the schema under which a release goes on that ended because cells
    did not fit; files: texts that lie beside the transcript, by name.
    """

    table: Callable[[], Any]
    schema: Callable[[], Any]
    settings: Mapping[str, Any]
    verb: Verb = "release"
    mended: Mapping[str, Any] | None = None
    files: Mapping[str, Callable[[], str]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a run gave.

    documents: bytes by name; frames: the rows of each table; statements: kinds and values of the certificate's.
    transcript: as it is after the run.
    """

    documents: Mapping[str, bytes]
    frames: Mapping[str, pl.DataFrame]
    statements: list[tuple[str, float | None]]
    transcript: bytes

    @property
    def digests(self) -> dict[str, str]:
        """SHA-256 of each document and of all rows."""
        return {name: hashlib.sha256(text).hexdigest() for name, text in self.documents.items()}

    @property
    def figures(self) -> dict[str, Any]:
        """What people can read: numbers of rows, the commonest values of each column, the certificate's statements."""
        return {
            "rows": {name: frame.height for name, frame in self.frames.items()},
            "commonest": {
                f"{name}.{column}": dict(ranked(counts_of(frame[column]))[:COMMONEST])
                for name, frame in self.frames.items()
                for column in frame.columns
            },
            "statements": [list(each) for each in self.statements],
        }


def ranked(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return values and counts, the commonest first."""
    return sorted(counts.items(), key=lambda each: (-each[1], each[0]))


def counts_of(column: pl.Series) -> Counter[str]:
    """Return how often each value stands in a column, by its text."""
    return Counter(map(str, column.to_list()))


def fingerprint() -> dict[str, Any]:
    """Return what may change how sums are rounded, charts drawn and bytes packed: processor and libraries."""
    features = np.show_config(mode="dicts").get("SIMD Extensions", {})
    blas = [each for each in threadpool_info() if each["user_api"] == "blas"]
    return {
        "machine": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "zlib": zlib.ZLIB_RUNTIME_VERSION,
        "features": sorted({*features.get("baseline", ()), *features.get("found", ())}),
        # The order of sums, which OPENBLAS_CORETYPE chooses, too.
        "linear algebra": sorted({each.get("architecture", "") for each in blas}),
        **{name: version(name) for name in LIBRARIES},
    }


@contextlib.contextmanager
def folder_of(run: Run) -> Iterator[Path]:
    """Work in a folder of the run's own, where its files are."""
    with TemporaryDirectory() as name, contextlib.chdir(name):
        for file, text in run.files.items():
            Path(file).write_text(text(), encoding="utf-8", newline="\n")
        yield Path(name)


def recorded(run: Run) -> bytes:
    """Pay for a run, and return its transcript."""
    with folder_of(run):
        paid = partial_of(run)
        if run.mended is None:
            paid()
        else:
            with contextlib.suppress(lw.DataError):  # it ends before the table is mended
                paid()
                raise AssertionError("the release did not end")
            lw.resume(_TRANSCRIPT, run.table(), schema=run.mended)
        return Path(_TRANSCRIPT).read_bytes()


def partial_of(run: Run) -> Callable[[], Any]:
    """Return what does a run, or repeats one that is paid for by its transcript."""
    settings = {"transcript": _TRANSCRIPT, **run.settings}
    if run.verb == "learning":
        return lambda: lw.Schema.learn(run.table(), run.schema(), certificate="certificate.json", **settings)
    if run.verb == "evaluation":
        other = settings.pop("synthetic")
        return lambda: lw.evaluate(run.table(), other(), run.schema(), **settings)
    return lambda: lw.synthesize(run.table(), run.schema(), **settings)


def replayed(run: Run, transcript: bytes) -> Result:
    """Replay a transcript free of charge, and return what it gives."""
    with folder_of(run), threadpool_limits(limits=1):
        path = Path(_TRANSCRIPT)
        path.write_bytes(transcript)
        found = lw.resume(path, run.table()) if run.verb == "release" else partial_of(run)()
        made = {"release": _released, "learning": _learned, "evaluation": _evaluated}[run.verb](found)
        return Result(documents=made[0], frames=made[1], statements=made[2], transcript=path.read_bytes())


_Made = tuple[dict[str, bytes], dict[str, pl.DataFrame], list[tuple[str, float | None]]]


def _released(release: Any) -> _Made:
    sample = release.sample(seed=SEED)
    tables = dict(sample.items()) if hasattr(sample, "names") else {"rows": sample}
    frames = {name: _polars(frame) for name, frame in tables.items()}
    release.to_html("report.html")
    release.save("model.lapwing")
    documents = {
        "rows": b"".join(_rows(tables[name], frame) for name, frame in frames.items()),
        "certificate": unnamed(release.certificate.to_json().encode()),
        "certificate text": unnamed(release.certificate.text().encode()),
        "report": unnamed(Path("report.html").read_bytes()),
        "model": _members(Path("model.lapwing")),
    }
    parts = getattr(release.certificate, "parts", {"": release.certificate})
    said = [(f"{name} {each.code}".strip(), each.value) for name, part in parts.items() for each in part.accuracy]
    return documents, frames, said


def _learned(schema: Any) -> _Made:
    certificate = unnamed(Path("certificate.json").read_bytes())
    fields = json.dumps(schema.to_dict(), indent=1).encode()
    said = [(each["code"], each.get("value")) for each in json.loads(certificate)["accuracy"]]
    return {"schema": unnamed(fields), "certificate": certificate}, {}, said


def _evaluated(found: Any) -> _Made:
    found.to_html("report.html")
    documents = {
        "figures": unnamed(json.dumps(found.to_dict()).encode()),
        "summary": unnamed(found.summary(details=True).encode()),
        "certificate": unnamed(found.certificate.to_json().encode()),
        "report": unnamed(Path("report.html").read_bytes()),
    }
    return documents, {}, [(each.code, each.value) for each in found.certificate.accuracy]


def unnamed(document: bytes) -> bytes:
    """Return a document without the fingerprint of the code, and without the version as JSON and reports say it."""
    document = document.replace(code_fingerprint().encode(), b"0" * 64)
    for before, after in (('"lapwing": "', '"'), ('>Lapwing</th><td dir="auto">', "<")):
        said = (f"{before}{each}{after}".encode() for each in (lw.__version__, "0"))
        document = document.replace(*said)
    return document


def _polars(frame: Any) -> pl.DataFrame:
    """Return rows as Polars holds them."""
    if isinstance(frame, pl.DataFrame):
        return frame
    found = pl.from_pandas(frame) if hasattr(frame, "iloc") else pl.from_arrow(frame)
    assert isinstance(found, pl.DataFrame)
    return found


def _rows(given: Any, frame: pl.DataFrame) -> bytes:
    """Return rows as text: the library, names and types of columns as they were given, and one line for each row."""
    types = given.schema if not hasattr(given, "iloc") else dict(given.dtypes)
    heading = [type(given).__name__, str(frame.columns), str(types)]
    return "\n".join([*heading, *map(repr, frame.rows()), ""]).encode()


def _members(path: Path) -> bytes:
    """Return the members of a saved model, unpacked."""
    with zipfile.ZipFile(path) as file:
        return b"".join(f"{name}\n".encode() + unnamed(file.read(name)) for name in file.namelist())


def differences(result: Result, expected: Mapping[str, Any], *, exact: bool) -> list[str]:
    """Return what differs between a replay and what is kept of it: figures within a tolerance, exactly also bytes."""
    found = far_figures(result, expected["figures"])
    kept = expected["digests"]
    if exact:
        found += [f"other bytes of {name}" for name in kept if result.digests.get(name) != kept[name]]
    return found + [f"the documents are {sorted(result.digests)}"] * (set(result.digests) != set(kept))


def far_figures(result: Result, kept: Mapping[str, Any]) -> list[str]:
    """Return the figures that are farther from kept ones than another processor's rounding may bring them.

    Numbers of rows and of values: six standard deviations of a number that is drawn anew, and five more. Statements:
    a twentieth, as some are found by a search that rounding may end a step earlier.
    """
    height = {name: frame.height for name, frame in result.frames.items()}
    found = [
        f"{height.get(name)} rows of {name}, not {n}" for name, n in kept["rows"].items() if far(height.get(name), n)
    ]
    for place, values in kept["commonest"].items():
        name, column = place.split(".", 1)
        frame = result.frames.get(name, pl.DataFrame())
        if column not in frame.columns:
            found.append(f"no column {place}")
            continue
        counts = counts_of(frame[column])
        found += [f"{place}: {counts[v]} times {v}, not {n}" for v, n in values.items() if far(counts[v], n)]
    said, others = list(result.statements), [tuple(each) for each in kept["statements"]]
    if [kind for kind, _ in said] != [kind for kind, _ in others]:
        return [*found, f"statements of {[kind for kind, _ in said]}"]
    near = [is_near(one, other) for (_, one), (_, other) in zip(said, others, strict=True)]
    return found + [f"{kind}: {value}" for (kind, value), holds in zip(said, near, strict=True) if not holds]


def is_near(value: float | None, kept: float | None) -> bool:
    """Say whether two values of a statement, of which one may have none, are the same but for a twentieth."""
    return value == kept or (value is not None and kept is not None and math.isclose(value, kept, rel_tol=0.05))


def far(count: int | None, kept: int) -> bool:
    """Say whether two numbers of rows differ by more than chance explains."""
    return count is None or abs(count - kept) > 5 + 6 * math.sqrt(kept)
