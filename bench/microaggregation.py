"""Errors of marginals under microaggregation, anonymous and private. A CSV file and charts for each part.

    OMP_NUM_THREADS=1 python bench/microaggregation.py anonymous|private [--quick] [--releases 3] [-o bench/results]

All errors are roots of formula (1.2) of "Covariance's Loss is Privacy's Gain": root mean squares, over all sets of
d = 1, 2, 3 Boolean columns, of the difference in the share of rows that are true in all of them. ``before`` is that of
the groups' means or of the released model, before any row is drawn; ``rows`` that of as many rows as the table has.

``anonymous``: groups of 2 to 500 rows of three tables; ``bound`` is Theorem 4.6 with our constants for rows drawn
independently. ``private``: nltcs drawn again to 10^4, 10^5 and 10^6 rows, and three tables as they are, add-remove
neighbours (the paper's constants: replace-one); ``bound`` is Theorem 5.11 with our constants, for the paper's net and
noise, ``our_bound`` that for the paper's net, centred coding and noisy sums, a third of epsilon for each question.
CPU seconds are of finding groups, and of reading and fitting.
"""

import math
import time
from collections.abc import Iterator
from itertools import product

import numpy as np
import polars as pl
from adaptive import commit, machine
from charts import log_log
from metric_models import SHARED, arguments
from pmm import Line, write_lines
from png import write_png

from lapwing.anonymous.covariance_loss import block_means, theorem_partition
from lapwing.anonymous.microaggregation import practical_partition
from lapwing.anonymous.settings import AnonymousSettings, Variant
from lapwing.anonymous.table import Grouped, draw_codes
from lapwing.anonymous.vectors import read_rows
from lapwing.api.synthesize import synthesize
from lapwing.extras.evaluate.metrics.moments import marginal_moments
from lapwing.maths.lattice_net import lattice_points, private_net
from lapwing.mechanisms.independent.mechanism import Independent
from lapwing.mechanisms.registry import Mechanism
from lapwing.mechanisms.trees.pmm.mechanism import PMM
from lapwing.mechanisms.vectors.microaggregation.mechanism import Microaggregation
from lapwing.model.model import Bernoulli, ColumnLaw, Indexed, Spans
from lapwing.release.release import Release
from lapwing.schema.schemas import Schema
from lapwing.theorems.covariance_loss import (
    ReleaseNoise,
    centred_marginal_error,
    noise_of_sums,
    theorem_4_6,
    theorem_5_5,
    theorem_5_11,
)

WAYS = (1, 2, 3)
TABLES = ("nltcs", "plants", "mushrooms")
SIZES = (2, 5, 10, 20, 50, 100, 200, 500)
ROWS = (10**4, 10**5, 10**6)
EPSILONS = (0.1, 1.0, 10.0)
DELTA = 1e-9
MECHANISMS: dict[str, Mechanism] = {
    "tight": Microaggregation(),
    "tight, no fit": Microaggregation(fit_moments=False),
    "paper": Microaggregation(variant="paper"),
    "independent": Independent(),
    "PMM": PMM(),
}

LEVEL = 30.0
"""Rows that a cell's sum is divided by at least, in the bound of noisy sums."""
MOST_POINTS = 10**6

Moments = tuple[np.ndarray, ...]


def boolean_table(name: str) -> np.ndarray:
    """Return a public benchmark table of Boolean columns, as bits."""
    return pl.read_parquet(SHARED / name / "data.parquet").to_numpy().astype(np.uint8)


def boolean_schema(columns: int) -> Schema:
    """Return a schema of Boolean columns without missing cells."""
    fields = [{"name": f"x{place}", "type": "boolean", "constraints": {"required": True}} for place in range(columns)]
    return Schema.from_dict({"fields": fields})


def as_frame(bits: np.ndarray) -> pl.DataFrame:
    """Return bits as a table of `boolean_schema`."""
    return pl.DataFrame({f"x{place}": column.astype(bool) for place, column in enumerate(bits.T)})


def errors(what: str, found: Moments, real: Moments) -> Line:
    """Return the root-mean-square errors of all marginals, by name."""
    pairs = zip(WAYS, found, real, strict=True)
    return {f"{what}_d{way}": float(np.sqrt(np.square(one - other).mean())) for way, one, other in pairs}


def mean_line(lines: list[Line]) -> Line:
    """Return the means of figures over releases, and the largest standard error of a two-way error."""
    means: Line = {name: float(np.mean([line[name] for line in lines])) for name in lines[0]}  # type: ignore[arg-type]
    spread = [line["before_d2"] for line in lines]
    if len(lines) > 1:
        means["before_d2_se"] = float(np.std(spread, ddof=1) / np.sqrt(len(lines)))  # type: ignore[arg-type]
    return means


