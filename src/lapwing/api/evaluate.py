"""`lapwing.evaluate`: compares a synthetic table with the real one (internal)."""

from lapwing.api.generators import checked_seed, fresh_seed, generator
from lapwing.api.settings import usable_schema
from lapwing.internal.evaluation import Evaluation, evaluate_tables
from lapwing.table.guard import private_boundary


@private_boundary
def evaluate(
    real: object,
    synthetic: object,
    schema: object,
    *,
    target: str | None = None,
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
    test : as ``real``, optional
        Real rows that the synthetic table was not made from, to test the prediction on. Without them a fifth of the
        real rows is held back: it tests, and the ceiling is trained on the others.
    seed : int or None, default 0
        Chooses 3-way tables and pairs, draws reference rows and random features; None for a fresh one. The result
        holds it.

    Returns
    -------
    Evaluation
        Total variation distances of all 1-way, all 2-way and 128 3-way tables, and of the same tables between the real
        rows and a bootstrap of them (the sampling floor) and their independently shuffled columns; errors of single
        columns (missing and special shares, mean, deviation, quantiles, W1), and of what is missing together and given
        other columns; MMD of all ordered columns at once; test AUC, if a target is given. `to_dict` gives plain JSON
        values.

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
    >>> [(each.ways, each.mean) for each in found.synthetic]
    [(1, 0.5), (2, 0.5)]
    """
    checked, own = usable_schema(schema), checked_seed(seed)
    chosen = fresh_seed() if own is None else own
    return evaluate_tables(
        real, synthetic, checked, target=target, test=test, seed=chosen, rng=generator(chosen, "evaluate")
    ).value
