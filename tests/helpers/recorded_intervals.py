"""What recorded releases say about the true table: intervals, bounds and shares, kept in numbers that must stay.

With PYTHONPATH=tests, ``python -m helpers.recorded_intervals`` keeps them anew, where they are meant to change.
"""

import dataclasses
import hashlib
import itertools
import json
import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Final

import polars as pl
from threadpoolctl import threadpool_limits

import lapwing as lw
from helpers.recorded_results import folder_of
from helpers.recorded_runs import RUNS, transcript_of
from helpers.saved import changed
from lapwing.errors import ParameterError
from lapwing.extras.evaluate.report.released_columns import released_columns
from lapwing.model.bounds import rows_range
from lapwing.model.certificate.declared import broken_at_least
from lapwing.model.certificate.statements import Statement
from lapwing.present.stated import label_of
from lapwing.release.queries import as_frame, query_table
from lapwing.release.runs.misfits import misfit_shares

KEPT: Final = Path(__file__).resolve().parents[1] / "data" / "recorded_intervals.json"

CONDITIONS: Final[Mapping[str, tuple[Any, ...]]] = {
    "adaptive-mended": ({"sex": "f"}, "charges >= 3000"),
    "adaptive-public-table": ({"sex": "Female"}, {"age": lw.between(30, 60), "sex": "Male"}),
    "adaptive-rules": ({"sex": "Female"}, {"age": lw.between(18, 64), "education_num": lw.between(9, 16)}),
    "adaptive-weights-expected": ({"sex": "Male"}, {"age": lw.between(20, 29), "sex": "Female"}),
    "adaptive-delta": ({"income": ">50K"}, "age >= 65 and sex == 'Female'"),
    "grid": ({"x0": lw.between(0, 0.4)},),
    "grid-least-squares": ({"visits": lw.between(0, 7)},),
    "independent-pandas-replaced": ({"ward": ["home", None]}, {"visits": [-1, lw.between(3, 9)]}),
    "kdtree": ({"x0": lw.between(0, 0.5)}, {"x0": lw.between(0, 0.3), "x1": lw.between(0.5, 1)}),
    "linked-two": ({},),
    "microaggregation": ({"b0": True}, {"b0": True, "b1": False}),
    "pmm": ({"x0": lw.between(0, 0.5)}, {"x0": lw.between(0, 0.25), "x1": lw.between(0.5, 1)}),
}
"""Releases that are looked at, with conditions on their rows: of each mechanism and kind of evidence one."""

_PAIRS: Final = 4
_FAILURE: Final = Fraction(1, 20)
_WORDS: Final = ("text", "quotable", "not_for", "better", "source")


def evidence_of(name: str) -> dict[str, Any]:
    """Return what a recorded release says, question by question, as plain values."""
    with folder_of(RUNS[name]), threadpool_limits(limits=1):
        path = Path("run.jsonl")
        path.write_bytes(transcript_of(name))
        release = lw.resume(path, RUNS[name].table())
        parts = release.tables
        return {
            f"{part} {question}".strip(): asked
            for part, each in parts.items()
            for question, asked in _questions(each, [where for where in CONDITIONS[name] if where])
        }


def _questions(release: Any, conditions: list[Any]) -> Iterator[tuple[str, Any]]:
    schema, noisy = release.schema, release.noisy
    names = [field.name for field in schema.columns]
    counted = [set(answer.question.columns) for answer in noisy]
    pairs = sorted(itertools.combinations(names, 2), key=lambda pair: not any(set(pair) <= each for each in counted))
    for columns in [*([each] for each in names), *map(list, pairs[:_PAIRS])]:
        of = ", ".join(columns)
        yield f"accuracy of {of}", _figures(release.accuracy(columns))
        yield f"{of} in 20", _ends(partial(release.query, columns, 20 if len(columns) == 1 else 6))
        for groups in (6, "measured"):
            yield f"{of} in {groups}", _ends(partial(release.query, columns, groups, confidence="0.9"))
            for weight in _weights(schema, columns):
                weighted = changed(release, schema=dataclasses.replace(schema, weight=weight))
                asked = partial(weighted.query, columns, groups, weighted=True)
                yield f"{of} in {groups} weighted by {weight}", _ends(asked)
            for where in conditions:
                asked = partial(query_table, release, columns, where=where, groups=groups)
                yield f"{of} in {groups} where {where}", _ends(lambda asked=asked: as_frame(*asked()))
    for where in conditions:
        yield f"accuracy where {where}", _figures(release.accuracy(where=where))
    accuracy = release.accuracy()
    yield "accuracy", [accuracy.measured, accuracy.largest_density, *map(_figures, accuracy.statements)]
    yield "marginals", list(map(_figures, accuracy.marginals))
    yield "statements", [[label_of(each), each.value] for each in release.certificate.accuracy]
    yield "verdict", None if release.certificate.verdict is None else _figures(release.certificate.verdict)
    yield "misfits", misfit_shares(schema, noisy)
    yield "broken rules", broken_at_least(schema, noisy)
    yield "rows", rows_range(noisy, _FAILURE)
    for each in released_columns(release.model, schema, noisy, names, release.certificate.public_rows):
        yield f"report of {each.column}", [[cell.lower, cell.upper] for cell in (*each.cells, *each.apart)]


def _weights(schema: Any, columns: list[str]) -> list[str]:
    """Return the columns whose numbers can be survey weights of a table of others."""
    numbers = [field for field in schema.columns if field.type in ("integer", "number") and not field.is_categorical]
    return [field.name for field in numbers if field.name not in columns and field.range.lo >= 0]


def _ends(table: Callable[[], Any]) -> Any:
    """Return the labels, ends and basis of each cell; or the refusal."""
    try:
        found = table()
    except ParameterError as error:
        return error.code
    if not isinstance(found, pl.DataFrame):
        found = pl.from_pandas(found)
    return [list(row) for row in found.drop(found.columns[-5:-3]).iter_rows()]


def _figures(found: Any) -> dict[str, Any]:
    """Return what a record says in numbers; words are kept elsewhere."""
    if isinstance(found, Statement):
        key = "_".join(label_of(found).lower().split())
        figures = {name: getattr(found, name) for name in ("value", "unit", "confidence", "basis")}
        return {"key": key, **figures}
    return {name: each for name, each in dataclasses.asdict(found).items() if name not in _WORDS}


def kept_of(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is kept of a release: a digest of every digit, and for each question a few numbers to compare."""
    text = json.dumps(evidence, ensure_ascii=False)
    return {
        "digest": hashlib.sha256(text.encode()).hexdigest(),
        "questions": {question: _summed(asked) for question, asked in evidence.items()},
    }


def _summed(asked: Any) -> Any:
    """Return how many numbers there are in an answer, and their sum."""
    numbers = list(_numbers(asked))
    return [len(numbers), float(f"{math.fsum(numbers):.6g}")]


def _numbers(asked: Any) -> Iterator[float]:
    if isinstance(asked, Mapping | list | tuple):
        for each in asked.values() if isinstance(asked, Mapping) else asked:
            yield from _numbers(each)
    elif isinstance(asked, int | float):
        yield asked


def main() -> None:
    """Keep anew what releases say."""
    lines = (f"{json.dumps(name)}: {json.dumps(kept_of(evidence_of(name)))}" for name in CONDITIONS)
    KEPT.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