# Anonymous


def anonymous(*, is_quick: bool) -> Iterator[Line]:
    """Yield one line for each table, size of groups, partition and kind of output."""
    sizes = SIZES[2:6:3] if is_quick else SIZES
    for name in TABLES[2:] if is_quick else TABLES:
        bits = boolean_table(name)[: 2000 if is_quick else None]
        schema, rng = boolean_schema(bits.shape[1]), np.random.default_rng(1)
        rows = read_rows(as_frame(bits), schema)
        real = marginal_moments(bits)
        for size, partition in product(sizes, ("practical", "theorem")):
            start = time.process_time()
            labels = groups(bits, size, partition)
            line: Line = {"table": name, "rows": len(bits), "columns": bits.shape[1], "size": size}
            line |= {"partition": partition, "groups": int(labels.max()) + 1, "cpu_s": time.process_time() - start}
            counts, means = block_means(bits.astype(np.float64), labels)
            line |= errors("before", marginal_moments(means, weights=counts), real)
            for output in ("systematic", "iid"):
                variant: Variant = "paper" if output == "iid" else "default"  # how rows are drawn from the groups
                settings = AnonymousSettings(min_group_size=size, variant=variant)
                codes = draw_codes(Grouped(rows, labels), schema, settings, rng)
                drawn = np.stack([codes[column.name] for column in schema.columns], axis=1)
                line |= errors(output, marginal_moments(drawn), real)
            yield line | anonymous_bounds(len(bits), bits.shape[1], size) | {"commit": commit(), "machine": machine()}


