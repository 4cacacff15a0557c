"""`lapwing evaluate`."""

import json
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lapwing.cli.console import busy, is_quiet
from lapwing.cli.options import Quiet, SchemaFile
from lapwing.cli.text import aligned
from lapwing.table.outputs import whole_files

if TYPE_CHECKING:
    from lapwing.evaluate.downstream import Downstream
    from lapwing.internal.evaluation import Evaluation

_EXPLAINED = (
    "mean and max: total variation between the real and the synthetic table, 0 (same shares) to 1 (no cell in common)",
    "bootstrap: mean between the real rows and as many of them drawn with replacement, the sampling floor",
    "independent: mean between the real rows and the same with every column shuffled by itself",
    "missing, special: difference in the share of such cells; quantiles: error in rank; sd: real standard deviations",
    "missing together, given: total variation of two columns of which one or both are taken as missing or not",
    "MMD: distance of all ordered columns at once, 0 to 1.41, with a Gaussian kernel",
)
_COLUMN_LINES = {
    "missing": "missing cells",
    "special": "special values",
    "mean": "mean (sd)",
    "rank": "quantiles (rank)",
    "wasserstein": "Wasserstein (sd)",
}


def evaluate(
    context: typer.Context,
    real: Annotated[
        Path, typer.Argument(metavar="REAL", help="The private table: a Parquet or CSV file.", show_default=False)
    ],
    synthetic: Annotated[
        Path, typer.Argument(metavar="SYNTHETIC", help="The synthetic table, likewise.", show_default=False)
    ],
    schema: SchemaFile,
    metrics: Annotated[
        Path | None, typer.Option("--json", metavar="metrics.json", help="Also write all figures here (internal).")
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            metavar="COLUMN",
            help="Also train on synthetic rows to predict this column, and test on real ones (needs lapwing[report]).",
        ),
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(
            "--test", metavar="FILE", help="Real rows to test on that are not in REAL. Default: a fifth of REAL."
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="K", help="Seed of the 3-way tables and of the rows compared with.")
    ] = 0,
    quiet: Quiet = False,
) -> None:
    """Compare a synthetic table with the real one (internal)."""
    if test is not None and target is None:
        raise typer.BadParameter("--test needs --target COLUMN, the column to predict", context)

    from lapwing.api.evaluate import evaluate as evaluation_of  # noqa: PLC0415

    inputs = [path for path in (real, synthetic, schema, test) if path is not None]
    with nullcontext(()) if metrics is None else whole_files([metrics], inputs) as places:
        with busy("comparing", quiet=is_quiet(context, quiet)):
            found = evaluation_of(real, synthetic, schema, target=target, test=test, seed=seed)
        for place in places:
            place.write_text(json.dumps(found.to_dict(), indent=2) + "\n", encoding="utf-8")
    print(_text(found))


def _text(found: "Evaluation") -> str:
    """Return the figures on one screen, under the notice that they are internal."""
    heading = ("tables", "compared", "mean", "max", "bootstrap", "independent", "worst")
    lines = [
        (
            f"{each.ways}-way",
            f"{len(each.tables)} of {each.possible}",
            *(f"{value:.4f}" for value in (each.mean, each.maximum, floor.mean, lazy.mean)),
            " x ".join(each.worst(1)[0][0]),
        )
        for each, floor, lazy in zip(found.synthetic, found.bootstrap, found.independent, strict=True)
    ]
    parts = [
        found.to_dict()["notice"],
        "",
        aligned([heading, *lines], right=[1, 2, 3, 4, 5]),
        *_columns(found),
        *_kernel(found),
    ]
    parts += ["", *_EXPLAINED]
    return "\n".join(parts + ([] if found.downstream is None else ["", _predictions(found.downstream)]))


def _columns(found: "Evaluation") -> list[str]:
    """Return how far single columns and their missing cells are from the real ones; nothing where there is nothing."""
    from lapwing.evaluate.columns import error_sizes  # noqa: PLC0415

    lines = []
    floors = error_sizes(found.bootstrap_columns)
    for kind, sizes in error_sizes(found.columns).items():
        if sizes and kind in _COLUMN_LINES:
            values, floor = list(sizes.values()), list(floors[kind].values())
            figures = (sum(values) / len(values), max(values), sum(floor) / max(len(floor), 1))
            lines.append((_COLUMN_LINES[kind], str(len(values)), *_shown(figures), max(sizes, key=sizes.__getitem__)))
    for name, gaps in (("missing together", found.together), ("missing given", found.given)):
        if gaps is not None:
            each = gaps["synthetic"]
            figures = (each.mean, each.maximum, gaps["bootstrap"].mean)
            compared = f"{len(each.tables)} of {each.possible}"
            lines.append((name, compared, *_shown(figures), " x ".join(each.worst(1)[0][0])))
    heading = ("columns", "compared", "mean", "max", "bootstrap", "worst")
    return ["", aligned([heading, *lines], right=[1, 2, 3, 4])] if lines else []


def _kernel(found: "Evaluation") -> list[str]:
    """Return how far all ordered columns together are from the real ones; nothing where there are none."""
    if found.kernel is None:
        return []
    heading = ("all at once", "columns", "synthetic", "bootstrap", "independent")
    figures = [found.kernel.distances[name].value for name in heading[2:]]
    return ["", aligned([heading, ("MMD", str(found.kernel.columns), *_shown(figures))], right=[1, 2, 3, 4])]


def _shown(figures: Sequence[float]) -> list[str]:
    return [f"{figure:.4f}" for figure in figures]


def _predictions(found: "Downstream") -> str:
    """Return how well the target was predicted."""
    trained = (("synthetic rows", found.auc), ("real rows", found.ceiling), ("the majority class", found.floor))
    lines = [(name, f"{value:.4f}") for name, value in trained]
    return aligned([(f"{found.target} predicted from", "test AUC"), *lines], right=[1])
