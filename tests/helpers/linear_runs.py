"""Linear statistics for tests over any schema: texts, functions of one record, and a mechanism that asks them."""

import functools
from dataclasses import dataclass

import numpy as np

import lapwing as lw
from lapwing.kernel.questions.linear_statistics.question import LinearStatistics
from lapwing.mechanisms.shared.base import Mechanism
from lapwing.mechanisms.vectors.linear_statistics.mechanism import truths
from lapwing.model.laws import uniform_law
from lapwing.model.model import Indexed, ReleasedModel
from lapwing.model.statistics.expressions import compile_statistic
from lapwing.schema.groupings.grouping import identity


def numbers(schema):
    """Return texts of arithmetic within -1 and 1, on the schema's numbers and on what holds."""
    holds, last = truths(schema)[0], truths(schema)[-1]
    found = [f"({holds}) - (not ({holds}))", f"(({holds}) - 0.3) * (1 - ({last})) / 2"]
    for field in schema.columns:
        if field.type in ("integer", "number") and not field.is_categorical:
            name, most = f"`{field.name}`", max(abs(field.minimum), abs(field.maximum))
            found += [f"{name} / {most}", f"abs({name} - 1) * ({holds}) / {2 * most + 2}"]
            found += [f"{name} * {name} / {most * most}", f"min({name}, {most} / 2, {name} + 1) / {most + 1}"]
    return found


def share_known(record):
    """Return the part of a record that is not missing."""
    return sum(value is not None for value in record.values()) / len(record)


def sign(record):
    """Return 1 for a record that begins with a low letter, number or date, else -1; large numbers pass the bounds."""
    first = str(next(iter(record.values())))
    return 5 if first < "5" else -5


def fails_at_gaps(record):
    """Fail at missing values, in more than one way, and take the record apart."""
    while record:
        name, value = record.popitem()
        if value is None:
            raise (KeyError if len(name) > 3 else SystemExit)(name)
    return 1


def odd_results(record):
    """Return what is no number, no finite number, or one of NumPy's, by the length of the first value."""
    results = (None, float("nan"), -float("inf"), "1", np.float32(0.5), np.int8(-1), [1], 10**400, True)
    return results[len(str(next(iter(record.values())))) % len(results)]


SIGN = lw.row_function(sign)
NARROW = lw.row_function(odd_results, bounds=(-0.5, -0.25))
ROW_FUNCTIONS = (
    lw.row_function(share_known, bounds=(0, 1)),
    SIGN,
    lw.row_function(fails_at_gaps, bounds=(-1, 0.25)),
    NARROW,
)

FORMS = {
    "truths": truths,
    "numbers": numbers,
    "one truth": lambda schema: truths(schema)[:1],
    "one number": lambda schema: numbers(schema)[:1],
    "functions": lambda schema: ROW_FUNCTIONS,
    "one function": lambda schema: [SIGN],
    "narrow function": lambda schema: [NARROW],
    "both": lambda schema: [*truths(schema)[:2], *numbers(schema)[:2], *ROW_FUNCTIONS],
    "twice the same": lambda schema: [*truths(schema)[:1] * 2, SIGN, SIGN],
}
"""Statistics of any schema, by name."""


def question_of(statistics, schema, cost):
    """Return the question for some statistics over all columns of a schema."""
    names = tuple(field.name for field in schema.columns)
    return LinearStatistics(
        columns=names,
        groupings=tuple(identity(field.domain) for field in schema.columns),
        statistics=tuple(compile_statistic(each, schema) for each in statistics),
        cost=cost,
    )


@dataclass(frozen=True, slots=True)
class AskingSums(Mechanism):
    """Ask for statistics of some forms, each form in a question of its own, and nothing else."""

    forms: tuple[str, ...] = tuple(FORMS)

    name = "AskingSums"
    summary = "asks for linear statistics"
    relations = ("add-remove", "replace-one")

    def run(self, curator, schema, budget, rng):
        costs = budget.split([1] * len(self.forms))
        asked = [question_of(FORMS[form](schema), schema, cost) for form, cost in zip(self.forms, costs, strict=True)]
        return model_of(schema, curator.ask(*asked))


def model_of(schema, answers):
    """Return some model that hangs on every number of some answers."""
    rows = functools.reduce(lambda known, answer: 31 * known + int(answer.values.sum()), answers, 0)
    laws = {column.name: Indexed(np.zeros(1, np.uint8), uniform_law(column.domain)) for column in schema.columns}
    return ReleasedModel(weights=np.ones(1), rows=rows % 1009, laws=laws)
