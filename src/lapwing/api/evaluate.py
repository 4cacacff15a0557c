"""`lapwing.evaluate`: compares a synthetic table with the real one (internal)."""

from collections.abc import Sequence

from lapwing.api.generators import checked_seed, fresh_seed, generator
from lapwing.api.progress import told
from lapwing.api.settings import usable_schema
from lapwing.errors import ParameterError
from lapwing.internal.comparing import compare_with_real
from lapwing.internal.evaluation import Evaluation
from lapwing.table.guard import private_boundary


@private_boundary
def evaluate(
    real: object,
    synthetic: object,
    schema: object,
    *,
    target: str | None = None,
    by: str | Sequence[str] = (),
    test: object = None,
    seed: int | None = 0,
) -> Evaluation:
    """Compare a synthetic table with the real one. Internal: the result is computed from private rows without noise.

    Parameters
    ----------
    real, synthetic : path, list of paths, pandas, Polars (eager or lazy) or PyArrow table
        Both with every modelled column of the schema, and at least one row.
    schema : path, dict or Schema
        Says what the columns hold. All rows are compared, also where it names a privacy unit.
    target : str, optional
        A column with 2 to 64 values: how well is it predicted by a classifier that was trained on synthetic rows? Needs
        scikit-learn: ``pip install "lapwing[report]"``.
    by : str or sequence of str, default ()
        Columns whose crossing makes groups of rows: how good is the table within each?
    test : as ``real``, optional
        Real rows that the synthetic table was not made from, to test the prediction on, and to hold the attacks of the
        disclosure checks against. Without them a fifth of the real rows is held back to test predictions, and the
        ceiling is trained on the others.
    seed : int or None, default 0
        Chooses 3-way tables and pairs, draws reference rows and random features; None for a fresh one. The result
        holds it.

    Returns
    -------
    Evaluation
        `summary` is its text, `to_dict` gives plain JSON values, `to_html` writes a report: total variation distances,
        errors of single columns and of what is missing, distances of all columns at once, correlations, prediction,
        groups, and sanity checks of disclosure, each beside the same figure of a bootstrap of the real rows (the
        sampling floor) and of their independently shuffled columns (the lazy baseline).

    Raises
    ------
    ParameterError
        If a setting is out of range or the target cannot be predicted.
    SchemaError
        If the schema is a draft or breaks a rule of its format.
    DataError
        If a table cannot be read, lacks a column or has no row.
    LapwingError
        If a target is given and scikit-learn is not installed.

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
    """
    checked, own = usable_schema(schema), checked_seed(seed)
    chosen = fresh_seed() if own is None else own
    names = (by,) if isinstance(by, str) else by
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise ParameterError("by must be the name of a column or a list of names; leave it out for no groups")
    findings = compare_with_real(
        real,
        synthetic,
        checked,
        target=target,
        by=names,
        test=test,
        seed=chosen,
        rng=generator(chosen, "evaluate"),
        watch=told,
    )
    return Evaluation(findings=findings.value, schema=checked)
