"""Buy a comparison of a private table with a public synthetic one: what comes out may be published."""

import json
import os
from collections.abc import Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from lapwing.api.bought_running import BoughtEvaluation, run_evaluation
from lapwing.api.bought_settings import BoughtSettings, read_bought_settings
from lapwing.api.records import AccountedSink, Records, new_records, open_sink
from lapwing.api.settings import usable_schema
from lapwing.budget.budget import Number, read_request
from lapwing.curator.opening import public_terms
from lapwing.errors import DataError
from lapwing.evaluate.kinds import Releasable
from lapwing.noise.bits import SystemBits
from lapwing.release.questions import Answer
from lapwing.release.terms import Terms
from lapwing.release.transcript import continue_transcript
from lapwing.table.guard import private_boundary
from lapwing.table.source import code_table


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
    path = None if transcript is None else Path(os.fspath(transcript))  # type: ignore[call-overload]
    is_known = path is not None and path.exists()
    records = None if is_known else new_records(ledger, dataset, transcript)
    source = code_table(real, settings.schema)
    terms = public_terms(source, settings.schema, settings.relation, settings.expected_rows)
    if records is None:
        assert path is not None
        sink, records, recorded = _continued(path, settings, terms, ledger, dataset)
    else:
        sink, recorded = open_sink(records, settings, terms), ()
    with closing(sink):
        debit = partial(sink.debit, settings)
        found = run_evaluation(
            source, settings, terms, records, debit=debit, sink=sink, secret_bits=SystemBits, recorded=recorded
        )
    return Releasable(found)


def _continued(
    path: Path, settings: BoughtSettings, terms: Terms, ledger: object, dataset: str | None
) -> tuple[AccountedSink, Records, tuple[Answer, ...]]:
    """Take up the transcript of the same evaluation, or refuse it."""
    sink, header, recorded = continue_transcript(path)
    records = _same_records(path, header, settings, terms)
    is_same = records is not None and dataset in (None, records.dataset)
    if ledger is not None and records is not None:
        is_same &= os.path.abspath(os.fspath(ledger)) == records.ledger  # type: ignore[call-overload]
    if records is not None and is_same:
        return AccountedSink(sink, records, recorded), records, recorded
    sink.close()
    raise DataError(
        f"the transcript {path} is of another run: of other tables, settings or ledger; give a new file, or repeat the "
        "evaluation that it is of"
    )


def _same_records(path: Path, header: Mapping[str, Any], settings: BoughtSettings, terms: Terms) -> Records | None:
    """Return where the evaluation of a transcript was recorded, or None where it is another one."""
    wanted = json.loads(json.dumps({"settings": settings.to_dict(), "terms": terms.to_dict()}))
    if any(header.get(key) != value for key, value in wanted.items()):
        return None
    try:
        return Records(**header["records"], transcript=path)
    except (KeyError, TypeError):
        return None
