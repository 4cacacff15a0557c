"""What a mechanism says about a release before any row is read."""

from dataclasses import dataclass

from lapwing.kernel.questions.questions import Question
from lapwing.model.certificate.certificate import Statement
from lapwing.model.certificate.cost_lines import ChosenTable

PlannedQuestion = Question | ChosenTable
"""What a plan knows will be asked; of tables that earlier answers choose, only the cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """Hold the questions of a release and its expected error; a function of public numbers.

    questions: everything that will be asked, in order; selections without estimates, the leaves of a tree that is not
    yet split for those of the split one; accuracy: what is proved about the expected error. The first one sums the
    release up in one number; notes: sentences for whoever reads the plan.
    """

    questions: tuple[PlannedQuestion, ...]
    accuracy: tuple[Statement, ...]
    notes: tuple[str, ...] = ()
