"""`lapwing.synthesize_linked`: from two linked private tables to a release of both."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any, cast

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Number
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.room.curator import ReplayCurator
from lapwing.kernel.room.opening import public_terms
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.registry import check_mechanism
from lapwing.model.linked_files import ONE_OF_TWO, LinkedCertificate
from lapwing.release.release import Release
from lapwing.rows.counting import CodedSource
from lapwing.rows.guard import private_boundary
from lapwing.rows.linked import code_linked
from lapwing.runs.certify import promised_epsilons
from lapwing.runs.generators import generator
from lapwing.runs.progress import part_told
from lapwing.runs.public_points import refuse_private_points
from lapwing.runs.records import AccountedSink, Book, Records
from lapwing.runs.settings import LinkedSettings, Settings, read_linked_settings
from lapwing.runs.watching import following
from lapwing.typing import IntoFrame, LinkedSchemaLike, MechanismLike, PathLike, ProgressLike
from lapwing.verbs.linked_release import LinkedRelease
from lapwing.verbs.running import run_release, warned


@private_boundary
def synthesize_linked(
    parent: IntoFrame,
    child: IntoFrame,
    schema: LinkedSchemaLike,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    parent_share: Number = 0.5,
    parent_mechanism: MechanismLike | None = None,
    child_mechanism: MechanismLike | None = None,
    expected_parents: int | None = None,
    expected_children: int | None = None,
    ledger: PathLike | None = None,
    dataset: str | None = None,
    transcript: PathLike | None = None,
    seed: int | None = None,
    progress: ProgressLike = None,
) -> LinkedRelease:
    """Turn two linked private tables into a differentially private release: parents, each with its children.

    Parameters
    ----------
    parent : path, list of paths, pandas, Polars (eager or lazy) or PyArrow table
        One row for each value of the key; of several one is used.
    child : path, list of paths, pandas, Polars (eager or lazy) or PyArrow table
        Any number of rows for each value of the key; at most ``maxChildren`` are used, and none without a parent row.
    schema : LinkedSchema, path or mapping
        Everything public about both.
    epsilon : number above 0, optional
        Alone: pure ε-DP. With ``delta``: (ε, δ)-DP through zCDP. For both tables together.
    delta : number in [0, 1), optional
        Goes with ``epsilon``; there is no default.
    rho : number above 0, optional
        zCDP budget; exactly one of ``epsilon`` and ``rho`` is given.
    parent_share : number above 0 and below 1, default 0.5
        The parents' part of the budget; the rest is the children's.
    parent_mechanism, child_mechanism : mechanism settings or name, optional
        Such as ``lw.Adaptive()``. The default depends on the schema alone.
    expected_parents, expected_children : int, optional
        Public guesses of the numbers of rows, made without the data.
    ledger : path, optional
        Debited once, for both parts, before the first noise is drawn, under the privacy unit ``KEY:maxChildren``.
    dataset : str, optional
        The data set's name in the ledger.
    transcript : path, optional
        Where each answer is written before it is used. The same call with the same transcript goes on, and spends
        nothing again.
    seed : int, optional
        Of the public generator. Noise has no seed.
    progress : bool or callable, optional
        As for `lapwing.synthesize`.

    Returns
    -------
    LinkedRelease
        Both parts; `LinkedRelease.sample` draws parents with their children.

    Raises
    ------
    SchemaError, ParameterError, BudgetError, DataError, CapacityError
        One sentence that names the setting, the rule, the value and the way out; never data.

    Notes
    -----
    Guarantee: the release is differentially private at the requested budget for add-remove neighbours that differ in
    all rows of one value of the key. The parents with their number of children are asked about with one row per unit,
    the children joined with their parents with at most ``maxChildren``, and the costs of both are added up.

    Examples
    --------
    >>> import polars as pl
    >>> home = {"name": "home", "type": "integer", "role": "identifier"}
    >>> schema = {
    ...     "key": "home", "maxChildren": 3,
    ...     "parent": {"fields": [home, {"name": "rented", "type": "boolean", "constraints": {"required": True}}]},
    ...     "child": {"fields": [home, {"name": "adult", "type": "boolean", "constraints": {"required": True}}]},
    ... }
    >>> homes = pl.DataFrame({"home": range(200), "rented": [True, False] * 100})
    >>> people = pl.DataFrame({"home": [*range(200), *range(200)], "adult": [True] * 200 + [False] * 200})
    >>> release = synthesize_linked(homes, people, schema, epsilon=100, seed=1)
    >>> parents, children = release.sample(10)
    >>> parents.columns, children.columns
    (['home', 'rented'], ['home', 'adult'])
    """
    for mechanism, data in product((parent_mechanism, child_mechanism), (parent, child)):
        refuse_private_points(mechanism, data)
    book = Book(ledger=ledger, dataset=dataset, transcript=transcript)
    settings = read_linked_settings(
        schema,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        parent_share=parent_share,
        mechanisms=(parent_mechanism, child_mechanism),
        expected=(expected_parents, expected_children),
        seed=seed,
        transcript=book.path,
    )
    with following(progress):
        return _run((parent, child), settings, book)


def _run(data: tuple[object, object], settings: LinkedSettings, book: Book) -> LinkedRelease:
    """Debit once for both parts, and release them one after the other."""
    fresh = book.fresh(settings)
    pair = code_linked(*data, settings.linked)
    parts = ((pair.parent, settings.parent), (pair.child, settings.child))
    terms = [public_terms(source, part.schema, part.relation, part.expected_rows) for source, part in parts]
    for (_, part), known in zip(parts, terms, strict=True):
        check_mechanism(part.mechanism, part.schema, part.request.budget, known)
    sink, records, recorded = book.begin(fresh, settings, terms[1])
    with closing(sink):
        first = _answers_of_parent(settings.parent, terms[0], recorded)
        known_answers = (recorded[:first], recorded[first:])
        parent, child = (
            _released(source, part, known, (settings, sink, records), answers)
            for (source, part), known, answers in zip(parts, terms, known_answers, strict=True)
        )
    warned(parent, child)
    layouts = (pair.parent_layout, pair.child_layout)
    parent, child = (
        replace(part, kind=layout.kind, layout=layout) for part, layout in zip((parent, child), layouts, strict=True)
    )
    return LinkedRelease(
        schema=settings.linked,
        parent=parent,
        child=child,
        certificate=_certificate(settings, parent, child),
        seed=settings.parent.seed if settings.parent.is_seeded else None,
    )


def _released(
    source: CodedSource,
    part: Settings,
    terms: Terms,
    paid: tuple[LinkedSettings, AccountedSink, Records],
    recorded: Sequence[Answer],
) -> Release:
    """Release one part; the debit is for both, and of the second part it changes nothing."""
    whole, sink, records = paid
    debit = partial(sink.debit, whole)
    share = float(part.request.budget.amount / whole.request.budget.amount)
    what, before = ("parents", 0.0) if part is whole.parent else ("children", 1.0 - share)
    with part_told(what, before, share):
        release = run_release(
            source, part, terms, records, debit=debit, sink=sink, secret_bits=SystemBits, recorded=recorded
        )
    verdict = release.certificate.verdict  # its next budget would be that of one part
    told = replace(
        release.certificate,
        warnings=(*release.certificate.warnings, ONE_OF_TWO),
        verdict=verdict and replace(verdict, better=""),
    )
    return replace(release, certificate=told)


def _answers_of_parent(part: Settings, terms: Terms, recorded: Sequence[Answer]) -> int:
    """Return how many recorded answers are the parent part's: as many as it asks for when it is run on them."""
    if not recorded:
        return 0
    counting = _Counting(terms, recorded)
    try:
        part.mechanism.run(cast("Any", counting), part.schema, part.request.budget, generator(part.seed, "fit"))
    except ParameterError:
        return len(recorded)  # the record ends before this part does
    return counting.asked


class _Counting:
    """Answer from a record, and count."""

    __slots__ = ("_replay", "asked", "terms")

    def __init__(self, terms: Terms, recorded: Sequence[Answer]) -> None:
        self._replay = ReplayCurator(terms, recorded)
        self.terms = terms
        self.asked = 0

    def ask(self, *questions: Any) -> Any:  # noqa: ANN401 - as `ReplayCurator.ask`
        """Return the next recorded answers."""
        answers = self._replay.ask(*questions)
        self.asked += len(answers)
        return answers


def _certificate(settings: LinkedSettings, parent: Release, child: Release) -> LinkedCertificate:
    """Return the certificate of both parts."""
    request, linked = settings.request, settings.linked
    total = parent.certificate.total + child.certificate.total
    assert total.amount <= request.budget.amount, "each part spends at most its own budget, and these sum to the whole"
    return LinkedCertificate(
        key=linked.key,
        max_children=linked.max_children,
        count=linked.count,
        parent=parent.certificate,
        child=child.certificate,
        requested_epsilon=request.epsilon,
        requested_delta=request.delta,
        requested_rho=request.rho,
        epsilons=promised_epsilons(request, total),
    )
