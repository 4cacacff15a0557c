"""`lapwing.evaluate`: compares a synthetic table with the real one, for the house or, with a budget, for anybody."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast, overload

from lapwing.errors import ParameterError
from lapwing.extras.evaluate.bought import BoughtEvaluation, read_bought_settings, run_evaluation
from lapwing.extras.evaluate.described import describe_evaluation
from lapwing.extras.evaluate.internal.evaluation import ComparedTable, Evaluation, compare_with_real
from lapwing.extras.evaluate.internal.linked import compare_linked
from lapwing.extras.evaluate.released.report import release_sections
from lapwing.extras.evaluate.words import say
from lapwing.kernel.budget.budget import Number, read_request
from lapwing.kernel.room.begun import repeat_hint
from lapwing.present.cards import DESCRIBED
from lapwing.present.document import Section
from lapwing.release.loading import load
from lapwing.release.marked import Releasable
from lapwing.release.release import Release
from lapwing.release.runs.generators import chosen_seed, generator
from lapwing.release.runs.records import RunRecords, run_paid
from lapwing.release.runs.settings import usable_schema
from lapwing.release.runs.watching import following, report_progress
from lapwing.rows.entry import private_boundary, tables_by_name
from lapwing.schema.linked.database import LinkedTables
from lapwing.schema.scalars import is_among, quote
from lapwing.schema.schemas import Schema
from lapwing.typing import IntoFrame, PathLike, ProgressLike, Relation, SchemaLike


@overload
def evaluate(
    real: IntoFrame | Mapping[str, IntoFrame],
    synthetic: IntoFrame | Mapping[str, IntoFrame],
    schema: SchemaLike | None = None,
    *,
    target: str | None = None,
    by: str | Sequence[str] = (),
    test: IntoFrame | None = None,
    model: PathLike | Release | None = None,
    epsilon: None = None,
    rho: None = None,
    seed: int | None = 0,
    progress: ProgressLike = None,
) -> Evaluation: ...
@overload
def evaluate(
    real: IntoFrame,
    synthetic: IntoFrame,
    schema: SchemaLike,
    *,
    epsilon: Number,
    delta: Number | None = None,
    rho: None = None,
    neighbours: Relation = "add-remove",
    expected_rows: int | None = None,
    ledger: PathLike | None = None,
    dataset: str | None = None,
    transcript: PathLike | None = None,
    seed: int | None = 0,
    progress: ProgressLike = None,
) -> BoughtEvaluation: ...
@overload
def evaluate(
    real: IntoFrame,
    synthetic: IntoFrame,
    schema: SchemaLike,
    *,
    rho: Number,
    neighbours: Relation = "add-remove",
    expected_rows: int | None = None,
    ledger: PathLike | None = None,
    dataset: str | None = None,
    transcript: PathLike | None = None,
    seed: int | None = 0,
    progress: ProgressLike = None,
) -> BoughtEvaluation: ...


@private_boundary
def evaluate(
    real: IntoFrame | Mapping[str, IntoFrame],
    synthetic: IntoFrame | Mapping[str, IntoFrame],
    schema: SchemaLike | None = None,
    *,
    target: str | None = None,
    by: str | Sequence[str] = (),
    test: IntoFrame | None = None,
    model: PathLike | Release | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    neighbours: Relation = "add-remove",
    expected_rows: int | None = None,
    ledger: PathLike | None = None,
    dataset: str | None = None,
    transcript: PathLike | None = None,
    seed: int | None = 0,
    progress: ProgressLike = None,
) -> Evaluation | BoughtEvaluation:
    """Compare a synthetic table with the real one, or linked tables and events in order.

    Without a budget the result is internal: it is computed from private rows without noise. With ``epsilon`` or ``rho``
    it is differentially private: fewer figures, which may be published. The synthetic table itself is not protected, so
    it must be public already, such as rows drawn from a release.

    Parameters
    ----------
    real, synthetic : path, list of paths, pandas, Polars (eager or lazy) or PyArrow table
        Both with every modelled column of the schema, and at least one row. Of more than 262,144 rows most figures are
        those of so many, and say so. Linked tables by name, as for `lapwing.synthesize`, with keys.
    schema : path, dict or Schema, default the model's
        Says what the columns hold. All rows are compared, also where it names a privacy unit; with a budget, at most
        ``maxRows`` rows of each unit.
    target : str, optional
        A column with 2 to 64 values: how well is it predicted by a classifier that was trained on synthetic rows? Needs
        scikit-learn: ``pip install "lapwing[evaluate]"``. By default the schema's, ``"role": "target"``, if it has one
        and scikit-learn is there.
    by : str or sequence of str, default ()
        Columns whose crossing makes groups of rows: how good is the table within each?
    test : as real, optional
        Real rows that the synthetic table was not made from, to test the prediction on, and to compare the attacks of
        the disclosure checks with. Without them a fifth of the real rows is held back to test predictions, and the
        ceiling is trained on the others.
    model : path or Release, optional
        The release that the synthetic table was drawn from: the report then shows it too, and its schema serves where
        none is given, such as one that was learned.
    epsilon, delta, rho : number, optional
        The budget, as for `lapwing.synthesize`: it is spent in equal parts on the mean total variation of 1-way, 2-way
        and 3-way marginals, and on the number of rows where that is neither public nor expected.
    neighbours : add-remove or replace-one, default "add-remove"
        The neighbour relation of the promise.
    expected_rows : int, optional
        A public number of rows to compare the table as, such as the noisy one of a release. A wrong one makes
        the intervals wider, and they hold all the same.
    ledger : path, optional
        Debited before anything is counted, with a line of its own.
    dataset : str, optional
        The data set's name in the ledger.
    transcript : path, optional
        Where each answer is written before it is used. The same evaluation with the same transcript spends nothing
        again.
    seed : int or None, default 0
        Chooses 3-way tables and pairs, draws reference rows and random features; None for a fresh one. The result
        holds it.
    progress : bool or callable, optional
        As for `lapwing.synthesize`.

    Returns
    -------
    Evaluation or BoughtEvaluation
        `summary` is its text, `to_dict` gives plain JSON values. With a budget: mean total variation of the marginals
        of one, two and three columns with intervals that all hold at once with 95 %, what chance alone makes, and a
        certificate. Internal, with `to_html` for a report: total variation distances, errors of single columns and of
        what is missing, distances of all columns at once, correlations, prediction, groups, and sanity checks of
        disclosure, each beside the same figure of a bootstrap of the real rows (what chance alone makes) and of their
        independently shuffled columns (no relation kept). Of linked tables ``parts`` has one for each; it
        compares the columns of a table with those of the rows that its rows belong to, and rows of one parent:
        transitions, gaps, numbers of rows, agreement, whole trajectories. Events have the same in one `Evaluation`.

    Raises
    ------
    ParameterError
        If a setting is out of range or the target cannot be predicted, or a setting of one kind of result is given for
        the other.
    BudgetError
        If the ledger refuses.
    SchemaError
        If the schema is a draft or breaks a rule of its format.
    DataError
        If a table cannot be read, lacks a column or has no row.
    LapwingError
        If a target is given and scikit-learn is not installed.

    Notes
    -----
    Guarantee: none without a budget. With one, what is returned is a function of the synthetic table, public settings
    and noisy answers that are differentially private at the requested budget for the chosen neighbour relation and the
    schema's privacy unit.

    Examples
    --------
    >>> import polars as pl
    >>> schema = {"fields": [{"name": "a", "type": "boolean"}, {"name": "b", "type": "boolean"}]}
    >>> real = pl.DataFrame({"a": [True, True, False, False], "b": [True, True, False, False]})
    >>> found = evaluate(real, real[:2], schema)
    >>> found
    Evaluation(internal - do not publish)
    >>> [each["mean"] for each in found.to_dict()["total_variation"]["synthetic"]]
    [0.5, 0.5]
    >>> noisy = evaluate(real, real[:2], schema, epsilon=1e6)
    >>> [(round(each.mean, 3), each.upper - each.lower < 0.1) for each in noisy.variations]
    [(0.5, True), (0.5, True)]
    """
    release = _release(model)
    if schema is None and release is None:
        raise ParameterError("schema is missing; give it, or as model the release with its schema", code="LW317")
    checked = Schema.load(release.schema if schema is None and release is not None else cast("SchemaLike", schema))
    if checked.linked is not None:
        others = (test, model, epsilon, delta, rho, expected_rows, ledger, dataset, transcript)
        if any(each is not None for each in others):
            raise ParameterError(
                "linked tables and events are compared internally alone, as no noisy comparison covers their keys; "
                "leave test, model and the budget out",
                code="LW317",
            )
        return _linked(real, synthetic, checked.linked, (target, _names(by)), seed=seed, progress=progress)
    if epsilon is not None or rho is not None:
        grouped = None if isinstance(by, Sequence) and not by else by
        internal = {"target": target, "by": grouped, "test": test, "model": model}
        given = [name for name, value in internal.items() if value is not None]
        if given:
            raise ParameterError(
                f"{' and '.join(given)}: for internal results only; leave them out, or the budget", code="LW317"
            )
        book = RunRecords(ledger=ledger, dataset=dataset, transcript=transcript)
        settings = read_bought_settings(
            synthetic,
            usable_schema(checked),
            read_request(epsilon=epsilon, delta=delta, rho=rho),
            neighbours=neighbours,
            expected_rows=expected_rows,
            seed=seed,
            transcript=book.path,
        )
        with following(progress, finish=repeat_hint):
            return Releasable(run_paid(real, settings, book, run_evaluation, rows=expected_rows)).value
    needs_budget = any(each is not None for each in (delta, expected_rows, ledger, dataset, transcript))
    if needs_budget or not is_among(neighbours, ("add-remove",)):
        raise ParameterError(
            "delta, neighbours, expected_rows, ledger, dataset and transcript go with a budget; give epsilon or rho, "
            "or leave them out",
            code="LW317",
        )
    checked, chosen = usable_schema(checked), chosen_seed(seed)
    names = _names(by)
    released = () if release is None else _released(release, checked)
    with following(progress, first="reading", of=say("step.of")):
        findings = compare_with_real(
            real,
            synthetic,
            checked,
            target=target,
            by=names,
            test=test,
            seed=chosen,
            rng=generator(chosen, "evaluate"),
            watch=report_progress,
        )
    return Evaluation(parts={"": ComparedTable(findings.value, checked)}, released=released)


def _names(by: object) -> Sequence[str]:
    """Return the columns that make groups."""
    names = (by,) if isinstance(by, str) else by
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise ParameterError(
            "by must be the name of a column or a list of names; leave it out for no groups", code="LW304"
        )
    return names


def _linked(
    real: object,
    synthetic: object,
    linked: LinkedTables,
    asked: tuple[str | None, Sequence[str]],
    *,
    seed: int | None,
    progress: ProgressLike,
) -> Evaluation:
    """Compare linked tables, or events; asked: the target, and the columns that make groups."""
    chosen = chosen_seed(seed)
    tables, made = (tables_by_name(each, linked.given) for each in (real, synthetic))
    with following(progress, first="reading", of=say("step.of")):
        found = compare_linked(
            tables,
            made,
            linked,
            target=asked[0],
            by=asked[1],
            seed=chosen,
            rng=generator(chosen, "evaluate"),
            watch=report_progress,
        )
    return Evaluation(parts=found.value)


def _release(model: object) -> Release | None:
    """Return the release that rows were drawn from, if one is given."""
    if model is None or isinstance(model, Release):
        return model
    if not isinstance(model, str | Path):
        raise ParameterError(
            f"model must be a path to a saved release, or a Release, got {type(model).__name__}", code="LW304"
        )
    return load(model)


def _released(release: Release, schema: Schema) -> tuple[Section, ...]:
    """Return what the report says of the release itself."""
    own, wanted = ({field.name for field in each.columns} for each in (release.schema, schema))
    if own != wanted:
        odd = quote(min(own ^ wanted))
        raise ParameterError(
            f"model and schema must have the same columns, {odd} is in one only; give the rows' release", code="LW801"
        )
    parts = release_sections(release, release.accuracy())
    # Columns and pairs are in the other half of the page. How to share and repeat a release is no matter of this page.
    return tuple(
        replace(part, key=f"release-{part.key}", title=f"The release: {part.title}")
        for part in parts
        if part.key not in ("use", "again", "columns", "dependence")
    )


DESCRIBED.update(dict.fromkeys((BoughtEvaluation, Evaluation), describe_evaluation))
