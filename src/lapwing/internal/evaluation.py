"""What a comparison of a synthetic table with the real one found, and the forms in which it is shown."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lapwing.judge.findings import Findings, findings_record
from lapwing.judge.metrics import Internal
from lapwing.judge.report.compared import compared_sections
from lapwing.judge.report.page import NOTICE, Page, Section, render
from lapwing.judge.report.summary import summary_text
from lapwing.rows.out.outputs import write_whole
from lapwing.schema.schemas import Schema


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Evaluation:
    """Hold how far a synthetic table is from the real one. Internal: computed from private rows without noise.

    Parameters
    ----------
    findings : Findings
        All figures.
    schema : Schema
        Of both tables.
    released : tuple of Section
        What the report says about the release itself, where its model was given; else empty.
    """

    findings: Findings
    schema: Schema
    released: tuple[Section, ...] = ()

    def __repr__(self) -> str:
        return f"Evaluation({NOTICE})"

    def summary(self) -> str:
        """Return the figures on one screen, under the notice that they are internal."""
        return f"{NOTICE}\n\n{summary_text(self.findings)}"

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain JSON values, under the notice that they are internal."""
        return {"notice": NOTICE} | findings_record(self.findings)

    def html(self) -> str:
        """Return the report that `to_html` writes."""
        sections = (*compared_sections(self.findings, self.schema), *self.released)
        return render(Internal(Page(title="Synthetic beside real rows", sections=sections)))

    def to_html(self, path: str | Path) -> None:
        """Write one HTML file that needs no network, with the watermark on screen and on paper.

        Parameters
        ----------
        path : path
            Of the file; it appears whole.

        Raises
        ------
        ParameterError
            If the path is none.
        DataError
            If the file cannot be written.
        LapwingError
            If the extra ``report`` is not installed.
        """
        write_whole(path, self.html())
