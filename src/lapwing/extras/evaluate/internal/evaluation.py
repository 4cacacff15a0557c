"""The comparison of a synthetic table with the real one, and the forms in which what it found is shown."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from lapwing.errors import DataError, ParameterError
from lapwing.extras.evaluate.internal.sampled import table_rows
from lapwing.extras.evaluate.metrics.associations import compare_associations, compare_correlations
from lapwing.extras.evaluate.metrics.columns import (
    compare_columns,
    missing_given,
    missing_together,
    pairs_given,
    pairs_together,
)
from lapwing.extras.evaluate.metrics.declared import (
    compare_declared,
    compare_weighted,
    declared_notes,
    weighted_figures,
)
from lapwing.extras.evaluate.metrics.disclosure.disclosure import Disclosure, compare_disclosure
from lapwing.extras.evaluate.metrics.disclosure.nearest_rows import exact_copies
from lapwing.extras.evaluate.metrics.distances import (
    compare_bounded_lipschitz,
    compare_densities,
    compare_kernels,
    compare_wasserstein,
)
from lapwing.extras.evaluate.metrics.findings import Findings, findings_record
from lapwing.extras.evaluate.metrics.metric import (
    BOOTSTRAP,
    INDEPENDENT,
    REAL,
    SYNTHETIC,
    MetricResult,
    bootstrap_rows,
    height,
    independent_columns,
)
from lapwing.extras.evaluate.metrics.moments import compare_moments
from lapwing.extras.evaluate.metrics.overlays import overlay_columns
from lapwing.extras.evaluate.metrics.prediction.detection import compare_detection, compare_propensity
from lapwing.extras.evaluate.metrics.prediction.downstream import (
    Downstream,
    check_target,
    compare_downstream,
    is_target,
)
from lapwing.extras.evaluate.metrics.prediction.subgroups import check_subgroups, compare_subgroups
from lapwing.extras.evaluate.metrics.tables.variation import (
    TableRows,
    Variation,
    compare_counted,
    compare_with_each,
    uncounted_tables,
)
from lapwing.extras.evaluate.metrics.tables.workload import compare_k_marginals, compare_workloads
from lapwing.extras.evaluate.report.compared import compared_sections
from lapwing.extras.evaluate.report.page import NOTICE, render
from lapwing.extras.evaluate.report.plots import compared_plot
from lapwing.extras.evaluate.report.summary import summary_text
from lapwing.extras.evaluate.words import say
from lapwing.maths.arrays import Codes
from lapwing.model.compared import choose_tables, compared_cells
from lapwing.model.quality import compare_quality
from lapwing.on_demand import Displayable
from lapwing.present.document import Page, Section, of_table
from lapwing.release.marked import Internal
from lapwing.rows.entry import private_boundary
from lapwing.rows.guard import run_guarded
from lapwing.rows.out.outputs import write_output
from lapwing.rows.source import coded_table
from lapwing.schema.scalars import quote
from lapwing.schema.schemas import Schema
from lapwing.version import install_command


class ComparedTable(NamedTuple):
    """All figures of one table, and its schema; of one of several with the columns of the rows that its rows belong to.

    Of such a table the figures also say what rows of one parent have to do with each other.
    """

    findings: Findings
    schema: Schema


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Evaluation(Displayable):
    """Hold how far synthetic tables are from the real ones. Internal: computed from private rows without noise.

    Parameters
    ----------
    parts : mapping of str to ComparedTable
        By table, its ``findings`` and ``schema``; of one table it alone, without a name.
    released : tuple of Section
        What the report says about the release itself, where its model was given; else empty.
    """

    parts: Mapping[str, ComparedTable]
    released: tuple[Section, ...] = ()

    @property
    def findings(self) -> Findings:
        """All figures of the only table; a ParameterError where there are several."""
        return self._only.findings

    @property
    def schema(self) -> Schema:
        """Likewise its schema."""
        return self._only.schema

    @property
    def _only(self) -> ComparedTable:
        if "" in self.parts:
            return self.parts[""]
        last = [*self.parts][-1]
        raise ParameterError(f"each table has findings of its own; take evaluation.parts[{last!r}]", code="LW252")

    def __repr__(self) -> str:
        return f"Evaluation({', '.join(filter(None, (NOTICE, *self.parts)))})"

    def summary(self, *, details: bool = False) -> str:
        """Return the chief findings in eight lines, the first that they are internal; of several tables for each.

        Parameters
        ----------
        details : bool, default False
            All figures, on a screen or two, as well.

        Returns
        -------
        str
        """
        found = [
            f"{name}\n{'=' * len(name)}\n\n" * bool(name) + summary_text(each.findings, details=details)
            for name, each in self.parts.items()
        ]
        return "\n\n".join([NOTICE, *found]) if details or "" not in self.parts else f"{NOTICE}\n{found[0]}"

    def to_dict(self) -> dict[str, Any]:
        """Return all figures, of several tables by name, as plain JSON values, and that they are internal."""
        found = {name: findings_record(each.findings) for name, each in self.parts.items()}
        return {"notice": NOTICE} | found.get("", {"tables": found})

    def plot(self) -> Any:  # noqa: ANN401 - of altair
        """Draw how far the synthetic table is from the real one: all figures, every column, every pair. Internal.

        Returns
        -------
        chart of altair
            To show, change and save; made from private rows.

        Raises
        ------
        LapwingError
            If ``lapwing[evaluate]`` is not installed.
        """
        return compared_plot(self.findings)

    def html(self) -> str:
        """Return the report that `to_html` writes."""
        sections = [
            of_table(section, number, name) if name else section
            for number, (name, each) in enumerate(self.parts.items(), 1)
            for section in compared_sections(each.findings, each.schema)
        ]
        name = ", ".join(name or each.schema.name for name, each in self.parts.items())
        title = say("page.compared_of", table=name) if name else say("page.compared")
        return render(Internal(Page(title=title, sections=(*sections, *self.released))))

    def to_html(self, path: str | Path) -> None:
        """Write one HTML file that needs no network, with the watermark on screen and on paper.

        Parameters
        ----------
        path : path
            Of the file; it appears whole.

        Raises
        ------
        ParameterError
            If the path is none.
        DataError
            If the file cannot be written.
        LapwingError
            If the extra ``evaluate`` is not installed.
        """
        write_output(path, self.html())


Watch = Callable[[str, float], None]
"""Is told of each step before it begins, and of the part of the steps that are done."""

_CODES: Final = 2**30  # bytes of codes of a table that are kept; a larger one is read again for each pass
_HELD_BACK: Final = 5  # one real row in so many tests where no other rows do

_METRICS: Final = {
    "kernels": compare_kernels,
    "wasserstein": compare_wasserstein,
    "bounded_lipschitz": compare_bounded_lipschitz,
    "densities": compare_densities,
    "propensity": compare_propensity,
    "correlations": compare_correlations,
    "moments": compare_moments,
}
_LEARNED: Final = {"detection": compare_detection}
_ALL_STEPS: Final = len(_METRICS) + len(_LEARNED) + 7


@private_boundary
def compare_with_real(
    real: object,
    synthetic: object,
    schema: Schema,
    *,
    target: str | None,
    by: Sequence[str],
    test: object,
    seed: int,
    rng: np.random.Generator,
    watch: Watch,
) -> Internal[Findings]:
    """Compare a synthetic table with the real one: every modelled column, and all rows, whatever the privacy unit.

    `test` are real rows that the synthetic table was not made from, to test prediction on and to hold disclosure
    against. Without them a fifth of the real rows tests, and the ceiling is trained on the others. Every step has a
    random stream of its own. Of tables with more than 262,144 rows so many are looked at, see `table_rows`; contingency
    tables and exact copies are those of all rows. Memory: the codes of the tables where these are at most a gibibyte
    each (larger ones are read again), some 50 bytes a row while copies are looked for, and 1 GB.
    """
    schema = replace(schema, privacy_unit=None)
    if target is None:
        target = marked_target(schema)
    else:
        check_target(schema, target)
    if by:
        check_subgroups(schema, by)
    asked = Comparison(schema=schema, target=target, by=by, seed=seed, rng=rng, watch=watch)
    with ExitStack() as opened:
        watch(say("step.real"), 0.0)
        rows = _opened("the real table", real, schema, seed, opened)
        watch(say("step.synthetic"), 0.0)
        others = _opened("the synthetic table", synthetic, schema.as_written_out, seed, opened)
        apart = None if test is None else _opened("the test table", test, schema, seed, opened)
        return compare_tables(rows, others, apart, asked)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What is compared, and how: see `compare_with_real`."""

    schema: Schema
    target: str | None
    by: Sequence[str]
    seed: int
    rng: np.random.Generator
    watch: Watch


