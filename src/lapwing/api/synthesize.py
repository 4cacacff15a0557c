"""`lapwing.synthesize` and `lapwing.resume`: from private rows to a release."""

from collections.abc import Callable, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from lapwing.api.running import read_header, release_of
from lapwing.api.schemaless import read_schemaless, refuse_without_schema, release_schemaless
from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Number, exact_number
from lapwing.release.release import Release
from lapwing.release.runs.learned.schemaless import SchemalessSettings
from lapwing.release.runs.plan.effort import Memory
from lapwing.release.runs.reading import read_settings, refuse_settings_of_one
from lapwing.release.runs.records import Records, RunRecords, records_of, resumable, take_up
from lapwing.release.runs.settings import MOST_MISFITS
from lapwing.release.runs.watching import following
from lapwing.rows.entry import private_boundary
from lapwing.schema.scalars import path_text
from lapwing.typing import (
    IntoFrame,
    MechanismLike,
    PathLike,
    PriorLike,
    ProgressLike,
    PublicTablesLike,
    Relation,
    SchemaLike,
)


@private_boundary
def synthesize(
    data: IntoFrame | Mapping[str, IntoFrame],
    schema: SchemaLike | None = None,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    mechanism: MechanismLike | Mapping[str, MechanismLike] | None = None,
    neighbours: Relation = "add-remove",
    expected_rows: int | Mapping[str, int] | None = None,
    ledger: PathLike | None = None,
    dataset: str | None = None,
    transcript: PathLike | None = None,
    seed: int | None = None,
    public_tables: PublicTablesLike | None = None,
    prior: PriorLike = None,
    memory: Memory = None,
    misfits: Number = 0.1,
    shares: Mapping[str, Number] | None = None,
    progress: ProgressLike = None,
) -> Release:
    """Turn a private table, or linked ones, into a differentially private release.

    Parameters
    ----------
    data : path, list of paths, pandas, Polars (eager or lazy) or PyArrow table, or Query
        The private rows. Columns that the schema does not name are ignored. Linked tables: a mapping from their names
        to tables.
    schema : Schema, path or mapping, optional
        Everything public about the table, about linked tables, or about events in the order of time. Without it the
        names and types of the columns are public, each row is one person's, and a fifth of the budget learns which
        numbers are whole, bounds and lists (of a CSV file, and of pandas' numbers and objects, also which columns are
        numbers or dates). The certificate says what was left out, and why: texts of which none is frequent, and without
        ``delta`` all texts. Mechanism, priors, public tables and misfits need a schema.
    epsilon : number above 0, optional
        Alone: pure ε-DP. With ``delta``: (ε, δ)-DP through zCDP. A float is read as it is written.
    delta : number in [0, 1), optional
        Goes with ``epsilon``; there is no default. `lapwing start` and the studio begin with 1e-9.
    rho : number above 0, optional
        zCDP budget; exactly one of ``epsilon`` and ``rho`` is given.
    mechanism : mechanism settings or name, optional
        Such as ``lw.Independent()``. The default depends on the schema alone. Of linked tables one for all, or a
        mapping by table; so is ``expected_rows``, of which a single number is that of the first given.
    neighbours : add-remove or replace-one, default "add-remove"
        The neighbour relation of the promise.
    expected_rows : int, optional
        A public guess of the number of rows, made without the data.
    ledger : path, optional
        A ledger made by ``lapwing ledger init``: the budget is debited there before the first noise is drawn.
    dataset : str, optional
        The data set's name in the ledger.
    transcript : path, optional
        Where each answer is written before it is used; the same call with the same transcript goes on, and spends
        nothing again, and so does `resume`. With a ledger it is kept in any case.
    seed : int, optional
        Of the public generator that draws rows from the released model. Noise has no seed.
    public_tables : PublicTable, mapping or path, or list of those, optional
        Cross-tables that are public besides those of the schema, such as official totals: synthetic rows meet them,
        or the model starts from them. They cost no budget. The total of an exact one is the number of synthetic rows.
    prior : path, Release, frame, or a list of those, optional
        Rows that are public or were released before, by columns of the same names: a saved release, a file, or a frame;
        of several the nearest counts. Where it is near, errors at a small ε are about half as large; where it is not,
        a question at 2 % of the budget finds that out. For `Adaptive`; the certificate names it, and what it cost.
    memory : int or str, optional
        Most memory of the process while it makes the release: bytes, or text such as "4 GB". Changes no result, only
        what is kept between passes over the rows. Beside it: a table that is given in memory.
    misfits : number in [0, 1], default 0.1
        Largest share of a column's cells that may be invalid: outside the schema's values. Before a mechanism that
        does not count these itself, the rows that hold one are counted, at 4 % of the budget or less: of d columns
        ``1 - (1 - misfits)**d`` of the rows may. Once noisy counts show more, the release ends with LW118, and `resume`
        goes on with the rest of its budget under a mended schema; 1 asks nothing and never ends it.
    shares : mapping of str to number, optional
        Of linked tables: each table's part of the budget, which sum to 1. By default by their numbers of columns.
    progress : bool or callable, optional
        By default a bar on a terminal, or in a notebook that has ipywidgets, once the work has lasted a second; True
        shows one in any case, in a log as lines, False never. A callable is told of each step, a `Progress` with
        ``step`` and ``share``, both public; one that raises ends the work, as Ctrl-C does: a line says whether anything
        was spent, and with a transcript `resume` finishes it.

    Returns
    -------
    Release
        Model, certificate and answers; `Release.sample` draws rows.

    Raises
    ------
    SchemaError, ParameterError, BudgetError, DataError, CapacityError
        One sentence that names the setting, the rule, the value and the way out; never data.

    Warns
    -----
    CertificateWarning
        Of what the certificate warns of, and of a weak verdict, with the same text.

    Notes
    -----
    Guarantee: the release is differentially private at the requested budget for the chosen neighbour relation and the
    schema's privacy unit; all that is released is a function of the noisy answers, public settings and public seeds.

    Examples
    --------
    >>> import polars as pl
    >>> schema = {"fields": [{"name": "flag", "type": "boolean", "constraints": {"required": True}}]}
    >>> release = synthesize(pl.DataFrame({"flag": [True, False] * 50}), schema, epsilon=1, seed=1)
    >>> release.sample(4).columns
    ['flag']
    >>> without = synthesize(pl.DataFrame({"age": [20, 60] * 500, "name": list("abcde") * 200}), epsilon=100, seed=1)
    >>> without.schema.names
    ('age',)
    """
    book = RunRecords(ledger=ledger, dataset=dataset, transcript=transcript)
    asked: Any = {"epsilon": epsilon, "delta": delta, "rho": rho, "neighbours": neighbours}
    asked |= {"expected_rows": expected_rows, "seed": seed, "transcript": book.path}
    of_columns: Any = {"mechanism": mechanism, "public_tables": public_tables, "prior": prior, "shares": shares}
    if schema is None:
        few = None if exact_number("misfits", misfits) == MOST_MISFITS else misfits
        refuse_without_schema(**of_columns, misfits=few, memory=memory)
        open_settings = read_schemaless(data, **asked)
        with following(progress):
            return release_schemaless(data, open_settings, book)
    settings = read_settings(schema, misfits=misfits, **of_columns, **asked)
    if settings.linked is not None:
        refuse_settings_of_one(memory=memory)
    with following(progress):
        return release_of(data, settings, book, memory=memory)


