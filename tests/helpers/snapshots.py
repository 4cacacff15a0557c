"""What six recorded releases say of themselves, and others in short, as texts in tests/snapshots to be read in review.

With PYTHONPATH=tests, ``python -m helpers.snapshots`` writes them anew: do this where a text is meant to change, and
read what has changed. All is a function of recorded answers and of rows that no secret is in. Figures are of one
machine, as those of `recorded_results`: elsewhere texts are compared without them.
"""

import contextlib
import difflib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from unittest import mock

from threadpoolctl import threadpool_limits

import lapwing as lw
from helpers.command import lapwing
from helpers.foreign_files import FOREIGN
from helpers.linked_homes import SCHEMA as HOMES
from helpers.linked_homes import tables
from helpers.recorded_results import SEED, Run, fingerprint, folder_of
from helpers.recorded_runs import RUNS, transcript_of
from helpers.small_people import write_people
from helpers.studio import in_process
from lapwing.extras.studio.jobs import new_job, next_release
from lapwing.version import code_fingerprint

FOLDER: Final = Path(__file__).resolve().parents[1] / "snapshots"
SESSIONS: Final = FOLDER / "sessions"
"""Commands, each with what it says: a file is renewed by running the commands in it."""
MACHINE: Final = FOLDER / "machine.json"
RELEASES: Final[Mapping[str, Mapping[str, Any]]] = {
    "adaptive-units": {"by": "ward", "where": {"visits": 3}, "query": ["ward"]},
    "adaptive-rules": {"by": "sex", "where": {"age": lw.between(20, 29)}, "query": ["sex", "education"]},
    "pmm-prior": {"chosen": "PMM", "where": {"x0": lw.between(0, 0.25)}, "query": ["x0"]},
    "linear-statistics-chosen": {"by": "sex", "where": {"sex": "Female"}, "query": ["sex"]},
    "private-sampling": {"by": "b0", "where": {"b0": True, "b1": False}, "query": ["b0", "b1"]},
    "linked-two": {"query": ["kind"], "table": "homes"},
}
"""Of each release: a column whose groups of rows are judged, a count that is asked for, columns of a query."""
OTHERS: Final = (
    *("default", "adaptive-delta", "adaptive-public-table", "adaptive-last-census", "adaptive-prior"),
    *("adaptive-workload-target", "adaptive-weights-expected", "adaptive-dates-missing-special"),
    *("adaptive-texts-in-a-file", "independent-units-rules", "learned-schema", "linked-three", "linked-events"),
    *("kdtree-units-replaced", "grid-least-squares", "psmm", "microaggregation"),
)
"""Releases of which commands and certificate alone are kept, for what no other one says."""

_ALONE: Final = frozenset({"script", "style", "svg", "head", "nav"})
"""Elements that say nothing to a reader of a page, or the same on every page."""
_MARKS: Final = {"h1": "# ", "h2": "## ", "h3": "### ", "h4": "#### ", "li": "- ", "summary": "+ ", "caption": ": "}
_LINES: Final = {
    *_MARKS,
    *("p", "div", "tr", "section", "table", "dl", "dt", "form", "figure", "legend", "label", "pre"),
}
"""Elements that begin a line; dd, td and th go on in it."""


_WARNED: Final = "! "
_WARNINGS: Final = {"warning", "warn", "refusal", "marked"}
"""Classes of what stands out."""


