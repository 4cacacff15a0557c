"""`lapwing.Synthesizer`: the settings of `lapwing.synthesize` as scikit-learn keeps those of an estimator."""

import inspect
import os
import reprlib
from dataclasses import replace
from typing import Any, Final, Self

from lapwing.api.synthesize import synthesize
from lapwing.errors import ParameterError
from lapwing.kernel.budget.budget import Number
from lapwing.on_demand import Displayable
from lapwing.present.cards import DESCRIBED
from lapwing.present.document import Document, Fact
from lapwing.present.messages import say
from lapwing.present.releases import describe_release
from lapwing.release.release import Release
from lapwing.release.rows_out import Where
from lapwing.release.runs.plan.effort import Memory
from lapwing.rows.entry import private_boundary, with_target
from lapwing.rows.kinds import Like
from lapwing.schema.scalars import check_row_count
from lapwing.typing import (
    IntoFrame,
    IntoSeries,
    MechanismLike,
    PathLike,
    PriorLike,
    ProgressLike,
    PublicTablesLike,
    Relation,
    SchemaLike,
)


class Synthesizer(Displayable):
    """Hold settings; `fit` makes a release, `sample` draws rows from it.

    Parameters
    ----------
    schema : Schema, path or mapping
        Everything public about the table.
    epsilon, delta, rho, mechanism, neighbours, expected_rows, ledger, dataset, transcript, seed, public_tables, \
prior, memory, misfits, progress
        As for `lapwing.synthesize`, which checks them at each fit.

    Attributes
    ----------
    release_ : Release
        What the last fit made.

    Raises
    ------
    ParameterError
        If `lapwing.synthesize` has no such setting.

    Notes
    -----
    Guarantee: that of `lapwing.synthesize`, for each fit. A second fit spends again, and so does each fit of a clone:
    cross-validation over private rows spends once for each fold and candidate.

    Settings are attributes of the same names, as scikit-learn's `clone`, pipelines and `check_is_fitted` expect.

    Examples
    --------
    >>> import polars as pl
    >>> schema = {"fields": [{"name": "flag", "type": "boolean", "constraints": {"required": True}}]}
    >>> synth = Synthesizer(schema, epsilon=1.0, seed=3)
    >>> synth
    Synthesizer(dict(...), epsilon=1.0, seed=3)
    >>> synth.fit(pl.DataFrame({"flag": [True, False] * 50})).sample(5).height
    5
    """

    @private_boundary
    def __init__(
        self,
        schema: SchemaLike,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        mechanism: MechanismLike | None = None,
        neighbours: Relation = "add-remove",
        expected_rows: int | None = None,
        ledger: PathLike | None = None,
        dataset: str | None = None,
        transcript: PathLike | None = None,
        seed: int | None = None,
        public_tables: PublicTablesLike | None = None,
        prior: PriorLike = None,
        memory: Memory = None,
        misfits: Number = 0.1,
        progress: ProgressLike = None,
    ) -> None:
        self.schema = schema
        self.epsilon = epsilon
        self.delta = delta
        self.rho = rho
        self.mechanism = mechanism
        self.neighbours = neighbours
        self.expected_rows = expected_rows
        self.ledger = ledger
        self.dataset = dataset
        self.transcript = transcript
        self.seed = seed
        self.public_tables = public_tables
        self.prior = prior
        self.memory = memory
        self.misfits = misfits
        self.progress = progress

    def __repr__(self) -> str:
        schema, *said = changed_settings(self)
        fitted = ", fitted" * hasattr(self, "release_")
        return f"Synthesizer({', '.join([schema[1], *map('='.join, said)])}){fitted}"

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - no setting has settings of its own
        """Return the settings by name; ``deep`` is scikit-learn's, and changes nothing."""
        return {name: getattr(self, name) for name in _DEFAULTS}

    def set_params(self, **params: Any) -> Self:  # noqa: ANN401 - settings of several types
        """Change settings, and return this synthesizer.

        Raises
        ------
        ParameterError
            If there is no such setting.
        """
        for name in params:
            if name not in _DEFAULTS:
                raise ParameterError(
                    f"there is no setting {name!r}; Synthesizer takes {', '.join(_DEFAULTS)}", code="LW308"
                )
        for name, value in params.items():
            setattr(self, name, value)
        return self

    @private_boundary
    def fit(self, X: IntoFrame, y: IntoSeries | None = None) -> Self:
        """Make a release of private rows, spending the budget, and keep it as ``release_``.

        Parameters
        ----------
        X : path, list of paths, pandas, Polars (eager or lazy) or PyArrow table, or Query
            The private rows.
        y : pandas or Polars series, optional
            One more column of them, called by the series' name; ``X`` is then a frame of the same library.
        """
        rows = X if y is None else with_target(X, y)
        self.release_: Release = synthesize(rows, **self.get_params())
        return self

    def sample(self, n: int | None = None, *, seed: int | None = None, where: Where = None, like: Like = None) -> Any:  # noqa: ANN401
        """Draw rows from the last release; see `Release.sample`.

        Raises
        ------
        ParameterError
            If nothing was fitted yet.
        """
        if not hasattr(self, "release_"):
            raise ParameterError("this Synthesizer has no release yet; call fit(data) first", code="LW318")
        return self.release_.sample(n, seed=seed, where=where, like=like)

    @private_boundary
    def fit_sample(self, X: IntoFrame, n: int | None = None) -> Any:  # noqa: ANN401
        """Fit and draw the released number of rows, or ``n``."""
        if n is not None:
            check_row_count("n", n)
        return self.fit(X).sample(n)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "release_")

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401 - a class of scikit-learn, which is the caller
        from sklearn.utils import InputTags, Tags, TargetTags  # noqa: PLC0415

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(two_d_array=False, categorical=True, string=True, allow_nan=True),
            non_deterministic=True,
        )


_DEFAULTS: Final = {
    name: each.default for name, each in inspect.signature(Synthesizer.__init__).parameters.items() if name != "self"
}


def changed_settings(synthesizer: Synthesizer) -> list[tuple[str, str]]:
    """Return the names of the schema and of settings that differ from the defaults, and each in a line."""
    shown = {name: _in_short(value) for name, value in synthesizer.get_params().items()}
    return [(name, said) for name, said in shown.items() if said != _in_short(_DEFAULTS[name])]


def _in_short(value: object) -> str:
    """Return a setting in a line. Of what may hold rows its type: somebody could have given a table by mistake."""
    if value is None or isinstance(value, bool | int | float | str | os.PathLike):
        return reprlib.repr(value)
    return f"{type(value).__name__}(...)"


def describe_synthesizer(found: Synthesizer) -> Document:
    """Return the settings, or what the release says that was made with them."""
    if hasattr(found, "release_"):
        return replace(describe_release(found.release_), kind=say("synthesizer.fitted"))
    settings = (Fact("setting", name, said) for name, said in changed_settings(found))
    facts = (Fact("headline", "", say("synthesizer.not_fitted")), *settings)
    return Document(facts, "Synthesizer", hint=say("synthesizer.hint"))


DESCRIBED[Synthesizer] = describe_synthesizer
