"""Forty paid runs whose transcripts are kept in tests/data/recorded, so that a replay shows what a change changes.

With PYTHONPATH=tests:

- ``python -m helpers.recorded_runs record NAME...`` pays for runs anew, with real noise, and keeps transcripts and
  results; ``--all`` instead of names: of all runs.
- ``python -m helpers.recorded_runs expected`` replays the transcripts that are kept, and keeps new results: do this
  where documents are meant to change, and say so.
"""

import argparse
import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import lapwing as lw
from helpers import recorded_tables as of
from helpers.recorded_results import Run, fingerprint, recorded, replayed

FOLDER: Final = Path(__file__).resolve().parents[1] / "data" / "recorded"
EXPECTED: Final = FOLDER / "expected.json"

PURE: Final[Mapping[str, Any]] = {"epsilon": 2, "seed": 1}
APPROXIMATE: Final[Mapping[str, Any]] = {"epsilon": 3, "delta": "1e-9", "seed": 2}
RHO: Final[Mapping[str, Any]] = {"rho": 1, "seed": 3}
REPLACED: Final[Mapping[str, Any]] = {"neighbours": "replace-one"}
SMALL: Final = lw.Adaptive(particles=2000, rounds=4)
FIVE: Final = ("age", "education", "sex", "hours_per_week", "income")
THREE: Final = ("age", "sex", "income")
STAY: Final = ("day", "ward", "visits", "cost", "seen")
RULES: Final = [
    {"determines": ["education"], "column": "education_num"},
    {"never": {"age": {"maximum": 14}, "education_num": {"minimum": 9}}, "provenance": "assumed"},
]
SEXES: Final = {"columns": ["sex"], "source": "Register of residents, table 5", "provenance": "public"}


def _people(columns: tuple[str, ...], settings: Mapping[str, Any], *, rows: int = 300, **more: Any) -> Run:
    """Return a run of the bundled sample, with more keys of the schema."""
    return Run(
        table=lambda: of.people(*columns, rows=rows),
        schema=lambda: of.schema_of_people(*columns, **more),
        settings=settings,
    )


def _stays(columns: tuple[str, ...], settings: Mapping[str, Any], **more: Any) -> Run:
    """Return a run of stays of patients."""
    return Run(table=lambda: of.stays(*columns), schema=lambda: of.schema_of_stays(*columns, **more), settings=settings)


def _numbers(columns: int, settings: Mapping[str, Any], **files: Any) -> Run:
    """Return a run of numbers from 0 to 1."""
    table, schema = lambda: of.numbers(columns), lambda: of.schema_of_numbers(columns)
    return Run(table=table, schema=schema, settings=settings, **files)


def _flags(columns: int, settings: Mapping[str, Any]) -> Run:
    """Return a run of Boolean columns."""
    return Run(table=lambda: of.flags(columns), schema=lambda: of.schema_of_flags(columns), settings=settings)


def _homes(names: tuple[str, ...], settings: Mapping[str, Any]) -> Run:
    """Return a run of linked tables."""
    return Run(table=lambda: of.homes_of(*names), schema=lambda: of.schema_of_homes(*names), settings=settings)


def _learned_schema() -> Any:
    """Return the schema that a kept run learned."""
    fields = replayed(RUNS["learning-texts"], transcript_of("learning-texts")).documents["schema"]
    return json.loads(fields)


def _other_people() -> Any:
    return of.people(*THREE, first=40)


OTHER: Final = {"other.csv": lambda: of.people(*FIVE, first=40).write_csv()}
OTHER_NUMBERS: Final = {"other.csv": lambda: of.numbers(2, 500).tail(200).write_csv()}

