"""A series: releases of a table that comes back, under one total budget, each learning from those before."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lapwing.errors import BudgetError, ParameterError
from lapwing.kernel.budget.budget import Budget, Number, read_request
from lapwing.release.loading import load
from lapwing.release.release import Release
from lapwing.rows.guard import private_boundary
from lapwing.schema.scalars import told
from lapwing.typing import IntoFrame, MechanismLike, PathLike, PriorLike, ProgressLike, Relation, SchemaLike
from lapwing.verbs.plan import Plan, plan
from lapwing.verbs.synthesize import synthesize

_MOST_RELEASES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Plan releases of a table that comes back, under one total budget.

    Parameters
    ----------
    schema : Schema, path or mapping
        Everything public about the table, the same for all releases.
    releases : int, 1 to 10,000
        How many there will be; each gets an equal part of the budget.
    epsilon, delta, rho
        The total of all of them, as for `lapwing.synthesize`: who is in every table is protected by this.
    mechanism, neighbours, ledger, dataset
        As for `lapwing.synthesize`, of each release. One ``dataset`` for all, so that the ledger sums them.

    Raises
    ------
    ParameterError
        If a setting is out of range.

    Notes
    -----
    Guarantee: that of `lapwing.synthesize` at its part for each release, and at the total for all of them together: the
    parts are exact and sum to it.

    Examples
    --------
    >>> import polars as pl
    >>> schema = {"fields": [{"name": name, "type": "boolean", "constraints": {"required": True}} for name in "abc"]}
    >>> years = Series(schema=schema, releases=4, epsilon=2)
    >>> first = years.release(pl.DataFrame({name: [True, False] * 50 for name in "abc"}), seed=1)
    >>> second = years.release(pl.DataFrame({name: [True, False] * 60 for name in "abc"}), [first], seed=1)
    >>> second.certificate.total.amount, len(second.certificate.assumed)
    (Fraction(1, 2), 1)
    """

    schema: SchemaLike
    releases: int
    epsilon: Number | None = None
    delta: Number | None = None
    rho: Number | None = None
    mechanism: MechanismLike | None = None
    neighbours: Relation = "add-remove"
    ledger: PathLike | None = None
    dataset: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.releases, bool) or not isinstance(self.releases, int):
            raise ParameterError(
                f"releases must be a whole number, got {told(self.releases)}; give how many", code="LW302"
            )
        if not 1 <= self.releases <= _MOST_RELEASES:
            raise ParameterError(
                f"releases must be 1 to {_MOST_RELEASES}, got {self.releases}; give how many", code="LW302"
            )
        self.part  # noqa: B018 - refuses a budget that cannot be divided

    @property
    def part(self) -> Budget:
        """What each release spends."""
        whole = read_request(epsilon=self.epsilon, delta=self.delta, rho=self.rho).budget
        return whole.split([1] * self.releases)[0]

    def plan(self, *, expected_rows: int, prior: PriorLike = None) -> Plan:
        """Return what one release would do, as `lapwing.plan` does."""
        return plan(
            self.schema,
            expected_rows=expected_rows,
            mechanism=self.mechanism,
            neighbours=self.neighbours,
            prior=prior,
            **self._budget(),
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
            The releases of the series so far, in their order; the last one is what this one learns from.
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
        return synthesize(
            data,
            self.schema,
            mechanism=self.mechanism,
            neighbours=self.neighbours,
            ledger=self.ledger,
            dataset=self.dataset,
            expected_rows=expected_rows,
            transcript=transcript,
            seed=seed,
            prior=before[-1] if made else prior,
            progress=progress,
            **self._budget(),
        )

    def _budget(self) -> dict[str, Any]:
        part = self.part
        return {"epsilon": part.amount} if part.notion == "pure" else {"rho": part.amount}
