"""What a mechanism says about a release before any row is read."""

from dataclasses import dataclass

from lapwing.release.certificate import Statement
from lapwing.release.chosen_table import ChosenTable
from lapwing.release.questions import MarginalCounts
from lapwing.release.select_worst import SelectWorst
from lapwing.release.tree_counts import TreeCounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """Hold the questions of a release and its expected error; a function of public numbers.

    Parameters
    ----------
    questions : tuple of MarginalCounts, TreeCounts, SelectWorst or ChosenTable
        Everything that will be asked, in order; selections without estimates.
    accuracy : tuple of Statement
        What is proved about the expected error. The first one sums the release up in one number.
    """

    questions: tuple[MarginalCounts | TreeCounts | SelectWorst | ChosenTable, ...]
    accuracy: tuple[Statement, ...]
