"""`Release.plot`: what a released model says of its columns, as a chart to change and to save."""

from collections.abc import Sequence
from typing import Any

from lapwing.on_demand import extra
from lapwing.release.release import Release

__all__ = ["Release", "plot"]


def plot(self: Release, columns: str | Sequence[str] | None = None) -> Any:  # noqa: ANN401 - of altair
    """Draw the rows that the released model expects, from released numbers only.

    Parameters
    ----------
    columns : str or sequence of one or two str, optional
        One column as bars, with lines between which the true numbers of rows lie with 95 % probability each; two as a
        heat map. By default the first six columns, each by itself.

    Returns
    -------
    chart of altair
        To show, change and save, with the look of the report. Notebooks show it as a drawing that fetches no script,
        unless you chose another renderer of altair; once changed, as altair does (``alt.renderers.enable("svg")``).

    Raises
    ------
    ParameterError
        If more than two columns are given.
    SchemaError
        If there is no such column.
    LapwingError
        If ``lapwing[evaluate]`` is not installed.
    """
    return extra("plots").released_plot(self.model, self.schema, self.certificate, self.noisy, columns)


Release.plot = plot
