"""What anonymous tables of real data lose, end to end. A CSV file.

    OMP_NUM_THREADS=1 python bench/anonymous_tables.py [--quick] [-o bench/results]

`lapwing.anonymize` with k = 10 on tables of ../shared/data, from a path to rows: the default, without improvement, with
shuffled cells, with modes, and Algorithm 1 as published. ``tv1`` and ``tv2`` are the mean total variation of all tables
of one and of two columns, as `lapwing.evaluate` has them; ``floor`` is that of a bootstrap. CPU seconds are of
`anonymize` alone.
"""

import time
from collections.abc import Iterator

from adaptive import commit, machine
from metric_models import SHARED, arguments
from pmm import Line, write_lines

from lapwing.api.anonymize import anonymize
from lapwing.extras.evaluate.verb import evaluate

TABLES = (
    *("tarragona", "mimic-demo-admissions", "teacher-climate", "icu-physionet2012", "eusilc", "nltcs", "nhanes"),
    *("adult", "nyc-airbnb", "diabetes130"),
)
VARIANTS: dict[str, dict[str, object]] = {
    "default": {},
    "no improvement": {"improve": False},
    "shuffle": {"output": "shuffle"},
    "mode": {"categories": "mode"},
    "Algorithm 1": {"variant": "paper"},
}


def lines(tables: tuple[str, ...]) -> Iterator[Line]:
    """Yield one line for each table and variant."""
    for name in tables:
        data, schema = SHARED / name / "data.parquet", SHARED / name / "schema.json"
        for variant, settings in VARIANTS.items():
            start = time.process_time()
            made = anonymize(data, schema, 10, seed=1, **settings)
            seconds = time.process_time() - start
            found = evaluate(data, made.data, schema)
            yield {
                "table": name,
                "variant": variant,
                "rows": made.data.height,
                "groups": made.groups,
                "information_loss": made.information_loss,
                "covariance_loss": made.covariance_loss,
                **{f"tv{each.ways}": each.mean for each in found.findings.tables["synthetic"][:2]},
                **{f"floor{each.ways}": each.mean for each in found.findings.tables["bootstrap"][:2]},
                "cpu_s": seconds,
                "commit": commit(),
                "machine": machine(),
            }


def main() -> None:
    """Write the file."""
    chosen = arguments(__doc__)
    tables = TABLES[:2] if chosen.quick else TABLES
    write_lines(chosen.output / "anonymous_tables.csv", lines(tables))


if __name__ == "__main__":
    main()