def groups(bits: np.ndarray, size: int, partition: str) -> np.ndarray:
    """Return the group of each row, as `lapwing.anonymous.table` finds them for Booleans that are never missing."""
    if partition == "theorem":
        return theorem_partition(bits / math.sqrt(bits.shape[1]), len(bits) // size)
    return practical_partition((bits - bits.mean(axis=0)) * math.sqrt(2), size)


def anonymous_bounds(rows: int, columns: int, size: int) -> Line:
    """Return the bounds on the errors of as many independent rows as there are, drawn from the theorem's groups."""
    blocks = rows // size
    return {f"bound_d{way}": theorem_4_6(blocks, columns, way, rows) for way in WAYS}


# Private


def private(releases: int, *, is_quick: bool) -> Iterator[Line]:
    """Yield one line for each table, number of rows, budget and mechanism."""
    for name, bits in private_tables(is_quick=is_quick):
        real = marginal_moments(bits)
        notions = [(epsilon, delta) for delta in (0.0, DELTA) for epsilon in EPSILONS]
        for (epsilon, delta), method in product(notions, MECHANISMS):
            if not measured(method, name, delta):
                continue
            found = [figures(bits, real, method, epsilon, delta) for _ in range(releases)]
            line: Line = {"table": name, "rows": len(bits), "columns": bits.shape[1], "epsilon": epsilon}
            line |= {"delta": delta, "method": method, "releases": releases} | mean_line(found)
            if method == "paper":
                line |= private_bounds(len(bits), bits.shape[1], epsilon)
            yield line | {"commit": commit(), "machine": machine()}


def private_tables(*, is_quick: bool) -> Iterator[tuple[str, np.ndarray]]:
    """Yield nltcs drawn again to several sizes, and tables as they are."""
    bits = boolean_table("nltcs")
    for rows in ROWS[:1] if is_quick else ROWS:
        yield "nltcs", bits[np.random.default_rng(rows).integers(len(bits), size=rows)]
    for name in () if is_quick else (*TABLES[1:], "jester"):
        yield name, boolean_table(name)


def measured(method: str, table: str, delta: float) -> bool:
    """Tell whether a method is for such a table and budget."""
    if method == "paper":
        return not delta
    return method != "PMM" or (not delta and table == "nltcs")


def figures(bits: np.ndarray, real: Moments, method: str, epsilon: float, delta: float) -> Line:
    """Return time and errors of one release."""
    schema, frame = boolean_schema(bits.shape[1]), as_frame(bits)
    start = time.process_time()
    release = synthesize(
        frame,
        schema,
        epsilon=epsilon,
        delta=delta,
        mechanism=MECHANISMS[method],
        neighbours="replace-one" if method == "paper" else "add-remove",
    )
    line: Line = {"cpu_s": time.process_time() - start, "atoms": release.model.weights.size}
    line |= errors("before", marginal_moments(probabilities(release), weights=release.model.weights), real)
    drawn = release.sample(len(bits), seed=1).to_numpy().astype(np.uint8)
    return line | errors("rows", marginal_moments(drawn), real)


def probabilities(release: Release) -> np.ndarray:
    """Return for each atom of a model the probability that each Boolean column is true."""
    laws = release.model.laws
    return np.stack([chances(laws[column.name]) for column in release.schema.columns], axis=1)


def chances(law: ColumnLaw) -> np.ndarray:
    """Return for each atom the probability of code 1, of two codes."""
    if isinstance(law, Bernoulli):
        return law.p
    if isinstance(law, Spans):
        return share_of_ones(law.starts, law.stops)
    if isinstance(law, Indexed):
        masses = law.laws.probabilities * share_of_ones(law.laws.starts, law.laws.stops)
        return np.bincount(law.laws.law_of_piece, masses, minlength=law.laws.count)[law.index]
    raise TypeError("a column of a product atom has one of three laws")


def share_of_ones(starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Return the share of code 1 in intervals of the codes 0 and 1."""
    return (stops == 2) / (stops - starts)


def private_bounds(rows: int, columns: int, epsilon: float) -> Line:
    """Return the bounds on the errors of as many rows as there are: paper's noise, and noise of our questions."""
    line: Line = {f"bound_d{way}": theorem_5_11(rows, columns, epsilon, way, rows) for way in WAYS}
    choice, noise = private_net(rows, columns), thirds(rows, columns, epsilon)
    ours = [theorem_5_5(choice, noise, columns, way) for way in WAYS]
    return line | {f"our_bound_d{way}": centred_marginal_error(ours[:way], columns, rows) for way in WAYS}


def thirds(rows: int, columns: int, epsilon: float) -> ReleaseNoise:
    """Return the noise of second moment, counts and sums of the net's cells, a third of epsilon for each question."""
    choice, third = private_net(rows, columns), math.sqrt(2) * 3 / epsilon
    of_pairs = third * columns * (columns - 1) / 2
    net = lattice_points(choice.dimensions, math.floor(choice.dimensions / choice.alpha**2), MOST_POINTS)
    return noise_of_sums(
        n=rows,
        s=len(net),
        b=LEVEL,
        second_moment=of_pairs * math.sqrt(columns * (columns - 1)) / (rows * columns),
        count_noise=third,
        count_noise_squared=math.sqrt(6) * third**2,
        sum_noise=third * columns,
    )


# Charts


def anonymous_chart(lines: list[Line], table: str) -> np.ndarray:
    """Draw the errors of pairs of columns against the size of groups."""
    curves: dict[str, list[tuple[float, float]]] = {}
    for partition, what in (
        ("practical", "before"),
        ("practical", "systematic"),
        ("practical", "iid"),
        ("theorem", "before"),
        ("theorem", "bound"),
    ):
        label = "theorem" if (partition, what) == ("theorem", "before") else what
        chosen = (line for line in lines if line["table"] == table and line["partition"] == partition)
        curves[label] = [(line["size"], line[f"{what}_d2"]) for line in chosen]  # type: ignore[misc]
    return log_log(f"{table}: error of two-way marginals", curves, ("rows in a group", "error"))


def private_chart(lines: list[Line], way: int, epsilon: float) -> np.ndarray:
    """Draw the errors of released models of nltcs, and the bound of noisy sums, against the number of rows."""
    curves: dict[str, list[tuple[float, float]]] = {}
    for line in lines:
        if line["table"] == "nltcs" and not line["delta"] and line["epsilon"] == epsilon:
            names = {str(line["method"]): f"before_d{way}"}
            names |= {"bound": f"our_bound_d{way}"} if line["method"] == "paper" else {}
            for label, what in names.items():
                curves.setdefault(label, []).append((line["rows"], line[what]))  # type: ignore[arg-type]
    return log_log(f"nltcs, epsilon {epsilon:g}: error of {way}-way marginals", curves, ("rows", "error"))


def main() -> None:
    """Measure, and draw."""
    chosen = arguments(__doc__, ["anonymous", "private"])
    lines: list[Line] = []

    def kept(measured: Iterator[Line]) -> Iterator[Line]:
        for line in measured:
            lines.append(line)
            yield line

    path = chosen.output / f"microaggregation_{chosen.part}"
    if chosen.part == "anonymous":
        write_lines(path.with_suffix(".csv"), kept(anonymous(is_quick=chosen.quick)))
        for table in dict.fromkeys(str(line["table"]) for line in lines):
            write_png(path.with_name(f"{path.name}_{table}.png"), anonymous_chart(lines, table))
        return
    write_lines(path.with_suffix(".csv"), kept(private(chosen.releases or 3, is_quick=chosen.quick)))
    for way, epsilon in ((1, 1.0), (2, 1.0), (3, 1.0), (2, 0.1), (2, 10.0)):
        picture = private_chart(lines, way, epsilon)
        write_png(path.with_name(f"{path.name}_d{way}_epsilon_{epsilon:g}.png"), picture)


if __name__ == "__main__":
    main()
