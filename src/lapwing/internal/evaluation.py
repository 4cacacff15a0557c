"""What a comparison of a synthetic table with the real one found, and the forms in which it is shown."""

from dataclasses import dataclass
from typing import Any, Final

from lapwing.evaluate.findings import Findings
from lapwing.evaluate.findings_record import findings_record
from lapwing.report.sections import Section
from lapwing.report.summary import summary_text
from lapwing.schema.schemas import Schema

NOTICE: Final = "internal - do not publish"
"""The watermark of everything that compares with real rows."""


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