class _Lines(HTMLParser):
    """The texts of a page, a line for each fact."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = [""]
        self._skipped: list[str] = []
        self._is_pre = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._skipped or tag in _ALONE:
            self._skipped += [tag] if not self._skipped or tag == self._skipped[0] else []
            return
        given = dict(attrs)
        self._is_pre = tag == "pre"
        if tag in _LINES:
            warned = self.lines[-1].strip() == _WARNED.strip() or not _WARNINGS.isdisjoint(
                (given.get("class") or "").split()
            )
            self.lines.append(_WARNED if warned else _MARKS.get(tag, ""))
        elif tag in ("td", "th", "dd"):
            self.lines[-1] += " | " if self.lines[-1] else ""
        elif tag == "br":
            self.lines.append("")
        elif tag in ("input", "option") and given.get("type") != "hidden":
            chosen = "*" * ("checked" in given or "selected" in given)
            self.lines[-1] += f" [{chosen}{given.get('name') or ''} {given.get('value') or ''}]"

    def handle_endtag(self, tag: str) -> None:
        if self._skipped:
            self._skipped = self._skipped[:-1] if tag == self._skipped[0] else self._skipped
        elif tag in _LINES:
            self.lines.append("")

    def handle_data(self, data: str) -> None:
        if not self._skipped:
            first, *rest = data.splitlines() if self._is_pre and data else [re.sub(r"\s+", " ", data)]
            self.lines[-1] += first
            self.lines += rest


def read(page: str) -> str:
    """Return what is read of a page, a line for each fact; pictures are left out."""
    found = _Lines()
    found.feed(page)
    found.close()
    lines = (re.sub(r" +", " ", each).strip() for each in found.lines)
    return "\n".join(each for each in lines if each not in {"", "!", *map(str.strip, _MARKS.values())}) + "\n"


def normalised(text: str) -> str:
    """Return a text without what is of one moment, place or version of the code."""
    for each, name in ((str(Path.cwd()), "FOLDER"), (code_fingerprint(), "CODE"), (lw.__version__, "VERSION")):
        text = text.replace(each, name)
    for pattern, name in _OF_ONE_RUN.items():
        text = re.sub(pattern, name, text)
    return text


_OF_ONE_RUN: Final = {
    r"\b[0-9a-f]{64}\b": "HASH",
    r"\b[0-9a-f]{32}\b": "ID",
    r"SHA-256 [0-9a-f]{12}\b": "SHA-256 HASH",
    r"Python 3\.\d+\.\d+": "Python 3",
    r"(model\.lapwing.*?), [\d,]+ (bytes|KB)": r"\1, SIZE",
    r"\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(Z| UTC|\+00:00)?": "TIME",
}


def documents(name: str) -> dict[str, str]:
    """Return all that one release says, by the name of the document."""
    run = RUNS[name]
    with folder_of(run), threadpool_limits(limits=1):
        data = run.table()
        Path("transcript.jsonl").write_bytes(transcript_of(name))
        Path("schema.json").write_text(json.dumps(run.schema()), encoding="utf-8")
        tables = data if isinstance(data, dict) else {"table": data}
        for each, frame in tables.items():
            if not isinstance(data, Path):
                frame.write_parquet(f"{each}.parquet")
        files = [str(data)] if isinstance(data, Path) else [f"{each}.parquet" for each in tables]
        said = {key: normalised(text) for key, text in _documents(name, run, data, files)}
    return said


def _documents(name: str, run: Run, data: Any, files: list[str]) -> Iterator[tuple[str, str]]:
    """Return what commands and objects say of a release, and files that they write."""
    is_linked = isinstance(data, dict)
    rows, certificate = ("rows", "rows.certificate.json") if is_linked else ("rows.csv", "rows.csv.certificate.json")
    to = ("--into", rows) if is_linked else ("-o", rows, "--croissant", "croissant.json")
    people = ("--prepared-by", "Ada", "--approved-by", "the board")
    model = ("--model", "model.lapwing", "--seed", SEED, *(["--details"] if name in RELEASES else []))
    yield "release", _said("resume", "transcript.jsonl", *files, *to, *model, *people)
    short, details = (_said("certificate", "show", certificate, *more) for more in ((), ("--details",)))
    yield "certificate", short + details
    if name not in RELEASES:
        return
    yield "schema", _said("schema", "check", "schema.json") + _said("schema", "check", "schema.json", *files)
    asked = RELEASES[name]
    verified = _said("certificate", "verify", certificate, rows, "model.lapwing")
    yield "page", verified + _said("certificate", "show", certificate, "--page", "page.html") + _read("page.html")
    answers = _said("answers", "model.lapwing", "-o", "answers")
    yield "answers", answers + Path("answers/index.csv").read_text(encoding="utf-8")
    of_table = ("--table", asked["table"]) if is_linked else ()
    yield "query", _said("query", "model.lapwing", "--column", ",".join(asked["query"]), *of_table)
    yield "report", _said("report", "model.lapwing", "-o", "report.html") + _read("report.html")
    yield from _of_objects(run, data, asked)
    if is_linked:
        yield "evaluation", _evaluated(".", rows)
        return
    beside = ("--by", asked["by"]) if "by" in asked else ()
    yield "evaluation", _evaluated("table.parquet", rows, "--model", "model.lapwing", *beside)
    yield "studio", "".join(f"== {room}\n{page}" for room, page in _pages(asked))


def _evaluated(*compared: str) -> str:
    said = _said("evaluate", *compared, "--schema", "schema.json", "-o", "evaluation.html")
    return said + _read("evaluation.html")


def _read(file: str) -> str:
    return read(Path(file).read_text(encoding="utf-8"))


def _of_objects(run: Run, data: Any, asked: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Return what the objects of a release say, in a terminal and in a notebook."""
    is_linked = isinstance(data, dict)
    release: Any = lw.load("model.lapwing")
    expected = {each: frame.height for each, frame in data.items()} if is_linked else data.height
    bought = {key: run.settings[key] for key in _BOUGHT if key in run.settings}
    plan = lw.plan("schema.json", expected_rows=expected, **bought)
    shown = {"schema": release.schema, "plan": plan, "release": release, "certificate": release.certificate}
    shown["evaluation"] = lw.evaluate(data, release.sample(seed=SEED), "schema.json")
    if not is_linked:
        shown["accuracy"] = release.accuracy()
        shown["table accuracy"] = release.accuracy(asked["query"])
        shown["count accuracy"] = release.accuracy(where=asked["where"])
    yield "plan", f"{plan.text()}\n"
    yield "objects", "".join(f"== {each}\n{value!r}\n" for each, value in shown.items())
    yield "cards", "".join(f"== {each}\n{read(value._repr_html_())}" for each, value in shown.items())