@private_boundary
def resume(
    transcript: PathLike,
    data: IntoFrame | Mapping[str, IntoFrame],
    *,
    schema: SchemaLike | None = None,
    memory: Memory = None,
    progress: ProgressLike = None,
) -> Release:
    """Finish an interrupted release: recorded answers are reused free of charge, the rest is asked.

    Parameters
    ----------
    transcript : path
        Written by `synthesize`; its settings, budget and ledger entry are used again.
    data : path, list of paths, pandas, Polars or PyArrow table
        The same private rows; of linked tables, by name.
    schema : Schema, path or mapping, optional
        A mended schema, for a release that ended because too many cells did not fit: it goes on under this one with
        the budget that is left. The privacy unit stays what it was.
    memory : int or str, optional
        As for `synthesize`; need not be what it was.
    progress : bool or callable, optional
        As for `synthesize`.

    Returns
    -------
    Release
        What the interrupted run would have returned; under a mended schema, what is made of the rest of the budget.

    Raises
    ------
    DataError
        If the file is no transcript.
    BudgetError
        If the ledger refuses. A release that was debited before is not debited again.

    Notes
    -----
    Resume transcripts of your own only: a transcript chooses schema, mechanism, budget and ledger.
    """
    with following(progress):
        return resume_run(transcript, data, lambda *_: None, schema=schema, memory=memory)


@private_boundary
def resume_run(
    transcript: PathLike,
    data: IntoFrame | Mapping[str, IntoFrame],
    tell: Callable[[Any, Records, int], None],
    *,
    schema: SchemaLike | None = None,
    memory: Memory = None,
) -> Release:
    """Do what `resume` does, and tell what will be finished before a row is read or anything asked or debited.

    tell: called once, with what the transcript fixes and the number of its answers.
    """
    path = Path(path_text("transcript", transcript))
    with closing(take_up(path)) as taken:
        settings = read_header(taken)
        if isinstance(settings, SchemalessSettings):
            refuse_without_schema(memory=memory)
            if schema is not None:
                raise ParameterError(
                    "a release without a schema goes on under the one that it learns; leave schema out, or make a new "
                    "release under yours",
                    code="LW272",
                )
        elif settings.linked is not None:
            refuse_settings_of_one(memory=memory)
            if schema is not None:
                raise ParameterError("linked tables are resumed under their own schema; leave schema out", code="LW252")
        resumable(path, partial(tell, settings, records_of(taken), len(taken.given)))
        book = RunRecords(transcript=path, taken=taken)
        if isinstance(settings, SchemalessSettings):
            return release_schemaless(data, settings, book)
        return release_of(data, settings, book, memory=memory, schema=schema)
