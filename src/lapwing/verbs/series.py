"""A series: releases of a table that comes back, under one total budget, each learning from those before."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lapwing.errors import BudgetError, ParameterError
from lapwing.kernel.budget.budget import Budget, Number, exact_number, read_request
from lapwing.mechanisms.shared.priors import made_up
from lapwing.release.loading import load
from lapwing.release.release import Release
from lapwing.rows.guard import private_boundary
from lapwing.runs.settings import usable_schema
from lapwing.schema.scalars import told
from lapwing.typing import IntoFrame, MechanismLike, PathLike, PriorLike, ProgressLike, Relation, SchemaLike
from lapwing.verbs.plan import plan
from lapwing.verbs.plans import Plan
from lapwing.verbs.synthesize import synthesize

_MOST_RELEASES = 10_000
_ALIKE = 2  # so few releases have equal parts
_LEARNT_FROM = 2  # the first release and the last


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Plan releases of a table that comes back, under one total budget.

    Parameters
    ----------
    schema : Schema, path or mapping
        Everything public about the table, the same for all releases.
    releases : int, 1 to 10,000
        How many there will be.
    epsilon, delta, rho
        The total of all of them, as for `lapwing.synthesize`: who is in every table is protected by this.
    first_share : number above 0 and below 1, default 0.5
        Part of the budget for the first of three releases or more; the others get equal parts of the rest. They need
        less: what did not change is known from the first. Of two each gets half.
    mechanism, neighbours, ledger, dataset
        As for `lapwing.synthesize`, of each release. One ``dataset`` for all, so that the ledger sums them.

    Raises
    ------
    ParameterError
        If a setting is out of range.
    SchemaError
        If the schema is a draft, or of linked tables or of events in order.

    Notes
    -----
    Guarantee: that of `lapwing.synthesize` at its part for each release, and at the total for all of them together: the
    parts are exact and sum to it. A series counts what ``before`` names and what it made itself; that another process
    made the same release too, a ledger alone tells.

    Examples
    --------
    >>> import polars as pl
    >>> schema = {"fields": [{"name": name, "type": "boolean", "constraints": {"required": True}} for name in "abc"]}
    >>> years = Series(schema=schema, releases=4, epsilon=2)
    >>> first = years.release(pl.DataFrame({name: [True, False] * 50 for name in "abc"}), seed=1)
    >>> second = years.release(pl.DataFrame({name: [True, False] * 60 for name in "abc"}), [first], seed=1)
    >>> first.certificate.total.amount, second.certificate.total.amount, len(second.certificate.assumed)
    (Fraction(1, 1), Fraction(1, 3), 1)
    """

    schema: SchemaLike
    releases: int
    epsilon: Number | None = None
    delta: Number | None = None
    rho: Number | None = None
    first_share: Number = 0.5
    mechanism: MechanismLike | None = None
    neighbours: Relation = "add-remove"
    ledger: PathLike | None = None
    dataset: str | None = None
    _numbers: set[int] = field(default_factory=set, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.releases, bool) or not isinstance(self.releases, int):
            raise ParameterError(
                f"releases must be a whole number, got {told(self.releases)}; give how many", code="LW302"
            )
        if not 1 <= self.releases <= _MOST_RELEASES:
            raise ParameterError(
                f"releases must be 1 to {_MOST_RELEASES}, got {self.releases}; give how many", code="LW302"
            )
        usable_schema(self.schema)
        self.part(0)

    def part(self, number: int) -> Budget:
        """Return what a release spends; number: from 0."""
        whole = read_request(epsilon=self.epsilon, delta=self.delta, rho=self.rho).budget
        share = exact_number("first_share", self.first_share)
        if not 0 < share < 1:
            raise ParameterError(f"first_share must be above 0 and below 1, got {share}; 0.5 is usual", code="LW301")
        if self.releases <= _ALIKE:
            return whole.split([1] * self.releases)[0]
        return whole.split([share, *[(1 - share) / (self.releases - 1)] * (self.releases - 1)])[min(number, 1)]

    def plan(self, *, expected_rows: int, number: int = 0, prior: PriorLike = None) -> Plan:
        """Return what a release would do, as `lapwing.plan` does; number: from 0.

        prior: by default none for the first one; others ask about as many as they learn from, whatever those will say.
        """
        if number and prior is None:
            prior = [made_up(usable_schema(self.schema))] * min(number, _LEARNT_FROM)
        return plan(
            self.schema,
            expected_rows=expected_rows,
            mechanism=self.mechanism,
            neighbours=self.neighbours,
            prior=prior,
            **self._budget(number),
        )

    @private_boundary
    def release(
        self,
        data: IntoFrame,
        before: Sequence[Release | PathLike] = (),
        *,
        prior: PriorLike = None,
        expected_rows: int | None = None,
        transcript: PathLike | None = None,
        seed: int | None = None,
        progress: ProgressLike = None,
    ) -> Release:
        """Make the next release of the series.

        Parameters
        ----------
        data : path, list of paths, pandas, Polars or PyArrow table, or Query
            The private rows, as they are now.
        before : sequence of Release or paths of saved ones, default ()
            The releases of the series so far, in their order; this one learns from the first or the last of them,
            whichever is nearer.
        prior : path, Release, frame, or a list of those, optional
            For the first one: what was public or released before the series.
        expected_rows, transcript, seed, progress
            As for `lapwing.synthesize`.

        Returns
        -------
        Release
            As of `lapwing.synthesize`.

        Raises
        ------
        BudgetError
            If all releases of the series have been made, or the ledger refuses.
        ParameterError
            If a prior is given beside releases before, or a setting is out of range.
        """
        made = [each if isinstance(each, Release) else load(each) for each in before]  # type: ignore[arg-type]
        if len(made) >= self.releases:
            raise BudgetError(
                f"the series has {self.releases} releases, and {len(made)} were made; begin another one with a budget "
                "of its own",
                code="LW401",
            )
        if made and prior is not None:
            raise ParameterError("prior is for the first release of a series; leave it out", code="LW316")
        self._check_before(made)
        is_new = transcript is None or not os.path.exists(transcript)  # else it is paid, or finished by its own terms
        if is_new and len(made) in self._numbers:
            raise BudgetError(
                f"release {len(made) + 1} of this series was made already; give all that were made, in their order, or "
                "begin another series with a budget of its own",
                code="LW401",
            )
        release = synthesize(
            data,
            self.schema,
            mechanism=self.mechanism,
            neighbours=self.neighbours,
            ledger=self.ledger,
            dataset=self.dataset,
            expected_rows=expected_rows,
            transcript=transcript,
            seed=seed,
            prior=[before[0], before[-1]][: len(made)] if made else prior,
            progress=progress,
            **self._budget(len(made)),
        )
        self._numbers.add(len(made))
        return release

    def _check_before(self, made: Sequence[Release]) -> None:
        """Refuse releases that are not those of the series so far: one twice, or of a larger part."""
        for number, each in enumerate(made):
            spent, part = each.certificate.total, self.part(number)
            if each.certificate in [other.certificate for other in made[:number]]:
                raise ParameterError(f"release {number + 1} before is given twice; give each once", code="LW316")
            if spent.notion != part.notion or spent.amount > part.amount:
                raise ParameterError(
                    f"release {number + 1} before spent {spent}, and its part of this series is {part}; give the "
                    "releases of this series, in their order",
                    code="LW316",
                )

    def _budget(self, number: int) -> dict[str, Any]:
        part = self.part(number)
        return {"epsilon": part.amount} if part.notion == "pure" else {"rho": part.amount}
