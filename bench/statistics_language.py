"""CPU time that a million rows of Adult take under expressions and row functions, against one comparison in NumPy.

Run: ``python bench/statistics_language.py [--rows N]``. Least of five runs each; row functions once, on a tenth.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from lapwing.kernel.questions.linear_statistics.question import Statistic
from lapwing.model.statistics.expressions import compile_statistic, row_function
from lapwing.rows.out.decode import records
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "adult"
TEXTS = (
    "age >= 65",
    "age >= 65 and sex == 'Female'",
    "education in ('Masters', 'Bachelors', '9th')",
    "age / 120",
    "(age - 40) * (hours_per_week - 40) / 10240",
    "capital_gain > 10 * capital_loss + 5000",
)


def seconds(work: Callable[[], object], runs: int = 5) -> float:
    found = []
    for _ in range(runs):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    schema = Schema.load(str(DATA / "schema.json"))
    parts = list(code_table(str(DATA / "data.parquet"), schema).chunks())
    codes = {name: np.resize(np.concatenate([part[name] for part in parts]), rows) for name in parts[0]}
    wide = codes["age"].astype(np.int64)
    baseline = seconds(lambda: wide >= 65)
    print(f"one comparison in NumPy: {1000 * baseline:.2f} ms for {rows} rows")
    for text in TEXTS:
        statistic = compile_statistic(text, schema)
        assert isinstance(statistic, Statistic)
        taken = seconds(lambda statistic=statistic: statistic.values(codes))
        print(f"{text}: {1000 * taken:.1f} ms, {taken / baseline:.0f} x")
    few = {name: each[: rows // 10] for name, each in codes.items()}
    function = compile_statistic(
        row_function(lambda row: max(row["hours_per_week"] - 40, 0) / 128, bounds=(0, 1)), schema
    )
    taken = 10 * seconds(lambda: function.values_of_records(records(few, schema)), runs=1)
    print(f"a row function: {taken:.1f} s, {taken / baseline:.0f} x")


if __name__ == "__main__":
    main()