def compare_tables(
    real: TableRows, synthetic: TableRows, test: TableRows | None, asked: Comparison
) -> Internal[Findings]:
    """Compare coded tables; test: real rows that the synthetic ones were not made from."""
    schema, target, by = asked.schema, asked.target, asked.by
    rows, others, apart = real.codes, synthetic.codes, None if test is None else test.codes
    sampled = max((height(each.codes) for each in (real, synthetic) if height(each.codes) < each.rows), default=None)
    step = _steps(asked.rng, asked.watch)
    drawn = step("prediction")
    train, tests = rows, apart
    if tests is None:
        order = drawn.permutation(height(rows))
        held = -(-len(order) // _HELD_BACK)  # a table of one row only tests
        train, tests = ({name: column[part] for name, column in rows.items()} for part in (order[held:], order[:held]))
    downstream, notes = _downstream(others, train, tests, schema, target=target, rng=drawn)
    drawn = step("reference")
    against: dict[str, Codes] = {
        SYNTHETIC: others,
        BOOTSTRAP: bootstrap_rows(rows, drawn),
        INDEPENDENT: independent_columns(rows, drawn),
    }
    drawn = step("tables")
    tables = choose_tables(schema, rng=drawn)
    if sampled is None:
        found = compare_with_each(rows, against, schema, tables)
    else:
        found = compare_counted(real, synthetic, against, schema, tables, rng=drawn)
    together, given = _gaps(rows, against, schema, step("gaps"))
    workload, weighted = compare_workloads(found), compare_weighted(rows, against, schema, rows=real.rows)
    declared = compare_declared({REAL: rows} | {name: against[name] for name in (SYNTHETIC, INDEPENDENT)}, schema)
    disclosure, more = _disclosure(real, synthetic, apart, schema, step("disclosure"))
    looked_at = (*(() if weighted is None else weighted_figures(weighted)), *_metrics(rows, against, schema, step))
    return Internal(
        Findings(
            tables=found,
            columns={name: compare_columns(rows, against[name], schema) for name in (SYNTHETIC, BOOTSTRAP)},
            together=together,
            given=given,
            metrics=(
                *compare_k_marginals(found),
                *(() if workload is None else (workload,)),
                *(replace(each, rows=each.rows or sampled) for each in looked_at),
            ),
            associations=compare_associations(rows, against, schema, rng=step("associations")),
            downstream=downstream,
            subgroups=compare_subgroups(rows, against, schema, by, rng=step("groups")) if by else (),
            disclosure=disclosure,
            overlays=overlay_columns(rows, others, schema),
            notes=(
                *(() if sampled is None else (_sampled(sampled), *uncounted_tables(schema, tables))),
                *declared_notes(declared),
                *_same_rows(real, test),
                *notes,
                *more,
                *_empty_columns(real, synthetic, schema),
            ),
            rows=real.rows,
            synthetic_rows=synthetic.rows,
            sampled=sampled,
            seed=asked.seed,
            weighted=weighted,
            declared=declared,
            quality=compare_quality(rows, others, schema, rng=step("quality")),
        )
    )


def _steps(rng: np.random.Generator, watch: Watch) -> Callable[[str], np.random.Generator]:
    """Return what announces a step and hands out its random stream."""
    counter = itertools.count()

    def step(what: str) -> np.random.Generator:
        watch(say(f"step.{what}"), min(next(counter) / _ALL_STEPS, 1.0))
        return rng.spawn(1)[0]

    return step


def marked_target(schema: Schema) -> str | None:
    """Return the column that a schema marks as the target, where it can be predicted here."""
    return schema.target if is_target(schema, schema.target) and _can_learn() else None


def _can_learn() -> bool:
    """Return whether scikit-learn is installed: it comes with the extra ``evaluate``."""
    try:
        import sklearn  # noqa: F401, PLC0415
    except ImportError:
        return False
    return True


def _metrics(
    rows: Codes, against: Mapping[str, Codes], schema: Schema, step: Callable[[str], np.random.Generator]
) -> Iterator[MetricResult]:
    """Return the figures of all columns at once that these columns have."""
    for what, compare in (_METRICS | (_LEARNED if _can_learn() else {})).items():
        found = compare(rows, against, schema, rng=step(what))
        if isinstance(found, MetricResult):
            yield found
        elif found is not None:
            yield from found


def _downstream(
    others: Codes, train: Codes, tests: Codes, schema: Schema, *, target: str | None, rng: np.random.Generator
) -> tuple[Downstream | None, list[str]]:
    """Return how well a target is predicted, or why it is not."""
    if target is None:
        return None, []
    classes = tests[target][tests[target] < schema.field(target).domain.last]
    if not classes.size or (classes == classes[0]).all():
        return None, [say("notes.one_value", target=quote(target))]
    found = run_guarded(
        f"the target {quote(target)} cannot be predicted",
        lambda: compare_downstream(others, train, tests, schema, target, rng=rng),
    )
    return found, []


def _disclosure(
    real: TableRows, synthetic: TableRows, apart: Codes | None, schema: Schema, rng: np.random.Generator
) -> tuple[Disclosure | None, list[str]]:
    """Return the sanity checks of disclosure, or why there are none."""
    if not _can_learn():
        return None, [say("notes.no_library", command=install_command("evaluate"))]
    copies = exact_copies(synthetic.keys, real.keys)
    return compare_disclosure(real.codes, synthetic.codes, schema, copies=copies, holdout_codes=apart, rng=rng), []


def _gaps(
    rows: Codes, against: Mapping[str, Codes], schema: Schema, rng: np.random.Generator
) -> tuple[dict[str, Variation] | None, dict[str, Variation] | None]:
    """Return how far tables are from the real one in what is missing together, and given other columns."""
    pairs, other_pairs = pairs_together(schema, rng=rng), pairs_given(schema, rng=rng)
    together, given = None, None
    if pairs:
        together = {name: missing_together(rows, each, schema, pairs) for name, each in against.items()}
    if other_pairs:
        given = {name: missing_given(rows, each, schema, other_pairs) for name, each in against.items()}
    return together, given


def _sampled(rows: int) -> str:
    """Return the sentence that says which figures are those of all rows."""
    return say("notes.sampled", rows=rows)


def _opened(what: str, data: object, schema: Schema, seed: int, opened: ExitStack) -> TableRows:
    """Return a table of at least one row, which can be counted as long as it is open."""
    try:
        source = opened.enter_context(coded_table(data, schema, memory=_CODES))
        rows = source.rows
        found = table_rows(rows, source.chunks(), source.count, schema, seed)
    except DataError as error:
        said, code = str(error), error.code
    else:
        if not rows:
            raise DataError(f"{what} has no row; there is nothing to compare", code="LW110")
        return found
    raise DataError(f"{what} cannot be compared: {said}", code=code)


def _same_rows(real: TableRows, test: TableRows | None) -> list[str]:
    """Return a sentence where the test rows are the real ones."""
    if test is None or not np.array_equal(test.keys, real.keys):
        return []
    return [say("notes.same_rows")]


def _empty_columns(real: TableRows, synthetic: TableRows, schema: Schema) -> list[str]:
    """Return a sentence for each column of which one table alone has no value that fits the schema."""
    notes = []
    last = {column.name: column.domain.last for column in schema.columns}
    seen = [{name for name, code in last.items() if (each.codes[name] != code).any()} for each in (real, synthetic)]
    unseen = [column for column in schema.columns if column.name not in seen[0] & seen[1]]
    if not unseen:
        return []
    single = [((column.name, compared_cells(column.domain)),) for column in unseen]
    counts = zip(real.count(single), synthetic.count(single), strict=True)
    for column, (own, other) in zip(unseen, counts, strict=True):
        is_empty = own[-1] == real.rows, other[-1] == synthetic.rows
        if is_empty[0] != is_empty[1]:
            which = REAL if is_empty[0] else SYNTHETIC
            notes.append(say(f"notes.empty.{which}", column=quote(column.name)))
    return notes
