"""Verdicts beside the truth: every development table at several ε, one CSV line for each release.

    python bench/verdict.py FOLDER [--epsilon 0.1 1 10] [--delta 1e-9] [--rows 20000] [--only NAME ...] [-o OUT.csv]

Releases with default settings and seed 1, of so many rows of each table at most, are kept in FOLDER, as
``TABLE_E_DELTA.lapwing``: what is there is not made again, so that a run goes on where it was broken off. Forecasts
stand beside the same figures measured on all these rows, as `lapwing.evaluate` does. The weights of the forecast were
fitted to half of the tables, chosen by seed 63 (``fitted`` in the CSV). The output is internal: it compares with real
rows.
"""

import argparse
import csv
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

import lapwing as lw
from lapwing.model.certificate.verdict import WORDS, share_word, strength_word
from lapwing.model.quality import Quality, compare_quality
from lapwing.release.runs.generators import generator
from lapwing.release.runs.verdict.counted import learnt_pairs, release_evidence
from lapwing.release.runs.verdict.expected import WITHIN, Expected, expected_quality
from lapwing.rows.source import all_codes, coded_table
from lapwing.schema.schemas import Schema

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
RESULTS = Path(__file__).parent / "results"
NEAR = 0.05


def main() -> None:
    """Make what is missing, then write the lines and how near they are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--epsilon", nargs="+", default=["0.1", "1", "10"])
    parser.add_argument("--delta", default="1e-9")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("-o", "--output", type=Path, default=RESULTS / "verdict.csv")
    chosen = parser.parse_args()
    tables = sorted(path.parent for path in SHARED.glob("*/schema.json"))
    names = np.random.default_rng(63).permutation([each.name for each in tables])
    fitted = set(names[: len(names) // 2].tolist())
    lines = []
    for epsilon in chosen.epsilon:
        for table in tables:
            if chosen.only and table.name not in chosen.only:
                continue
            rows = pl.read_parquet(table / "data.parquet")
            rows = rows.sample(min(chosen.rows, rows.height), seed=1)
            place = chosen.folder / f"{table.name}_{epsilon}_{chosen.delta}.lapwing"
            release = made(rows, table, epsilon, chosen.delta, place)
            about = {"table": table.name, "epsilon": epsilon, "fitted": int(table.name in fitted)}
            lines += [about | line for line in compared(rows, release)]
            print(*about.values(), flush=True)
    with chosen.output.open("w", newline="") as file:
        writer = csv.DictWriter(file, lines[0])
        writer.writeheader()
        writer.writerows(lines)
    for key in ("epsilon", "fitted"):
        for value in sorted({line[key] for line in lines}, key=float):
            print(key, value, summary([line for line in lines if line[key] == value]))
    print("all", summary(lines))


def made(rows: pl.DataFrame, table: Path, epsilon: str, delta: str, place: Path) -> lw.Release:
    """Return a release of a table, which is made where it is not there."""
    if not place.exists():
        schema = Schema.load(table / "schema.json")
        lw.synthesize(rows, schema, epsilon=epsilon, delta=delta, seed=1, misfits=1).save(place)
    return lw.load(place)


def codes(data: object, schema: Schema) -> dict[str, np.ndarray]:
    """Return the codes of a table."""
    with coded_table(data, schema) as source:
        return all_codes(source, schema)


def compared(rows: pl.DataFrame, release: lw.Release) -> Iterator[dict[str, object]]:
    """Yield the forecast beside the figures; nothing where no row was released, or nothing is told of some column."""
    schema, rng = release.schema, generator(release.certificate.seed or 0, "verdict")
    evidence = release_evidence(schema, release.noisy, release.model, rng)
    if evidence is None:
        return
    expected = expected_quality(schema, evidence, rng)
    every = replace(schema, privacy_unit=None)
    pair = codes(rows, every), codes(release.sample(), every.as_written_out)
    true = compare_quality(*pair, every, rng=np.random.default_rng(0))
    turned = compare_quality(*pair[::-1], every, rng=np.random.default_rng(0))
    # Found: strong in the synthetic rows, and counted.
    found = [each.error for each in turned.relations if frozenset(each.columns) in evidence.pairs]
    yield {
        "mechanism": release.certificate.mechanism,
        "rows": release.certificate.released_rows,
        "learnt": len(learnt_pairs(release.noisy, schema)),
        **figures("forecast", (expected.shape, expected.trend, expected.score, expected.share), words(expected)),
        **figures("measured", (true.shape, true.trend, true.score, true.share_error), true_words(true)),
        "strong": expected.strong,
        "strong_real": len(true.relations),
        "within": rounded(expected.within),
        "found": len(found),
        "found_within": sum(each <= (expected.within or 0.0) for each in found),
        "weakest": rounded(expected.weakest),
        "least": rounded(expected.least),
        "most": rounded(expected.most),
    }


def words(found: Expected) -> tuple[str, str]:
    """Return the words of a verdict."""
    return share_word(found.share), strength_word(found.error)


def true_words(found: Quality) -> tuple[str, str]:
    """Return the words of an evaluation; without a strong relation nothing is known of them."""
    errors = [each.error for each in found.relations]
    return share_word(found.share_error), strength_word(float(np.quantile(errors, WITHIN)) if errors else None)


def figures(name: str, values: tuple[float | None, ...], said: tuple[str, str]) -> dict[str, object]:
    """Return the figures of one side."""
    both = (*map(rounded, values), *said)
    keys = ("shape", "trend", "score", "share", "shares", "relations")
    return {f"{name}_{key}": value for key, value in zip(keys, both, strict=True)}


def rounded(value: float | None) -> float | str:
    """Return a figure to five digits."""
    return "" if value is None else round(value, 5)


def summary(lines: list[dict[str, object]]) -> str:
    """Say how near forecasts are to the figures."""
    off = np.array([float(line["forecast_score"]) - float(line["measured_score"]) for line in lines])
    # As they are told, in hundredths.
    ends = [[round(float(line[key]), 2) for key in ("least", "measured_score", "most")] for line in lines]  # type: ignore[arg-type]
    held, width = (
        np.mean([low <= true <= high for low, true, high in ends]),
        np.median([high - low for low, _, high in ends]),
    )
    steps = np.array(
        [WORDS.index(line["measured_shares"]) - WORDS.index(line["forecast_shares"]) for line in lines]  # type: ignore[arg-type]
    )
    relations = np.array(
        [
            WORDS.index(line["measured_relations"]) - WORDS.index(line["forecast_relations"])  # type: ignore[arg-type]
            for line in lines
            if "unknown" not in (line["measured_relations"], line["forecast_relations"])
        ]
    )
    inside, found = (sum(int(line[key]) for line in lines) for key in ("found_within", "found"))
    return (
        f"releases {len(lines)}: headline in its range in {held:.0%}, which is {width:.2f} wide; within {NEAR} in "
        f"{np.mean(np.abs(off) <= NEAR):.0%}, mean difference {off.mean():+.3f}; "
        f"single columns: too good {np.mean(steps > 0):.0%}, too bad {np.mean(steps < 0):.0%}; "
        f"relations: too good {np.mean(relations > 0):.0%}, too bad {np.mean(relations < 0):.0%}; "
        f"{inside} of {found} relations found are within what is told"
    )


if __name__ == "__main__":
    main()
