"""What a mechanism says about a release before any row is read."""

from dataclasses import dataclass

from lapwing.release.certificate import Statement
from lapwing.release.questions import MarginalCounts
from lapwing.release.tree_counts import TreeCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """Hold the questions of a release and its expected error; a function of public numbers.

    Parameters
    ----------
    questions : tuple of MarginalCounts or TreeCounts
        Everything that will be asked, in order.
    accuracy : tuple of Statement
        What is proved about the expected error. The first one sums the release up in one number.
    """

    questions: tuple[MarginalCounts | TreeCounts, ...]
    accuracy: tuple[Statement, ...]
