"""Certificates beside the truth: what each mechanism claims over what is true, and how often claims hold.

    python bench/certificates.py ratios   [--releases 5]
    python bench/certificates.py coverage [--releases 400]

``ratios``: each mechanism on six tables at ε = 0.1, 1, 10: claimed over true, median and 90 %, of the number of rows,
of tables (total variation and largest count), of the 1-Wasserstein distance of one column, of all pairs' cells and of a
workload. ``coverage``: many releases of 1,000 rows at ε = 1: how often each claim at 90 and at 95 % is passed, and how
often if the certificate takes the noise for 20 % less than it is: a column says where so many misses convict it.

Rows of a table are public here; the files are internal figures, no release.
"""

import argparse
import csv
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import binom

import lapwing as lw
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.registry import make_mechanism
from lapwing.mechanisms.vectors.linear_statistics.statistics import of_workload, statistics_on
from lapwing.model.bounds import own_groupings, rows_within
from lapwing.model.sampling.marginals import marginal
from lapwing.release.accuracy import table_accuracy
from lapwing.release.queries import query_groupings
from lapwing.release.release import Release
from lapwing.rows.source import all_codes, code_table
from lapwing.schema.groupings.grouping import evenly
from lapwing.schema.schemas import Schema

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
RESULTS = Path(__file__).parent / "results"
MIXED = ("adult", "nltcs", "eusilc", "magic", "nhanes", "mushrooms")
ORDERED = ("adult", "balog-mog-d2", "eusilc", "magic", "nhanes", "tarragona")
MECHANISMS = {
    "Independent": (MIXED, 8),
    "Adaptive": (MIXED, 8),
    "Microaggregation": (MIXED, 8),
    "LinearStatistics": (MIXED, 8),
    "PMM": (ORDERED, 1),
    "PSMM": (ORDERED, 1),
    "KDTree": (ORDERED, 2),
    "Grid": (ORDERED, 2),
}
MOST_ROWS = 20_000
FEW_ROWS = 1000
FINE = 4096
LESS = Fraction(4, 5)
CONVICTED = 1e-3
LEAST = 1e-9  # what is smaller is exact
STATING = ("PMM", "PSMM", "Microaggregation", "LinearStatistics")
AT_95 = ("W1", "all pairs", "workload")
Claims = dict[str, tuple[float, float]]


def table_of(name: str, columns: int, rows: int, *, ordered: bool) -> tuple[Schema, pl.DataFrame]:
    """Return the first columns of a shared table, ordered ones alone where wanted, and some of its rows."""
    raw = lw.Schema.load(SHARED / name / "schema.json").to_dict()
    kept = [each for each in raw["fields"] if each.get("role") not in ("identifier", "ignored")]
    if ordered:
        kept = [each for each in kept if each["type"] in ("integer", "number") and "categories" not in each]
        kept = [each | {"constraints": each["constraints"] | {"required": True}} for each in kept]
    schema = Schema.from_dict({"fields": kept[:columns]})
    names = [field.name for field in schema.columns]
    frame = pl.read_parquet(SHARED / name / "data.parquet", columns=names)
    frame = frame.drop_nulls() if ordered else frame
    return schema, frame.sample(min(rows, frame.height), seed=1)


def smaller_noise(answer: Answer) -> Any:
    """Return an answer that takes its noise for 20 % less than it is."""

    def less(law: Any) -> Any:
        return law and replace(law, parameter=law.parameter * (LESS if law.kind == "laplace" else LESS**2))

    if hasattr(answer, "noises"):
        return replace(answer, noises=tuple(less(law) for law in answer.noises))
    return replace(answer, noise=less(answer.noise)) if getattr(answer, "noise", None) else answer


def claims(release: Release, answers: Sequence[Answer], codes: dict[str, np.ndarray], failure: Fraction) -> Claims:
    """Return what is claimed and what is true, of each statement that a release makes; certificates are at 95 %."""
    model, schema = release.model, release.schema
    rows = len(next(iter(codes.values())))
    found: Claims = {}
    within = rows_within(answers, model.rows, failure)
    if within is not None:
        found["rows"] = within[0], abs(model.rows - rows)
    names = list(codes)
    for columns in (names[:1], names[:2]) if len(names) > 1 else (names,):
        said = table_accuracy(model, schema, answers, columns, groups=None, failure=failure, public_rows=None)
        groupings = own_groupings(answers, columns, 2**16) or query_groupings(schema, answers, columns, 20)
        released, true = marginal(model, columns, groupings), counted(codes, columns, groupings)
        if said.largest_error is not None:
            found[f"counts of {len(columns)}"] = said.largest_error, float(np.abs(released - true).max())
        if said.variation is not None:
            distance = float(np.abs(released / released.sum() - true / true.sum()).sum()) / 2
            found[f"variation of {len(columns)}"] = said.variation, distance
    return found | stated(release, answers, codes)


