"""Buy a comparison of a private table with a public synthetic one: what comes out may be published."""

from contextlib import closing
from functools import partial

from lapwing.api.bought_running import BoughtEvaluation, run_evaluation
from lapwing.api.bought_settings import read_bought_settings
from lapwing.api.continuing import Book
from lapwing.api.settings import usable_schema
from lapwing.budget.budget import Number, read_request
from lapwing.curator.opening import public_terms
from lapwing.evaluate.kinds import Releasable
from lapwing.noise.bits import SystemBits
from lapwing.table.guard import private_boundary
from lapwing.table.source import coded_table


@private_boundary
def bought_evaluation(
    real: object,
    synthetic: object,
    schema: object,
    *,
    epsilon: Number | None,
    delta: Number | None,
    rho: Number | None,
    neighbours: str,
    expected_rows: int | None,
    ledger: object,
    dataset: str | None,
    transcript: object,
    seed: int | None,
) -> Releasable[BoughtEvaluation]:
    """Compare a private table with a public synthetic one under a budget; `lapwing.evaluate` says more.

    Parameters
    ----------
    real : path, list of paths, pandas, Polars or PyArrow table
        The private rows.
    synthetic : path, list of paths, pandas, Polars or PyArrow table
        Public already, such as rows drawn from a release.
    schema, epsilon, delta, rho, neighbours, expected_rows, ledger, dataset
        As for `lapwing.synthesize`.
    transcript : path or None
        A new file, or that of the same evaluation: its answers are used again, and nothing is spent again.
    seed : int or None
        Chooses the tables.

    Returns
    -------
    Releasable of BoughtEvaluation

    Raises
    ------
    SchemaError, ParameterError, BudgetError, DataError, CapacityError
        One sentence, never data.

    Notes
    -----
    Guarantee: the result is a function of the synthetic table, public settings and noisy answers that are together
    differentially private at the requested budget for the chosen neighbour relation and the schema's privacy unit.
    """
    settings = read_bought_settings(
        synthetic,
        usable_schema(schema),
        read_request(epsilon=epsilon, delta=delta, rho=rho),
        neighbours=neighbours,
        expected_rows=expected_rows,
        seed=seed,
    )
    book = Book(ledger=ledger, dataset=dataset, transcript=transcript)
    fresh = book.fresh()
    with coded_table(real, settings.schema) as source:
        terms = public_terms(source, settings.schema, settings.relation, settings.expected_rows)
        sink, records, recorded = book.begin(fresh, settings, terms)
        with closing(sink):
            debit = partial(sink.debit, settings)
            found = run_evaluation(
                source, settings, terms, records, debit=debit, sink=sink, secret_bits=SystemBits, recorded=recorded
            )
    return Releasable(found)
