"""What a mechanism says about a release before any row is read."""

from dataclasses import dataclass

from lapwing.errors import ParameterError
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
    release up in one number, and there is one; notes: sentences for whoever reads the plan.
    """

    questions: tuple[PlannedQuestion, ...]
    accuracy: tuple[Statement, ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.accuracy or self.accuracy[0].value is None:
            raise ParameterError(
                "the accuracy of a mechanism's plan must begin with a statement that has a value, got none; "
                'state what is known, such as Statement(kind="expected error", text=..., value=...)',
                code="LW304",
            )