def stated(release: Release, answers: Sequence[Answer], codes: dict[str, np.ndarray]) -> Claims:
    """Return the same of what the mechanism itself states at 95 %."""
    model, schema, certificate = release.model, release.schema, release.certificate
    if certificate.mechanism not in STATING:
        return {}
    terms, found = Terms(relation=certificate.relation, max_rows=certificate.max_rows), Claims()
    mechanism = make_mechanism(certificate.mechanism, certificate.settings)
    for each in mechanism.statements(schema, terms, answers, model, np.random.default_rng(1)):
        if each.value is None:
            continue
        if each.code == "distance" and len(codes) == 1:
            found["W1"] = each.value, line_distance(release, codes)
        elif each.code in ("error_of_all_pairs", "error_of_all_halved_pairs"):
            found["all pairs"] = each.value, error_of_pairs(release, answers, codes)
        elif each.code == "certified_error":
            found["workload"] = each.value, error_of_workload(release, codes)
    return found


def counted(codes: dict[str, np.ndarray], columns: Sequence[str], groupings: Sequence[Any]) -> np.ndarray:
    """Return the true table of some columns."""
    true = np.zeros([each.groups for each in groupings])
    np.add.at(true, tuple(each.apply(codes[name]) for name, each in zip(columns, groupings, strict=True)), 1.0)
    return true


def line_distance(release: Release, codes: dict[str, np.ndarray]) -> float:
    """Return the 1-Wasserstein distance of the one column, of length 1, in cells of a 4096th."""
    (name,) = codes
    grouping = evenly(release.schema.field(name).domain, FINE)
    cells = grouping.regular
    released = marginal(release.model, [name], [grouping])[:cells]
    true = counted(codes, [name], [grouping])[:cells]
    return float(np.abs(np.cumsum(released / released.sum() - true / true.sum())).sum()) / cells


def error_of_pairs(release: Release, answers: Sequence[Answer], codes: dict[str, np.ndarray]) -> float:
    """Return the root-mean-square error over the cells of all pairs, in the groups of the second moment."""
    question = next(each.question for each in answers if isinstance(each.question, SecondMoment))
    coordinates = question.coordinates
    of = dict(zip(coordinates.columns, coordinates.groupings, strict=True))
    seen = {
        name: 2 if kind == "line" else width
        for name, kind, width in zip(coordinates.columns, coordinates.kinds, coordinates.widths, strict=True)
    }
    squares, cells = 0.0, 0
    for pair in itertools.combinations(coordinates.columns, 2):
        groupings = [of[name] for name in pair]
        inside = tuple(slice(0, seen[name]) for name in pair)
        released, true = marginal(release.model, pair, groupings), counted(codes, pair, groupings)
        squares += float(((released / released.sum() - true / true.sum())[inside] ** 2).sum())
        cells += seen[pair[0]] * seen[pair[1]]
    return float(np.sqrt(squares / cells))


def error_of_workload(release: Release, codes: dict[str, np.ndarray]) -> float:
    """Return the largest error of a statistic of the workload of `LinearStatistics`."""
    settings: Any = release.certificate.settings
    asked = of_workload(release.noisy, release.schema, settings["degree"], None, has_statistics=False)
    points = {name: each.astype(np.int64) for name, each in codes.items()}
    true = np.concatenate([statistics_on(each.question, points, release.schema).mean(axis=1) for each in asked])
    released = np.array(release.certified_errors()["released"])
    return float(np.abs(released - true).max())


def releases(mechanism: str, name: str, epsilon: str, count: int, rows: int) -> Iterator[tuple[Release, Any]]:
    """Yield releases of a table, each with the codes of its rows."""
    tables, columns = MECHANISMS[mechanism]
    schema, frame = table_of(name, columns, rows, ordered=tables is ORDERED)
    codes = {each: values.astype(np.int64) for each, values in all_codes(code_table(frame, schema), schema).items()}
    for _ in range(count):
        yield lw.synthesize(frame, schema, epsilon=epsilon, mechanism=mechanism), codes


