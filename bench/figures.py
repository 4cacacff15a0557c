"""The figures of the pages, from the CSV that its command wrote: ``python bench/figures.py [PAGE]`` prints them.

A page names the CSV before the figures, as ``<!-- figures: bench/results/NAME.csv -->``, and in its words the commit
of the code that was measured. `FIGURES` has, for each such marker, the texts that stand on the page after it: lines of
tables, and parts of sentences. tests/docs/test_figures.py compares, and refuses a page that names a command of bench/
without a marker.
"""

import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl

RESULTS = Path(__file__).resolve().parent / "results"
Made = Callable[[pl.DataFrame], Iterator[str]]
FIGURES: dict[tuple[str, str], Made] = {}


@cache
def table(name: str) -> pl.DataFrame:
    """Return a file of results."""
    return pl.read_csv(RESULTS / f"{name}.csv", infer_schema_length=None)


def figures(page: str, name: str) -> Callable[[Made], Made]:
    """Register what a page says from a file."""

    def register(made: Made) -> Made:
        FIGURES[page, name] = made
        return made

    return register


def cell(rows: pl.DataFrame, column: str, /, **where: object) -> float:
    """Return the one value of a column where others have these values."""
    return float(rows.filter(**where)[column].item())


def short(value: float, digits: int = 2) -> str:
    """Return a number of so many digits after the point, as pages write it below 1.

    >>> short(0.0158, 4), short(1.2)
    ('.0158', '1.20')
    """
    return f"{value:.{digits}f}".removeprefix("0") if value else "0"


def significant(value: float, digits: int = 2) -> str:
    """Return a number of so many significant digits."""
    return f"{value:#.{digits}g}".rstrip(".")


def line(*cells: object) -> str:
    """Return a line of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def geometric(values: pl.Series) -> float:
    """Return the geometric mean."""
    return float(np.exp(values.log().to_numpy().mean()))


# -- Mechanisms.


@figures("kd-tree.md", "kernel_mixtures")
def mixtures(rows: pl.DataFrame) -> Iterator[str]:
    """Yield Figure 3 and the table of mechanisms by dimension."""

    def of(mechanism: str, epsilon: float, d: int, relation: str = "add-remove", column: str = "atoms") -> float:
        return cell(rows, column, mechanism=mechanism, epsilon=epsilon, d=d, relation=relation)

    for mechanism, epsilon, named in (
        ("KDTree", 0.1, "KDTree"),
        ("KDTree", 1.0, ""),
        ("KDTree paper", 1.0, "KDTree, `paper`"),
        ("PMM", 1.0, "PMM"),
    ):
        values = [of(mechanism, epsilon, d) for d in (2, 5, 10, 20)]
        shown = [
            f"{value:.4f}" if value < 0.01 else f"{value:.3f}" if value < 0.1 else f"{value:.2f}" for value in values
        ]
        yield line(named, f"{epsilon:g}", *shown).replace("|  |", "| |")
    tau, tree, rival = (
        [short(of(name, epsilon, 5, "replace-one"), digits) for epsilon, digits in ((1.0, 3), (0.1, 3))]
        for name in ("KDTree paper", "KDTree", "Balog et al")
    )
    yield f"KDTree {', '.join(tree)}; `paper` {', '.join(tau)}; Balog et al. {', '.join(rival)}"


@figures("kd-tree.md", "advice")
def on_maps(rows: pl.DataFrame) -> Iterator[str]:
    """Yield W1 on two maps."""
    for name in ("houston-crime", "nyc-airbnb"):
        values = [
            [cell(rows, "w1", table=name, mechanism=each, epsilon=epsilon) for epsilon in (0.1, 1.0)]
            for each in ("KDTree", "default", "PMM", "Grid")
        ]
        yield line(name, *(", ".join(short(value, 4) for value in pair) for pair in values))


@figures("microaggregation.md", "advice")
def on_flags(rows: pl.DataFrame) -> Iterator[str]:
    """Yield the total variation of pairs of Booleans."""
    for name in ("nltcs", "plants"):
        found = [
            ", ".join(
                short(cell(rows, "pairs", table=name, mechanism=each, epsilon=epsilon), 3)
                for epsilon in (0.1, 0.3, 1.0)
            )
            for each in ("Microaggregation", "Adaptive")
        ]
        yield f"{name} {found[0]} and {found[1]}"


@figures("kd-tree.md", "kd_tree_fraud")
def fraud(rows: pl.DataFrame) -> Iterator[str]:
    """Yield Tables 1 and 2."""
    whole = rows.filter(classifier="Average")
    yield f"trained on real rows: {short(cell(whole, 'area', synthesizer='real'), 3)}"
    for name, named in (("KDTree", "KDTree"), ("paper", "paper's settings"), ("paper, published", "published")):
        yield line(
            named, *(short(cell(whole, "area", synthesizer=name, epsilon=each), 3) for each in (10, 1, 0.1, 0.01))
        )


@figures("kd-tree.md", "kd_tree_cells")
def cells(rows: pl.DataFrame) -> Iterator[str]:
    """Yield how many different rows the paper's settings leave."""
    found = [cell(rows, "different", epsilon=each) for each in (10, 1, 0.1, 0.01)]
    shown = [f"{value:,.0f}" if value >= 10 else f"{value:.1f}" for value in found]
    yield f"of {cell(rows, 'rows', epsilon=1):,.0f} rows"
    yield f"{', '.join(shown[:-1])} and {shown[-1]} different ones"