_BOUGHT: Final = ("epsilon", "delta", "rho", "mechanism", "neighbours", "prior")


def _said(*arguments: object) -> str:
    """Return a command and what it says on both streams."""
    said = lapwing(*arguments)
    assert said.status == 0, said.err
    return f"$ lapwing {' '.join(map(str, arguments))}\n{said.out}{said.err}"


_HANDED_OVER: Final = {
    "transcript.jsonl": "transcript.jsonl",
    "model.lapwing": "model.lapwing",
    "rows.csv": "table-synthetic.csv",
    "rows.csv.certificate.json": "table-synthetic.csv.certificate.json",
    "croissant.json": "croissant.json",
}


def _pages(asked: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Return the pages of the studio about a job with the release that lies here, and about its model alone."""
    job = new_job(Path.cwd(), "table", table="table.parquet")
    place = next_release(job)
    place.mkdir()
    for before, after in _HANDED_OVER.items():
        shutil.copy(before, place / after)
    shutil.copy("schema.json", job.file("schema.json"))
    job.chosen(expected_rows="300", mechanism=asked.get("chosen", ""))
    visitor = in_process(Path.cwd())
    for room in ("schema", "column/0", "check", "budget", "plan", "release", "look", "look/1/rows", "hand-over"):
        yield room, read(visitor.follow(visitor.get(f"/job/{job.name}/{room}")).text)
    yield "look/1/ask", read(visitor.post(f"/job/{job.name}/look/1/ask", {"column": ["0", "", ""]}).text)
    yield "received", read(visitor.follow(visitor.get("/model/model")).text)


def differences(name: str, found: Mapping[str, str], *, exact: bool) -> list[str]:
    """Return what documents say otherwise than those that are kept: lines; without figures where these may differ."""
    kept = {path.stem: path.read_text(encoding="utf-8") for path in (FOLDER / name).glob("*.txt")}
    said = [f"the documents are {sorted(found)}"] * (set(found) != set(kept))
    for each in sorted(set(found) & set(kept)):
        before, after = (text if exact else without_figures(text) for text in (kept[each], found[each]))
        lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), each, each, n=0, lineterm=""))
        if len(lines) > (0 if exact else before.count("\n") // 10):
            said += lines
    return said


def without_figures(text: str) -> str:
    """Return a text with all numbers alike, and the words that grade them."""
    return re.sub(r"\b(good|fair|weak)\b", "good", re.sub(r"[0-9][0-9.,e+-]*", "0", text))


def session(name: str) -> str:
    """Run the commands of a session again, in a folder with tables and files of other tools; return what they say."""
    kept = (SESSIONS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    with TemporaryDirectory() as folder, contextlib.chdir(folder), mock.patch.dict(os.environ, XDG_STATE_HOME="state"):
        shutil.copytree(FOREIGN, "foreign")
        write_people()
        for file, table in zip(("homes.csv", "people.csv"), tables(50), strict=True):
            table.write_csv(file)
        Path("homes.json").write_text(json.dumps(HOMES), encoding="utf-8")
        said = [(line, lapwing(*shlex.split(line)[2:])) for line in kept if line.startswith("$ lapwing ")]
        made = "".join(f"- {path}\n" for path in sorted(Path().glob("*")))
        return normalised("".join(f"{line}\n{each.out}{each.err}" for line, each in said) + made)


def keep(name: str) -> None:
    """Write the documents of a release anew."""
    place = FOLDER / name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    for each, text in documents(name).items():
        (place / f"{each}.txt").write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    for each in sys.argv[1:]:
        keep(each)
    for path in () if sys.argv[1:] else sorted(SESSIONS.glob("*.txt")):
        path.write_text(session(path.stem), encoding="utf-8", newline="\n")
    for each in () if sys.argv[1:] else (*RELEASES, *OTHERS):  # a process is told what was spent before in it
        subprocess.run([sys.executable, "-m", "helpers.snapshots", each], check=True)
    MACHINE.write_text(json.dumps(fingerprint(), indent=1) + "\n", encoding="utf-8", newline="\n")
