"""`lapwing.Schema.learn`: bounds and lists that a schema leaves blank, learned with privacy budget."""

import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

from lapwing.errors import LapwingWarning, ParameterError, warn
from lapwing.kernel.budget.budget import Number
from lapwing.kernel.room.begun import repeat_hint
from lapwing.release.marked import Releasable
from lapwing.release.runs.learned.running import LearnedDomain, run_learning
from lapwing.release.runs.learned.settings import LearnSettings, read_learn_settings
from lapwing.release.runs.records import RunRecords, run_paid
from lapwing.release.runs.watching import following
from lapwing.rows.entry import private_boundary
from lapwing.rows.out.outputs import whole_files
from lapwing.schema.schemas import Schema
from lapwing.typing import IntoFrame, PathLike, ProgressLike, Relation, SchemaLike


@private_boundary
def learn(
    data: IntoFrame,
    schema: SchemaLike,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    fields: Sequence[str] | None = None,
    dictionaries: Mapping[str, Sequence[str] | PathLike] | None = None,
    quantile: Number = 0,
    neighbours: Relation = "add-remove",
    ledger: PathLike | None = None,
    dataset: str | None = None,
    transcript: PathLike | None = None,
    certificate: PathLike | None = None,
    progress: ProgressLike = None,
) -> Schema:
    """Fill in blank bounds and lists of a schema with noisy answers about a private table.

    Parameters
    ----------
    data : path, list of paths, pandas, Polars (eager or lazy) or PyArrow table
        The private rows.
    schema : Schema, path or mapping
        What is known already; a draft may leave bounds and categories open.
    epsilon : number above 0, optional
        Alone: pure ε-DP. With ``delta``: (ε, δ)-DP through zCDP. All fields share the budget equally.
    delta : number in [0, 1), optional
        Goes with ``epsilon``, and with ``rho`` where texts are to be listed. To list the texts that occur takes one:
        half of it beside ``epsilon``, all of it beside ``rho``.
    rho : number above 0, optional
        zCDP budget; exactly one of ``epsilon`` and ``rho`` is given.
    fields : sequence of str, optional
        What to learn: bounds of numbers and dates, lists of texts. One bound that is there stays; both, and lists, are
        narrowed. Without it, every blank field.
    dictionaries : mapping of str to list of texts or path, optional
        For string fields, public texts among which those that occur are found, without a delta. A file has one a line.
    quantile : number in [0, 1/4), default 0
        The part of the rows that may be left out beyond each bound.
    neighbours : add-remove or replace-one, default "add-remove"
        The neighbour relation of the promise.
    ledger : path, optional
        Debited before the first noise is drawn; its allowance for selections with ``delta``.
    dataset : str, optional
        The data set's name in the ledger.
    transcript : path, optional
        Where each answer is written before it is used. The same run with the same transcript goes on, and spends
        nothing again.
    certificate : path, optional
        Where to write the certificate, as JSON; the file appears whole.
    progress : bool or callable, optional
        As for `lapwing.synthesize`.

    Returns
    -------
    Schema
        With the learned bounds and lists, of provenance ``dp`` (``assumed`` where they lie inside ones that were), and
        whose `purchases` name this run, as every later certificate does. No longer a draft, unless a blank is left:
        what noise hides stays blank.

    Raises
    ------
    SchemaError, ParameterError, BudgetError, DataError, CapacityError
        One sentence that names the setting, the rule, the value and the way out; never data.

    Warns
    -----
    LapwingWarning
        Of each field for which nothing was found, and what to do about it.

    Notes
    -----
    Guarantee: the result is a function of public settings and of noisy answers that are together differentially private
    at the requested budget for the chosen neighbour relation and the schema's privacy unit. With ``delta`` beside
    ``epsilon`` it is (ε, δ)-DP in all; with ``delta`` beside ``rho`` it is ρ-zCDP except with probability δ.

    Examples
    --------
    >>> import polars as pl
    >>> draft = {"draft": True, "fields": [{"name": "age", "type": "integer", "provenance": "dp"}]}
    >>> found = learn(pl.DataFrame({"age": [20, 60] * 500}), draft, epsilon=10**6)
    >>> found.field("age").minimum, found.field("age").maximum, found.is_draft
    (20, 60, False)
    """
    settings = read_learn_settings(
        schema,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        fields=fields,
        dictionaries=dictionaries,
        quantile=quantile,
        neighbours=neighbours,
    )
    if certificate is not None and not isinstance(certificate, str | os.PathLike):
        raise ParameterError(f"certificate must be a path to write to, got {type(certificate).__name__}", code="LW304")
    with ExitStack() as stack, following(progress, finish=repeat_hint):
        places = [] if certificate is None else stack.enter_context(whole_files([Path(certificate)]))
        found = learn_domain(data, settings, RunRecords(ledger=ledger, dataset=dataset, transcript=transcript)).value
        for place in places:
            place.write_text(found.certificate.to_json(), encoding="utf-8", newline="\n")
    for note in found.notes:
        with suppress(LapwingWarning):  # a filter that makes errors of warnings does not lose what is paid for
            warn(LapwingWarning(note.text, code="LW203"))
    return found.schema


@private_boundary
def learn_domain(data: object, settings: LearnSettings, book: RunRecords) -> Releasable[LearnedDomain]:
    """Learn what checked settings say; see `learn`."""
    return Releasable(run_paid(data, settings, book, run_learning, rows=settings.expected_rows))
