"""How good synthetic rows are: one dictionary of figures for every rival and table. Internal: it reads real rows."""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))

from arena.codings import schema_of
from arena.learning import learned, target_of
from arena.marginals import variations

from lapwing.extras.evaluate.metrics.associations import correlations
from lapwing.extras.evaluate.metrics.columns import compare_columns
from lapwing.extras.evaluate.metrics.declared import compare_declared
from lapwing.extras.evaluate.metrics.disclosure.nearest_rows import closest_rows
from lapwing.extras.evaluate.metrics.metric import height, some_rows
from lapwing.maths.arrays import Codes
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

ATTACKED = 2000
"""Train rows, and held rows, whose membership is guessed."""
CHANCE = 0.05
"""Chance that the advantage passes ``audit_chance`` where rows out say nothing of who is in."""


def measured(train: object, held: object, synthetic: object, schema: dict[str, object]) -> dict[str, float]:
    """Return the figures of synthetic rows.

    Parameters
    ----------
    train, held, synthetic : path or data frame
        Rows of native values: those that were fitted on, those held back, and those made, at least one.
    schema : dict
        Table Schema of all three; ``target`` names the column to learn (default: `learning.target_of`), ``rules``
        what no row may break, ``parity`` columns whose parity the target is.

    Returns
    -------
    dict of str to float
        Those of `marginals.variations` and `learning.learned`, and:

        ``mean_error``, ``sd_error``: mean over numbers and dates of the absolute error of the mean, in train standard
        deviations, and of the relative error of the standard deviation; 1 for a column without any regular value.
        ``pearson_error``: mean absolute error of Pearson's correlation over pairs of ordered columns, where one of
        the tables has one. ``broken_rules``, ``broken_rules_train``: shares of rows that break a rule.
        ``parity_broken``: share of rows that `parity_broken` counts; 0 in the real rows, 0.5 by chance.
        ``audit_advantage``, ``audit_chance``: see `membership_advantage`. ``misfits``: share of cells outside the
        schema, which count as missing in all other figures; numbers beyond a bound are taken for the bound. What does
        not apply to a table is left out.

    Raises
    ------
    lapwing.DataError
        Where a column is missing, or a file cannot be read.
    ValueError
        Where there are no synthetic rows.
    """
    own = schema_of(schema)
    real, apart, made = (_codes(rows, own) for rows in (train, held, synthetic))
    if not height(made):
        raise ValueError("there are no synthetic rows, so that nothing can be measured; let the rival make some")
    made, misfits = _without_misfits(made, own)
    real, apart = (_without_misfits(codes, own)[0] for codes in (real, apart))
    target = str(schema.get("target") or target_of(real, own))
    found = {"misfits": misfits} | variations(real, made, own) | _moments(real, made, own)
    found |= learned(real, apart, made, own, target) if len(own.columns) > 1 else {}
    found |= _broken(real, made, own) | membership_advantage(real, apart, made, own)
    return found | ({"parity_broken": parity_broken(made, own, schema["parity"], target)} if "parity" in schema else {})


def membership_advantage(train: Codes, held: Codes, synthetic: Codes, schema: Schema) -> dict[str, float]:
    """Return how much better than chance a guess is that rows close to a synthetic row were fitted on.

    Returns
    -------
    dict of str to float
        ``audit_advantage``: the largest difference, over all distances, of the share of train rows and of the share
        of held rows that lie at most so far from a synthetic row by Gower's distance: 0 to 1. ``audit_chance``: what
        it passes once in twenty where rows out say nothing of who is in (Smirnov 1939, one-sided, for distances
        without ties; with ties it is passed less often).

    Notes
    -----
    At most 2,000 rows of each kind, drawn with seed 0. A rival with pure ε has at most ``(e**ε - 1) / (e**ε + 1)``.
    """
    rng = np.random.default_rng(0)
    names = [field.name for field in schema.columns]
    members, others = (some_rows(codes, names, ATTACKED, rng) for codes in (train, held))
    asked = {name: np.concatenate((members[name], others[name])) for name in names}
    distances = closest_rows(asked, [synthetic], list(schema.columns), rng=rng)[0].distances
    inside, outside = np.sort(distances[: height(members)]), np.sort(distances[height(members) :])
    shares = [np.searchsorted(each, distances, side="right") / len(each) for each in (inside, outside)]
    rows = len(inside) * len(outside) / len(distances)
    return {
        "audit_advantage": max(float((shares[0] - shares[1]).max()), 0.0),
        "audit_chance": min(float(np.sqrt(-np.log(CHANCE) / (2 * rows))), 1.0),
    }


def parity_broken(codes: Codes, schema: Schema, columns: Sequence[str], target: str) -> float:
    """Return the share of rows whose target, a bit, is not the parity of how many columns are in their upper half."""
    upper = sum((2 * codes[name].astype(np.int64) >= schema.field(name).domain.values).astype(int) for name in columns)
    is_regular = np.all([codes[name] < schema.field(name).domain.values for name in (*columns, target)], axis=0)
    return float((~is_regular | (upper % 2 != codes[target])).mean())


def _codes(rows: object, schema: Schema) -> dict[str, np.ndarray]:
    """Return rows as codes, in which misfits are told from missing cells."""
    none = {field.name: np.empty(0, dtype=field.domain.dtype) for field in schema.columns}
    chunks = [none, *code_table(rows, schema).chunks(apart=True)]
    return {name: np.concatenate([chunk[name] for chunk in chunks]) for name in none}


def _without_misfits(codes: Codes, schema: Schema) -> tuple[dict[str, np.ndarray], float]:
    """Return codes with misfits as missing, and the share of cells that were misfits."""
    shares = [float((codes[field.name] == field.domain.misfit).mean()) for field in schema.columns]
    kept = {field.name: np.minimum(codes[field.name], field.domain.last) for field in schema.columns}
    return kept, float(np.mean(shares))


def _moments(train: Codes, synthetic: Codes, schema: Schema) -> dict[str, float]:
    """Return the errors of means, standard deviations and correlations."""
    found = {}
    numbers = [each.numbers for each in compare_columns(train, synthetic, schema) if each.numbers is not None]
    for name, key in (("mean_error", "mean"), ("sd_error", "deviation")):
        errors = [getattr(each, key) for each in numbers]
        if errors:
            found[name] = float(np.mean([1.0 if error is None else abs(error) for error in errors]))
    ordered = [field for field in schema.columns if field.domain.ordered]
    if len(ordered) > 1:
        pairs = np.triu_indices(len(ordered), 1)
        real, made = (correlations(codes, ordered, 1, ranked=False)[0][pairs] for codes in (train, synthetic))
        is_told = ~(np.isnan(real) & np.isnan(made))
        errors = np.abs(np.nan_to_num(real) - np.nan_to_num(made))[is_told]
        found |= {"pearson_error": float(errors.mean())} if errors.size else {}
    return found


def _broken(train: Codes, synthetic: Codes, schema: Schema) -> dict[str, float]:
    """Return the shares of rows that break a rule of the schema."""
    declared = compare_declared({"train": train, "synthetic": synthetic}, schema)
    if declared is None:
        return {}
    shares = {name: declared.broken[name] / declared.rows[name] for name in declared.broken}
    return {"broken_rules": shares["synthetic"], "broken_rules_train": shares["train"]}