RUNS: Final[Mapping[str, Run]] = {
    # what is taken where no mechanism is named
    "default": _people(FIVE, PURE),
    "default-one-column": _people(("education",), PURE),
    "default-two-columns": _stays(("ward", "visits"), APPROXIMATE),
    # Adaptive
    "adaptive-delta": _people(FIVE, {**APPROXIMATE, "epsilon": 20, "mechanism": SMALL}),
    "adaptive-rho-replaced": _people(FIVE, {**RHO, "rho": 10, **REPLACED, "mechanism": SMALL}),
    "adaptive-units": _stays(("patient", "ward", "visits", "day"), {**APPROXIMATE, "mechanism": SMALL}, most=4),
    "adaptive-rules": _people(("age", "education", "education_num", "sex"), {**PURE, "mechanism": SMALL}, rules=RULES),
    "adaptive-public-table": _people(
        THREE,
        {**PURE, "mechanism": SMALL},
        publicTables=[{**SEXES, "cells": [["Female", 90], ["Male", 160]]}],
    ),
    "adaptive-last-census": _people(
        THREE,
        {**RHO, "mechanism": SMALL},
        publicTables=[{**SEXES, "cells": [["Female", 500], ["Male", 900]], "hold": "prior", "sd": 50}],
    ),
    "adaptive-prior": Run(
        table=lambda: of.people(*FIVE),
        schema=lambda: of.schema_of_people(*FIVE),
        settings={**APPROXIMATE, "mechanism": SMALL, "prior": "other.csv"},
        files=OTHER,
    ),
    "adaptive-workload-target": _people(
        FIVE,
        {**RHO, "mechanism": lw.Adaptive(particles=2000, rounds=4, workload=(("age", "sex"), "education"))},
        roles={"income": "target"},
    ),
    "adaptive-weights-expected": _people(
        ("age", "fnlwgt", "sex"), {**APPROXIMATE, "expected_rows": 300, "mechanism": SMALL}, weight="fnlwgt"
    ),
    "adaptive-dates-missing-special": _stays(STAY, {**APPROXIMATE, "epsilon": 10, "mechanism": SMALL}),
    "adaptive-texts-in-a-file": Run(
        table=lambda: Path("codes.csv"),
        schema=lambda: of.SCHEMA_OF_CODES,
        settings={**PURE, "mechanism": SMALL},
        files={"codes.csv": of.codes},
    ),
    "adaptive-mended": Run(
        table=of.charges,
        schema=of.schema_of_charges,
        settings={**PURE, "epsilon": 20, "mechanism": SMALL},
        mended=of.schema_of_charges(groupChar=","),
    ),
    # Independent
    "independent": _people(FIVE, {**PURE, "mechanism": "independent"}),
    "independent-pandas-replaced": Run(
        table=lambda: of.stays(*STAY).to_pandas(),
        schema=lambda: of.schema_of_stays(*STAY),
        settings={**APPROXIMATE, **REPLACED, "misfits": 1, "mechanism": lw.Independent(groups=16)},
    ),
    "independent-units-rules": _stays(
        ("patient", "ward", "visits"),
        {**RHO, "mechanism": "independent"},
        most=3,
        rules=[{"when": {"ward": "home"}, "then": {"visits": [{"maximum": 3}, -1, None]}}],
    ),
    # fixed tables
    "tables": _people(
        FIVE,
        {
            **APPROXIMATE,
            "mechanism": lw.Tables(
                [["age", "sex"], {"columns": ["sex", "age"], "groups": {"age": [30, 65]}, "weight": 2}, "education"]
            ),
        },
    ),
    # trees and grids of cells
    "pmm": _numbers(2, {**PURE, "mechanism": "pmm"}),
    "pmm-paper-replaced": _numbers(1, {**PURE, **REPLACED, "mechanism": lw.PMM(variant="paper")}),
    "pmm-prior": _numbers(2, {**RHO, "mechanism": lw.PMM(), "prior": "other.csv"}, files=OTHER_NUMBERS),
    "psmm": _numbers(2, {**PURE, "mechanism": "psmm"}),
    "psmm-program-replaced": _numbers(
        1, {**RHO, **REPLACED, "mechanism": lw.PSMM(cells=64, variant="paper", placement="uniform")}
    ),
    "grid": _numbers(2, {**PURE, "mechanism": lw.Grid(width=0.2, variant="paper", placement="uniform")}),
    "grid-least-squares": _stays(
        ("visits", "day"), {**APPROXIMATE, "mechanism": lw.Grid(width=0.25, placement="centre")}
    ),
    "kdtree": _numbers(3, {**PURE, "mechanism": "kdtree"}),
    "kdtree-units-replaced": _stays(
        ("patient", "visits", "cost"),
        {**APPROXIMATE, **REPLACED, "mechanism": lw.KDTree(variant="paper")},
        most=3,
    ),
    "kdtree-prior": _numbers(2, {**RHO, "mechanism": lw.KDTree(), "prior": "other.csv"}, files=OTHER_NUMBERS),
    # means of cells, statistics, densities
    "microaggregation": _flags(6, {**APPROXIMATE, "mechanism": "microaggregation"}),
    "microaggregation-paper": _flags(
        5, {**PURE, **REPLACED, "epsilon": 50, "mechanism": lw.Microaggregation(variant="paper")}
    ),
    "linear-statistics": _people(THREE, {**PURE, "mechanism": lw.LinearStatistics(points=500)}),
    "linear-statistics-chosen": _people(
        ("age", "hours_per_week", "sex"),
        {**APPROXIMATE, **REPLACED}
        | {
            "mechanism": lw.LinearStatistics(
                statistics=("age >= 65 and sex == 'Female'", lw.stat("hours_per_week / 168")),
                degree=1,
                mu="microaggregation",
                points=400,
                variant="paper",
            )
        },
    ),
    "private-sampling": _flags(4, {**PURE, **REPLACED, "mechanism": "privatesampling"}),
    "private-sampling-published": _flags(
        3, {**PURE, **REPLACED, "epsilon": 9000, "mechanism": lw.PrivateSampling(variant="paper")}
    ),
    # bounds and lists that are bought, a release under them, and what is bought about rows
    "learning-texts": Run(
        table=lambda: of.people("age", "education", "sex", rows=400),
        schema=lambda: of.draft("age", "education", "sex", sex={"categories": ["Female", "Male", "Other"]}),
        settings={"epsilon": 20, "delta": "1e-6"},
        verb="learning",
    ),
    "learned-schema": Run(
        table=lambda: of.people("age", "education", "sex", rows=400),
        schema=_learned_schema,
        settings={**PURE, "mechanism": "independent"},
    ),
    "evaluation": Run(
        table=lambda: of.people(*THREE),
        schema=lambda: of.schema_of_people(*THREE),
        settings={"epsilon": 2, "seed": 1, "synthetic": _other_people},
        verb="evaluation",
    ),
    # linked tables, and events in the order of time
    "linked-two": _homes(("homes", "people"), {**PURE, "epsilon": 20, "mechanism": "independent"}),
    "linked-three": _homes(("homes", "people", "visits"), {**APPROXIMATE, "epsilon": 30, "mechanism": SMALL}),
    "linked-events": _stays(("patient", "ward", "day"), {**RHO, "rho": 5, "mechanism": SMALL}, most=3, order="day"),
}
"""All runs by name."""