@figures("kd-tree.md", "kd_tree_figure6")
def figure6(rows: pl.DataFrame) -> Iterator[str]:
    """Yield Figure 6."""
    own = rows.filter(weights="Appendix H")
    yield f"least KL at width {short(own.sort('kl')['width'][0], 1)}, MMD at {short(own.sort('mmd')['width'][0], 1)}"


@figures("microaggregation.md", "certified_pairs")
def certified(rows: pl.DataFrame) -> Iterator[str]:
    """Yield claimed and true errors."""
    names = ("nltcs", "adult", "plants", "mushrooms", "bank-marketing", "eusilc")
    for epsilon in (1.0, 10.0):
        shown = []
        for name in names:
            (found,) = rows.filter(table=name, epsilon=epsilon).select("claimed", "true").rows()
            digits = 4 if found[0] is None or found[0] < 0.1 else 3
            shown.append("-" if found[0] is None else f"{short(found[0], digits)} / {short(found[1], 4)}")
        yield line(f"{epsilon:g}", *shown)


@figures("microaggregation.md", "microaggregation_private")
def private(rows: pl.DataFrame) -> Iterator[str]:
    """Yield errors of pairs by the number of rows."""

    def of(n: int, method: str = "tight") -> str:
        found = rows.filter(table="nltcs", epsilon=1.0, delta=0.0, method=method).sort("rows")
        return short(float(found["before_d2"][n]), 2 if method == "paper" else 4)

    yield f"{of(0)} at 10⁴ rows, {of(1)} at 10⁵ ({of(1, 'tight, no fit')} without `fit_moments`"
    yield f'{of(1, "paper")} with `variant="paper"`), {of(2)} at 10⁶; independent columns .085'


@figures("linear-statistics.md", "linear_statistics_tables")
def linear(rows: pl.DataFrame) -> Iterator[str]:
    """Yield errors by variant."""
    for name, epsilon in (("nltcs", 0.1), ("nltcs", 1.0), ("adult-pgm", 1.0), ("adult-pgm", 10.0)):
        both = [rows.filter(table=name, epsilon=epsilon, variant=each) for each in ("default", "paper")]
        pairs = [
            f"{_of_error(each[f'{what}_max'][0])}, {_of_error(each[f'{what}_mean'][0])}"
            for what, each in (("noise", both[0]), ("model", both[0]), ("model", both[1]))
        ]
        yield line(f"{name}, {epsilon:g}", *pairs)


MUS = ("microaggregation", "adaptive", "independent", "uniform")


def _of_error(value: float) -> str:
    return short(value, 3 if value >= 0.01 else 4)


