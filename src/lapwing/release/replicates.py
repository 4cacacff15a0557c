"""A parametric bootstrap of noise and sampling: what estimates from a release are off by."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Number, exact_number, read_request
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.questions.misfit_rows.question import MisfitRows
from lapwing.kernel.room.opening import open_room, public_terms
from lapwing.kernel.room.transcript import NoTranscript
from lapwing.maths.bootstrap_interval import LEAST_REPLICATES, PopulationEstimate, combine_estimates
from lapwing.mechanisms.registry import make_mechanism
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.model import ReleasedModel
from lapwing.model.rows import population_codes, sample_codes
from lapwing.model.statistics.expressions import Stat, condition_of
from lapwing.release.queries import Parts
from lapwing.release.runs.finishing import postprocess_model
from lapwing.release.runs.generators import chosen_seed, generator
from lapwing.release.runs.misfits import first_question
from lapwing.release.runs.settings import TableSettings
from lapwing.release.runs.watching import ProgressLike, show_progress
from lapwing.release.runs.watching import report_progress as tell
from lapwing.rows.kinds import FrameLayout
from lapwing.rows.out.decode import decode
from lapwing.rows.out.writers import to_layout
from lapwing.rows.source import code_table
from lapwing.schema.scalars import check_row_count, check_whole_number
from lapwing.schema.schemas import Schema

if TYPE_CHECKING:
    import polars as pl

_refused = partial(ParameterError, code="LW363")


Codes = Mapping[str, np.ndarray]
Estimator = Callable[[Any], float | Mapping[str, float]]

MOST_REPLICATES = 10_000


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Replicates:
    """Rows of a release, and of releases that were simulated from it; made by `Release.replicates`.

    Parameters
    ----------
    schema : Schema
        Of the release.
    at_model : tuple of mapping of str to ndarray
        Codes of m draws of rows from the released model.
    simulated : tuple of mapping of str to ndarray
        Codes of rows of m simulated releases, as many rows each.
    seed : int
        Of the public generator.
    layout : FrameLayout
        Of frames.
    """

    schema: Schema
    at_model: tuple[Codes, ...]
    simulated: tuple[Codes, ...]
    seed: int
    layout: FrameLayout

    def __repr__(self) -> str:
        return f"Replicates({len(self)} of {len(next(iter(self.simulated[0].values())))} rows)"

    def __len__(self) -> int:
        """Return how many releases were simulated."""
        return len(self.simulated)

    def frames(self) -> Iterator[Any]:
        """Yield the rows of each simulated release, in the layout of the release."""
        for _, frame in self._decoded(self.simulated):
            yield to_layout(frame, self.layout, self.schema)

    def mean(self, column: str, confidence: Number = 0.95) -> PopulationEstimate:
        """Estimate the population's mean of a column.

        Parameters
        ----------
        column : str
            Whole numbers, numbers, or true and false. Rows where it is missing are left out.
        confidence : number above 0 and below 1, default 0.95
            Of the interval.

        Returns
        -------
        PopulationEstimate
        """
        check_numbers(self.schema, [column])
        return self._one(lambda frame, _: float(np.nanmean(_numbers(frame, column))), confidence)

    def proportion(self, condition: str | Stat, confidence: Number = 0.95) -> PopulationEstimate:
        """Estimate the share of the population that meets a condition.

        Parameters
        ----------
        condition : str or Stat
            Such as ``"age >= 65 and sex == 'Female'"``, in the language of `lapwing.stat`; it is false where a cell
            that it needs is missing.
        confidence : number above 0 and below 1, default 0.95
            Of the interval, which is cut at 0 and 1.

        Returns
        -------
        PopulationEstimate
        """
        asked = condition_of(condition, self.schema)
        found = self._one(lambda _, codes: float(asked.values(codes).mean()), confidence)
        return replace(found, **{end: min(max(getattr(found, end), 0.0), 1.0) for end in ("lower", "upper")})

    def regression(
        self, outcome: str, regressors: Sequence[str], confidence: Number = 0.95
    ) -> dict[str, PopulationEstimate]:
        """Estimate the population's coefficients of a linear regression by least squares.

        Parameters
        ----------
        outcome : str
            A column of numbers, or of true and false.
        regressors : sequence of str
            Such columns; rows where one of them or the outcome is missing are left out.
        confidence : number above 0 and below 1, default 0.95
            Of each interval.

        Returns
        -------
        dict of str to PopulationEstimate
            ``intercept``, and one per regressor.
        """
        names = [regressors] if isinstance(regressors, str) else list(regressors)
        if not names or len({outcome, *names, "intercept"}) != len(names) + 2:
            raise _refused(f"regressors must be distinct columns beside the outcome, got {names}; name each once")
        check_numbers(self.schema, [outcome, *names])

        def coefficients(frame: "pl.DataFrame") -> dict[str, float]:
            y, *columns = (_numbers(frame, name) for name in (outcome, *names))
            x = np.column_stack([np.ones(y.size), *columns])
            known = np.isfinite(x).all(axis=1) & np.isfinite(y)
            found = np.linalg.lstsq(x[known], y[known], rcond=None)[0]
            return dict(zip(("intercept", *names), found.tolist(), strict=True))

        return self._combined(lambda frame, _: coefficients(frame), confidence)

    def estimate(
        self, function: Estimator, confidence: Number = 0.95
    ) -> PopulationEstimate | dict[str, PopulationEstimate]:
        """Estimate any number of the population.

        Parameters
        ----------
        function : callable
            From a frame of rows, in the layout of the release, to a number or a mapping of names to numbers: what would
            be computed from all rows of the population. It is called twice for each replicate.
        confidence : number above 0 and below 1, default 0.95
            Of each interval.

        Returns
        -------
        PopulationEstimate or dict of str to PopulationEstimate
        """
        if not callable(function):
            raise _refused(f"estimate takes a function of a frame, got {function!r}; use mean for a column's mean")

        def called(frame: "pl.DataFrame", _: Codes) -> dict[str, float]:
            value = function(to_layout(frame, self.layout, self.schema))
            found = dict(value) if isinstance(value, Mapping) else {_ONE: value}
            if not all(isinstance(each, int | float | np.number) for each in found.values()):
                raise _refused(
                    "the function of an estimate must return a number or a mapping of names to numbers, got "
                    f"{type(value).__name__}; take one number out of it"
                )
            return {name: float(each) for name, each in found.items()}

        found = self._combined(called, confidence)
        return found[_ONE] if set(found) == {_ONE} else found

    def _one(self, function: "Callable[[pl.DataFrame, Codes], float]", confidence: Number) -> PopulationEstimate:
        """Return the estimate of one number."""
        return self._combined(lambda frame, codes: {_ONE: function(frame, codes)}, confidence)[_ONE]

    def _combined(
        self, function: "Callable[[pl.DataFrame, Codes], dict[str, float]]", confidence: Number
    ) -> dict[str, PopulationEstimate]:
        """Return the combined estimates of each name."""
        level = float(exact_number("confidence", confidence))
        at_model, simulated = (
            [function(frame, codes) for codes, frame in self._decoded(each)] for each in (self.at_model, self.simulated)
        )
        names = tuple(at_model[0])
        if any(tuple(found) != names for found in (*at_model, *simulated)):
            raise _refused("an estimate must give the same names for every frame; give 0 where nothing is found")
        return {
            name: combine_estimates(
                np.array([found[name] for found in at_model], dtype=np.float64),
                np.array([found[name] for found in simulated], dtype=np.float64),
                level,
            )
            for name in names
        }

    def _decoded(self, samples: tuple[Codes, ...]) -> "Iterator[tuple[Codes, pl.DataFrame]]":
        """Yield each sample with its frame."""
        for codes in samples:
            yield codes, decode(codes, self.schema)


def check_numbers(schema: Schema, columns: Sequence[str]) -> None:
    """Refuse columns that hold no numbers."""
    for name in columns:
        field = schema.field(name)
        if field.identifier or field.type not in ("integer", "number", "boolean"):
            raise _refused(
                f"column {name!r} holds no numbers; use proportion with a condition, or estimate with a function"
            )


_ONE = "estimate"


def _numbers(frame: "pl.DataFrame", column: str) -> np.ndarray:
    """Return a column as float64, missing as not a number."""
    import polars as pl  # noqa: PLC0415

    return frame[column].cast(pl.Float64).fill_null(float("nan")).to_numpy()


def make_replicates(
    release: Parts, m: int, rows: int | None, seed: int | None, layout: FrameLayout, *, progress: ProgressLike
) -> Replicates:
    """Simulate a release again and again; see `Release.replicates`."""
    model, schema, certificate = release.model, release.schema, release.certificate
    check_whole_number("m", m, LEAST_REPLICATES, MOST_REPLICATES, code="LW302")
    if model.rows < 1:
        raise _refused("the release stands for 0 rows, and no sample of it can be simulated; spend more budget")
    count = check_row_count("the number of rows", model.rows if rows is None else rows, 1)
    # Drawn rows are few, and stand for a table of another, public size.
    sampled = model.rows if certificate.public_rows is None else certificate.public_rows
    settings = rebuilt(certificate, schema, chosen_seed(seed))
    at_model, simulated = [], []
    with show_progress(progress, first="replicates", of="of them made"):
        for done, rng in enumerate(generator(settings.seed, "replicates").spawn(m), 1):
            at_model.append(_rows(model, schema, count, rng))
            frame = decode(population_codes(model, schema, sampled, rng), schema)
            simulated.append(_rows(_refit(frame, settings, rng), schema, count, rng))
            tell("replicates", done / m)
    drawn = {"at_model": tuple(at_model), "simulated": tuple(simulated)}
    return Replicates(schema=schema, **drawn, seed=settings.seed, layout=layout)


def rebuilt(certificate: Certificate, schema: Schema, seed: int) -> TableSettings:
    """Return the settings of a release from its certificate.

    seed: of the public generator, in place of the release's.
    """
    for key, value in certificate.settings.items():
        parts = value if isinstance(value, list) else [value]
        is_code = any(isinstance(part, str) and part.startswith("callable ") for part in parts)
        if is_code:
            raise _kept_by_name(key, value)
    mechanism = make_mechanism(certificate.mechanism, certificate.settings)
    own = mechanism.own_points()
    if own is not None:
        raise _kept_by_name(own.setting, own.rows)
    if certificate.settings.get("prior") is not None:
        raise _kept_by_name("prior", certificate.settings["prior"])
    return TableSettings(
        schema=schema,
        mechanism=mechanism,
        request=read_request(
            epsilon=certificate.requested.epsilon, delta=certificate.requested.delta, rho=certificate.requested.rho
        ),
        relation=certificate.relation,
        expected_rows=certificate.expected_rows,
        seed=seed,
        is_seeded=True,
        misfit_share=_misfit_share(certificate),
    )


def _misfit_share(certificate: Certificate) -> Fraction | None:
    """Return which part of the budget asked for rows with misfits."""
    paid = sum(line.cost.amount for line in certificate.lines if line.question == MisfitRows.kind)
    return paid / certificate.total.amount if paid else None


def _kept_by_name(key: str, value: object) -> ParameterError:
    """Return the error of a setting that no release keeps."""
    return ParameterError(
        f"the setting {key} was code or a table ({value}), and a release keeps its name only; replicates need settings "
        "that are plain values",
        code="LW343",
    )


def _refit(frame: "pl.DataFrame", settings: TableSettings, rng: np.random.Generator) -> ReleasedModel:
    """Return the model of a release of simulated rows: the same questions, budget and terms, with fresh noise."""
    schema, mechanism = settings.schema, settings.mechanism
    source = code_table(frame, schema)
    terms = public_terms(source, schema, settings.relation, settings.expected_rows)
    _, budget = first_question(settings, settings.request.budget, terms)
    room = open_room(source, schema, terms, budget, debit=_no_debit, secret_bits=SystemBits, sink=NoTranscript())
    return postprocess_model(mechanism.run(room, schema, budget, rng), schema, int(rng.integers(2**63))).model


def _no_debit() -> None:
    """Charge no ledger: the rows are released ones."""


def _rows(model: ReleasedModel, schema: Schema, count: int, rng: np.random.Generator) -> Codes:
    """Draw rows as a release does."""
    chunks = list(sample_codes(model, schema, count, rng))
    return {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}