def ratios(count: int) -> Iterator[dict[str, object]]:
    """Yield claimed over true of each mechanism, table and budget."""
    cases = [(mechanism, name) for mechanism, (tables, _) in MECHANISMS.items() for name in tables]
    for (mechanism, name), epsilon in itertools.product(cases, ("0.1", "1", "10")):
        found: dict[str, list[tuple[float, float]]] = {}
        for release, codes in releases(mechanism, name, epsilon, count, MOST_ROWS):
            for what, pair in claims(release, release.noisy, codes, Fraction(1, 20)).items():
                found.setdefault(what, []).append(pair)
        case = {"mechanism": mechanism, "table": name, "epsilon": epsilon}
        yield from (case | {"claim": what} | compared(pairs) for what, pairs in found.items())
        print(mechanism, name, epsilon, flush=True)


def compared(pairs: Sequence[tuple[float, float]]) -> dict[str, object]:
    """Return the figures of one claim."""
    claimed, true = np.array(pairs).T
    parts = np.maximum(claimed, LEAST) / np.maximum(true, LEAST)
    return {
        "claimed": f"{np.median(claimed):.4g}",
        "true": f"{np.median(true):.4g}",
        "ratio": f"{np.median(parts):.3g}",
        "ratio_90": f"{np.quantile(parts, 0.9):.3g}",
        "missed": int((claimed < true).sum()),
        "releases": len(pairs),
    }


def coverage(count: int) -> Iterator[dict[str, object]]:
    """Yield how often the claims of each mechanism are passed, as they are and with the noise taken for less."""
    for mechanism, (tables, _) in MECHANISMS.items():
        name = "nltcs" if tables is MIXED else tables[0]
        missed: dict[tuple[str, str], list[tuple[bool, bool]]] = {}
        for release, codes in releases(mechanism, name, "1", count, FEW_ROWS):
            for case, pair in passed(release, codes).items():
                missed.setdefault(case, []).append(pair)
        yield from ({"mechanism": mechanism, "table": name} | of_many(*each) for each in missed.items())
        print(mechanism, flush=True)


def of_many(case: tuple[str, str], pairs: Sequence[tuple[bool, bool]]) -> dict[str, object]:
    """Return the figures of one claim at one confidence."""
    (what, confidence), (misses, misses_of_less) = case, np.sum(pairs, axis=0)
    allowed = 1 - float(confidence)
    return {
        "claim": what,
        "confidence": confidence,
        "missed": int(misses),
        "releases": len(pairs),
        "allowed": round(allowed * len(pairs)),
        "missed_at_80_%_of_the_noise": int(misses_of_less),
        "convicted": bool(binom.sf(int(misses_of_less) - 1, len(pairs), allowed) < CONVICTED),
    }


def passed(release: Release, codes: dict[str, np.ndarray]) -> dict[tuple[str, str], tuple[bool, bool]]:
    """Return which claims are passed at both confidences, with the noise as it is and with 20 % less."""
    found = {}
    too_small = tuple(smaller_noise(each) for each in release.noisy)
    for confidence in ("0.9", "0.95"):
        own, less = (
            claims(release, answers, codes, 1 - Fraction(confidence)) for answers in (release.noisy, too_small)
        )
        for what in own:
            if what in less and (confidence == "0.95" or what not in AT_95):
                found[what, confidence] = own[what][0] < own[what][1], less[what][0] < less[what][1]
    return found


def main() -> None:
    """Write the lines of one part, as they come."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=("ratios", "coverage"))
    parser.add_argument("--releases", type=int)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("-o", "--output", type=Path)
    asked = parser.parse_args()
    for name in [each for each in MECHANISMS if asked.only and each not in asked.only]:
        del MECHANISMS[name]
    lines = ratios(asked.releases or 5) if asked.part == "ratios" else coverage(asked.releases or 400)
    writer: csv.DictWriter[str] | None = None
    output = asked.output or RESULTS / f"certificates_{asked.part}.csv"
    with output.open("w", newline="") as file:
        for line in lines:
            if writer is None:
                writer = csv.DictWriter(file, list(line))
                writer.writeheader()
            writer.writerow(line)
            file.flush()


if __name__ == "__main__":
    main()
