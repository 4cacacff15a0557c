"""Black-box cases of every question of the closed set: neighbours on which it loses about all that it claims."""

from lapwing.audit.questions.counts import count_cases
from lapwing.audit.questions.draws import draw_cases
from lapwing.audit.questions.sums import sum_cases
from lapwing.audit.questions.trees import tree_cases
from lapwing.audit.worst_case import QuestionCase

__all__ = ["QuestionCase", "question_cases"]


def question_cases() -> tuple[QuestionCase, ...]:
    """Return all cases: every question, under the relations and rows per unit that it may be asked for.

    Returns in a fixed order, questions of one kind together.

    >>> case = question_cases()[0]
    >>> case.question, case.relation, case.max_rows, case.cost
    ('MarginalCounts', 'add-remove', 1, Budget.pure('2'))
    >>> case.certified(*case.run(300)) <= case.claim
    True
    """
    return (*count_cases(), *tree_cases(), *sum_cases(), *draw_cases())
