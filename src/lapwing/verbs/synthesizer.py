"""`lapwing.Synthesizer`: fit and sample, in the habit of scikit-learn and SDV."""

import inspect
from collections.abc import Mapping
from typing import Any

from lapwing.errors import ParameterError
from lapwing.release.release import Release
from lapwing.rows.guard import private_boundary
from lapwing.verbs.synthesize import synthesize


class Synthesizer:
    """Hold settings; `fit` makes a release, `sample` draws rows from it.

    Parameters
    ----------
    schema : Schema, path or mapping
        Everything public about the table.
    **settings
        The keyword settings of `lapwing.synthesize`.

    Raises
    ------
    ParameterError
        If `lapwing.synthesize` has no such setting.

    Notes
    -----
    Guarantee: that of `lapwing.synthesize`, for each fit. A second fit spends again.

    Examples
    --------
    >>> import polars as pl
    >>> schema = {"fields": [{"name": "flag", "type": "boolean", "constraints": {"required": True}}]}
    >>> synth = Synthesizer(schema, epsilon=1.0, seed=3)
    >>> synth.fit(pl.DataFrame({"flag": [True, False] * 50})).sample(5).height
    5
    """

    def __init__(self, schema: object, **settings: Any) -> None:  # noqa: ANN401
        known = [name for name in inspect.signature(synthesize).parameters if name not in ("data", "schema")]
        unknown = sorted(set(settings) - set(known))
        if unknown:
            raise ParameterError(
                f"there is no setting {unknown[0]!r}; Synthesizer takes schema and {', '.join(known)}", code="LW308"
            )
        self.schema = schema
        self.settings = settings

    @private_boundary
    def fit(self, data: object) -> "Synthesizer":
        """Make a release of ``data``, spending the budget, and keep it as ``release_``."""
        self.release_: Release = synthesize(data, self.schema, **self.settings)
        return self

    def sample(
        self, n: int | None = None, *, seed: int | None = None, where: Mapping[str, object] | None = None
    ) -> Any:  # noqa: ANN401
        """Draw rows from the last release; see `Release.sample`.

        Raises
        ------
        ParameterError
            If nothing was fitted yet.
        """
        if not hasattr(self, "release_"):
            raise ParameterError("this Synthesizer has no release yet; call fit(data) first", code="LW318")
        return self.release_.sample(n, seed=seed, where=where)

    @private_boundary
    def fit_sample(self, data: object, n: int | None = None) -> Any:  # noqa: ANN401
        """Fit and draw the released number of rows, or ``n``."""
        return self.fit(data).sample(n)