@figures("linear-statistics.md", "linear_statistics_kappa")
def kappa(rows: pl.DataFrame) -> Iterator[str]:
    """Yield the condition numbers of nltcs."""
    found = [cell(rows, "kappa_median", epsilon=1, mu=each) for each in MUS]
    first, *others = (f"{value:.1f}" if value < 10 else f"{value:,.0f}" for value in found)
    named = zip((first, *others), MUS, strict=True)
    yield ", ".join(f"{value} (`{mu}`)" for value, mu in named)


@figures("linear-statistics.md", "linear_statistics_mu")
def means_by_mu(rows: pl.DataFrame) -> Iterator[str]:
    """Yield mean errors by where the points lie."""
    found = [cell(rows, "model_mean", epsilon=1, mu=each) for each in MUS]
    first = [short(value, 4 if value < 0.01 else 3) for value in found]
    yield f"mean errors {', '.join(first[:-1])} and {first[-1]}"


@figures("pmm.md", "certificates_ratios")
def ratios(rows: pl.DataFrame) -> Iterator[str]:
    """Yield how loose PMM's distance is on one column."""
    own = rows.filter(mechanism="PMM", claim="W1")
    yield f"the median is {own['ratio'].median():.1f} times the true distance"
    yield f"{own['missed'].sum()} of {own['releases'].sum()} releases passed it"


@figures("pmm.md", "pmm_accuracy")
def against_the_paper(rows: pl.DataFrame) -> Iterator[str]:
    """Yield how far PMM is beside the published variant."""
    one, two = (short(cell(rows, "ratio", data="geometric mean", d=d)) for d in ("1", "2"))
    yield f"{one} (one column), {two} (two) times"


@figures("pmm.md", "psmm_accuracy")
def psmm(rows: pl.DataFrame) -> Iterator[str]:
    """Yield the distance of PSMM over that of PMM."""
    for name in ("uniform", "beta mixture", "10 Gaussians", "clustered"):
        found = [rows.filter(data=name, d=d, rows=n) for d in (1, 2) for n in (10**3, 10**4)]
        yield line(name, *(f"{each['psmm'].item() / each['pmm'].item():.2f}" for each in found))


@figures("private-sampling.md", "private_sampling_rows")
def rows_allowed(rows: pl.DataFrame) -> Iterator[str]:
    """Yield how many rows a budget allows."""
    for columns, degree in ((3, 2), (10, 2), (16, 1)):
        exact, published = (
            rows.filter(columns=columns, degree=degree, rows=10**6, variant=v) for v in ("default", "paper")
        )
        with_delta = exact["epsilon 1, delta 1e-9"].item()
        yield line(
            f"{columns}, {degree}",
            "10⁶",
            f"{exact['epsilon 1'].item():,.0f}",
            f"{with_delta:,.0f}",
            f"{published['epsilon 1'].item():.2g}",
        )


@figures("private-sampling.md", "private_sampling_accuracy")
def errors_of_rows(rows: pl.DataFrame) -> Iterator[str]:
    """Yield the range of the largest errors."""
    own, rival = (rows.filter(epsilon=1, mechanism=name) for name in ("PrivateSampling", "Adaptive"))
    own = own.filter(floor=0.1)
    yield f"{short(own['error'].min())} to {short(own['error'].max())}, where Adaptive has"
    yield f"{short(rival['error'].min(), 3)} to {short(rival['error'].max(), 3)}"


@figures("adaptive.md", "adaptive_tables")
def adaptive(rows: pl.DataFrame) -> Iterator[str]:
    """Yield errors of pairs by table."""
    at_one = rows.filter(epsilon=1, delta=1e-9)
    for name in ("adult", "salary-pgm", "nltcs", "plants", "census-kdd"):
        own, alone, resample = (
            at_one.filter(table=name, method=method, variant="default")
            for method in ("adaptive", "independent", "bootstrap")
        )
        errors = (f"{each['tv2'].item():.3f}" for each in (own, alone, resample))
        yield line(name, f"{own['rows'].item():,}", own["columns"].item(), *errors, f"{own['cpu_s'].item():.0f}")


PRIORS = {"the other table": "good", "a release of it at ε = 1": "released", "of it, codes in reverse": "reversed"}


