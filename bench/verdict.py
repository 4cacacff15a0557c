"""Verdicts beside the truth: every development table at several ε, one CSV line for each.

    python bench/verdict.py FOLDER [--epsilon 0.1 1 10] [--delta 1e-9] [--only NAME ...] [-o OUT.csv]

Releases with default settings and seed 1 are kept in FOLDER, as ``TABLE_E_DELTA.lapwing``, with their true errors in
``.json``: what is there is not made again, so that a run goes on where it was broken off. True errors are the mean
total variations of `lapwing.evaluate`, of all real rows, beside a bootstrap and independent columns; grades are the
verdict's, and those that the same thresholds give to the true figures. The output is internal: it compares with real
rows.
"""

import argparse
import csv
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

import lapwing as lw
from lapwing.extras.evaluate.metrics.metric import (
    BOOTSTRAP,
    INDEPENDENT,
    SYNTHETIC,
    bootstrap_rows,
    independent_columns,
)
from lapwing.extras.evaluate.metrics.tables.variation import compare_with_each
from lapwing.model.compared import choose_tables
from lapwing.release.runs.generators import generator
from lapwing.release.runs.verdict.expected import grade_error, grade_tables
from lapwing.release.runs.verdict.terms import learnt_pairs, terms_of
from lapwing.rows.source import all_codes, coded_table
from lapwing.schema.schemas import Schema

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
RESULTS = Path(__file__).parent / "results"
NEAR = 1.5


def main() -> None:
    """Make what is missing, then write the lines and how near they are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--epsilon", nargs="+", default=["0.1", "1", "10"])
    parser.add_argument("--delta", default="1e-9")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "verdict.csv")
    chosen = parser.parse_args()
    tables = [path.parent for path in SHARED.glob("*/schema.json")]
    tables = sorted(each for each in tables if not chosen.only or each.name in chosen.only)
    lines = []
    for epsilon in chosen.epsilon:
        for table in tables:
            place = chosen.folder / f"{table.name}_{epsilon}_{chosen.delta}"
            lines += compared(table.name, epsilon, *made(table, epsilon, chosen.delta, place))
            print(table.name, epsilon, flush=True)
    with chosen.output.open("w", newline="") as file:
        writer = csv.DictWriter(file, lines[0])
        writer.writeheader()
        writer.writerows(lines)
    for ways in (1, 2, 3):
        print(ways, summary([line for line in lines if line["ways"] == ways]))


def made(table: Path, epsilon: str, delta: str, place: Path) -> tuple[lw.Release, dict[str, float]]:
    """Return a release of a table and its true errors, which are made where they are not there."""
    saved, errors = place.with_name(f"{place.name}.lapwing"), place.with_name(f"{place.name}.json")
    if not errors.exists():
        schema = Schema.load(table / "schema.json")
        release = lw.synthesize(table / "data.parquet", schema, epsilon=epsilon, delta=delta, seed=1, misfits=1)
        release.save(saved)
        errors.write_text(json.dumps(true_errors(table, schema, release)))
    return lw.load(saved), json.loads(errors.read_text())


def true_errors(table: Path, schema: Schema, release: lw.Release) -> dict[str, float]:
    """Return the mean total variations of the rows, a bootstrap and independent columns from the real rows."""
    if not release.model.rows:
        return {}
    every = replace(schema, privacy_unit=None)
    rows, rng = codes(table / "data.parquet", every), np.random.default_rng(0)
    against = {
        SYNTHETIC: codes(release.sample(), every.as_written_out),
        BOOTSTRAP: bootstrap_rows(rows, rng),
        INDEPENDENT: independent_columns(rows, rng),
    }
    found = compare_with_each(rows, against, every, choose_tables(every, rng=rng))
    return {f"tv{each.ways}_{name}": each.mean for name, several in found.items() for each in several}


def codes(data: object, schema: Schema) -> dict[str, np.ndarray]:
    """Return the codes of a table."""
    with coded_table(data, schema) as source:
        return all_codes(source, schema)


def compared(table: str, epsilon: str, release: lw.Release, true: dict[str, float]) -> Iterator[dict[str, object]]:
    """Yield a line for single columns, pairs and triples; none where no row was released."""
    if not release.model.rows:
        return
    rng = generator(release.certificate.seed or 0, "verdict")
    learnt = learnt_pairs(release.noisy)
    for terms in terms_of(release.schema, release.noisy, release.model, rng):
        grade = grade_tables(terms, is_learnt=learnt > 0)
        error, fresh, independent = (true[f"tv{terms.ways}_{name}"] for name in (SYNTHETIC, BOOTSTRAP, INDEPENDENT))
        yield {
            "table": table,
            "epsilon": epsilon,
            "ways": terms.ways,
            "mechanism": release.certificate.mechanism,
            "rows": release.certificate.released_rows,
            "learnt": learnt,
            "grade": grade.word,
            "true_grade": grade_error(terms.ways, error, fresh, independent),
            "expected": round(grade.error, 5),
            "true": round(error, 5),
            "fresh": round(grade.fresh, 5),
            "true_fresh": round(fresh, 5),
            "independent": round(grade.independent, 5),
            "true_independent": round(independent, 5),
        }


def summary(lines: list[dict[str, object]]) -> str:
    """Say how near expected errors are to the true ones."""
    expected, true = (np.array([line[key] for line in lines], dtype=float) for key in ("expected", "true"))
    ratio = np.maximum(expected / true, true / expected)
    same = np.mean([line["grade"] == line["true_grade"] for line in lines])
    return (
        f"releases {len(lines)}, rank correlation {spearmanr(expected, true).statistic:.3f}, within a factor {NEAR}: "
        f"{np.mean(ratio <= NEAR):.0%}, within 2: {np.mean(ratio <= 2):.0%}, same grade: {same:.0%}"
    )


if __name__ == "__main__":
    main()