def transcript_of(name: str) -> bytes:
    """Return the transcript that is kept of a run."""
    return gzip.decompress((FOLDER / f"{name}.jsonl.gz").read_bytes())


def kept() -> dict[str, Any]:
    """Return what replays gave when they were kept: by name, and the machines on which that was."""
    return json.loads(EXPECTED.read_text(encoding="utf-8")) if EXPECTED.exists() else {"machines": [], "runs": {}}


def keep(names: list[str]) -> None:
    """Keep what replays of transcripts give here."""
    every, here = kept(), fingerprint()
    machines = every["machines"] if here in every["machines"] else [*every["machines"], here]
    runs = {name: found for name, found in every["runs"].items() if name in RUNS}
    for name in names:
        result = replayed(RUNS[name], transcript_of(name))
        runs[name] = {"machine": machines.index(here), "digests": result.digests, "figures": result.figures}
    used = sorted({found["machine"] for found in runs.values()})
    for found in runs.values():
        found["machine"] = used.index(found["machine"])
    text = json.dumps(
        {"machines": [machines[place] for place in used], "runs": {name: runs[name] for name in RUNS if name in runs}},
        indent=1,
        ensure_ascii=False,
    )
    EXPECTED.write_text(f"{text}\n", encoding="utf-8", newline="\n")


def main() -> None:
    """Record runs, or keep anew what the transcripts that are there give."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("work", choices=("record", "expected"))
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--all", action="store_true")
    given = parser.parse_args()
    if given.work == "record":
        FOLDER.mkdir(parents=True, exist_ok=True)
        for name in RUNS if given.all else given.names:
            packed = gzip.compress(recorded(RUNS[name]), mtime=0)
            (FOLDER / f"{name}.jsonl.gz").write_bytes(packed)
            print(f"{name}: {len(packed)} bytes")
    keep(list(given.names) if given.names else list(RUNS))


if __name__ == "__main__":
    main()