@figures("priors.md", "priors_runs")
def priors(rows: pl.DataFrame) -> Iterator[str]:
    """Yield the error with a prior over that without."""
    plain = rows.filter(prior="none").select("pair", "epsilon", without="tv2")
    beside = rows.join(plain, on=["pair", "epsilon"]).with_columns(ratio=pl.col("tv2") / pl.col("without"))
    for named, prior in (
        PRIORS | {"of it, mostly large values in one column": "biased", "made-up rows": "uniform"}
    ).items():
        found = [beside.filter(prior=prior, epsilon=each)["ratio"] for each in (0.03, 0.1, 0.3, 1.0)]
        yield line(named, *(f"{geometric(each):.2f}" for each in found))


@figures("priors.md", "priors_trees")
def priors_of_trees(rows: pl.DataFrame) -> Iterator[str]:
    """Yield the same for KDTree and PMM."""
    by = ["pair", "mechanism", "epsilon"]
    means = rows.group_by(*by, "prior").agg(pl.col("distance").mean())
    plain = means.filter(prior="none").select(*by, without="distance")
    beside = means.join(plain, on=by).with_columns(ratio=pl.col("distance") / pl.col("without"))
    for named, prior in (PRIORS | {"made-up rows": "uniform"}).items():
        found = [
            [geometric(beside.filter(prior=prior, epsilon=each, mechanism=name)["ratio"]) for name in ("KDTree", "PMM")]
            for each in (0.03, 0.1, 0.3, 1.0)
        ]
        yield line(named, *(f"{one:.2f}/{other:.2f}" for one, other in found))


PANELS = {
    "invented: the next state follows the last": "markov-1",
    "the last two": "markov-2",
    "season": "season",
    "absorbing state": "absorbing",
    "eusilc, persons of a household": "eusilc",
    "diabetes130, stays": "diabetes130",
    "flights of a plane": "flights",
    "mimic-demo, 100 patients": "mimic-demo",
}


@figures("linked-tables.md", "panels")
def panels(rows: pl.DataFrame) -> Iterator[str]:
    """Yield errors of state and next state, and of runs of three."""
    for named, name in PANELS.items():
        own = rows.filter(table=name, epsilon=3)
        yield line(named, *(_next_states(own.filter(method=method)) for method in METHODS))


METHODS = ("flattened", "flattened-sorted", "independent", "sequence")


def _next_states(rows: pl.DataFrame) -> str:
    found = (float(rows.filter(figure=each)["value"].to_numpy().mean()) for each in ("transitions", "triples"))
    return ", ".join(f"{value:.3f}" for value in found)


@figures("adaptive.md", "strata")
def _strata(rows: pl.DataFrame) -> Iterator[str]:
    pairs = rows.group_by("table", "epsilon", "way").agg(pl.col("pairs").mean())
    for name, epsilon in (("bank-marketing", 10), ("nist-ma2019", 1)):
        found = (cell(pairs, "pairs", table=name, epsilon=epsilon, way=way) for way in ("whole", "strata", "apart"))
        yield ", ".join(f"{value:.3f}" for value in found)


@figures("tables.md", "estimates")
def _estimates(rows: pl.DataFrame) -> Iterator[str]:
    done = (
        rows.filter(status="ok", marginals="all")
        .group_by("table", "tool")
        .agg(pl.col("pairs", "cpu_s", "peak_mb").mean())
    )
    ours, theirs = (done.filter(table="nltcs", tool=tool).row(0, named=True) for tool in ("lapwing", "mbi"))
    yield f"by {ours['pairs']:.4f}, by mbi's fit {theirs['pairs']:.4f}"
    yield f"{ours['cpu_s']:.0f} and {theirs['cpu_s']:.0f} CPU s, {ours['peak_mb']:,.0f} and {theirs['peak_mb']:,.0f} MB"
    assert done.filter(table="adult-pgm")["tool"].to_list() == ["lapwing"]
    yield f"of adult-pgm {cell(done, 'pairs', table='adult-pgm', tool='lapwing'):.4f}"


