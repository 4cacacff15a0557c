"""How one kind of question is audited: what each file of `lapwing.audit.questions` ends in."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from lapwing.audit.held import PlaybackBits, Rows
from lapwing.audit.worst_case import QuestionCase
from lapwing.kernel.questions.private_draw.question import DrawnRows
from lapwing.kernel.questions.select_worst.question import Selected
from lapwing.kernel.terms import Terms
from lapwing.schema.schemas import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Recheck:
    """How one kind of question is audited, by code that shares nothing with the room's.

    cases: yields what is asked many times of two neighbours (`lapwing.audit.worst_case`); recount: returns what an
    answer is about; flags: draws an answer again from recorded words, and loss: what it loses between two tables; both
    None for noisy tables, whose noise is drawn and whose losses are added up in one way; loss_flags: what else may be
    wrong between two tables.
    """

    cases: Callable[[], Iterable[QuestionCase]]
    recount: Callable[[Any, Rows, Schema], list[Any]]
    flags: Callable[[Any, Any, Terms, PlaybackBits], list[str]] | None = None
    loss: Callable[[Any, Any, Any], Fraction] | None = None
    loss_flags: Callable[[Any, Any, Any], list[str]] | None = None


def loss_told(answer: Selected | DrawnRows, first: np.ndarray, second: np.ndarray) -> Fraction:
    """Return the loss that an answer itself tells."""
    return answer.privacy_loss(first, second)