# -- What a release of tables costs.


@figures("learn.md", "no_schema")
def _no_schema(rows: pl.DataFrame) -> Iterator[str]:
    pairs = rows.group_by("table", "share").agg(pl.col("pairs").mean())
    careful, none = (pairs.filter((pl.col("share") == "schema") == is_careful) for is_careful in (True, False))
    ratios = none.join(careful, on="table")
    found = (ratios["pairs"] / ratios["pairs_right"]).to_numpy()
    yield f"{found.min():.2f} to {found.max():.2f} times"
    yield f"{np.median(found):.2f} times in the middle of {len(found)} tables"
    learned = rows.filter(pl.col("share") != "schema")
    assert not learned.select(pl.sum_horizontal("invented", "outside", "broken").sum()).item()


@figures("learn.md", "no_schema_share")
def _no_schema_share(rows: pl.DataFrame) -> Iterator[str]:
    pairs = rows.group_by("table", "share").agg(pl.col("pairs").mean())
    fifth, more = (cell(pairs, "pairs", table="adult", share=share) for share in ("0.2", "0.3"))
    yield f"off by {fifth:.3f} then, with three tenths by {more:.3f}"


COST = {
    "kd-tree.md": (("KDTree", 10**5, 2), ("KDTree", 10**6, 2), ("Grid", 10**5, 2), ("Grid", 10**6, 2)),
    "microaggregation.md": (("Microaggregation", 10**5, 2), ("Microaggregation", 10**6, 0)),
    "linear-statistics.md": (("LinearStatistics", 10**5, 1), ("LinearStatistics", 10**6, 1)),
    "private-sampling.md": (("PrivateSampling", 10**5, 2), ("PrivateSampling", 10**6, 2)),
    "pmm.md": (("PSMM", 10**5, 2), ("PSMM", 10**6, 1)),
    "anonymous.md": (("anonymize", 10**4, 1), ("anonymize", 10**5, 1)),
}


def _cost(lines: tuple[tuple[str, int, int], ...]) -> Made:
    def made(rows: pl.DataFrame) -> Iterator[str]:
        for mechanism, count, digits in lines:
            yield f"{cell(rows, 'cpu_s', mechanism=mechanism, rows=count):.{digits}f}"

    return made


FIGURES |= {(page, "mechanism_cost"): _cost(lines) for page, lines in COST.items()}


def _slopes(rows: pl.DataFrame) -> Iterator[str]:
    for each in rows.filter(pl.col("at") == "slope").iter_rows(named=True):
        of = f"{each['of']}, d = {each['d']}" if "d" in each else each["of"]
        numbers = f"{float(each['error']):.2f} {each['low']:.2f} to {each['high']:.2f} {each['theory']:.2f}"
        yield f"{each['part']} {of} {each['against']} {numbers}"


FIGURES |= {("mechanisms.md", f"rates_{part}"): _slopes for part in ("distance", "covariance", "kernel", "marginals")}


@figures("tables.md", "fixed_tables")
def fixed(rows: pl.DataFrame) -> Iterator[str]:
    """Yield errors by workload with a δ, coverage, and the time of the geography."""
    for each in rows.filter(pl.col("delta") > 0).iter_rows(named=True):
        if each["workload"] in SHOWN_WORKLOADS:
            errors = (short(each[name], 4) for name in ("published", "textbook", "adaptive"))
            yield f"{each['workload']} {' '.join(errors)}"
    yield f"{rows['coverage'].min():.1%} to {rows['coverage'].max():.1%}".replace("%", " %")
    yield f"{rows.filter(workload='geography')['seconds'].max():.1f} CPU s"


SHOWN_WORKLOADS = {
    "adult, six tables",
    "adult, one large table",
    "nltcs, all pairs of eight",
    "eusilc, nested",
    "geography",
}


def main() -> None:
    """Print what pages should say."""
    for (page, name), made in FIGURES.items():
        if not sys.argv[1:] or page in sys.argv[1:]:
            print(f"{page}, bench/results/{name}.csv:", *made(table(name)), sep="\n  ")


if __name__ == "__main__":
    main()
