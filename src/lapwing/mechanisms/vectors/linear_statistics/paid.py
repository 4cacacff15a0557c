"""What the answers that place the points say about the table: more statistics for the fit, each with its own noise."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lapwing.kernel.questions.cell_sums.question import CellSums, NoisySums
from lapwing.kernel.questions.marginal_counts.question import NoisyCounts
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.room.curator import Curator
from lapwing.kernel.terms import Terms

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MOST_PRODUCTS: Final = 2**24  # most entries of the matrix of products; more would take longer than they are worth


class NotingCurator:
    """Pass questions on to a curator, and keep the answers.

    Guarantee: that of the curator; answers are public.
    """

    def __init__(self, curator: Curator) -> None:
        self._curator = curator
        self.answers: list[Answer] = []

    @property
    def terms(self) -> Terms:
        """The public terms."""
        return self._curator.terms

    def ask(self, *questions: Any) -> Any:  # noqa: ANN401 - `Curator.ask` says what is answered by what
        """Return the answers of the curator."""
        found = self._curator.ask(*questions)
        self.answers += found
        return found


def paid_statistics(
    answers: Sequence[Answer], points: Mapping[str, np.ndarray], rows: float, sd: float
) -> "tuple[csr_array, np.ndarray] | None":
    """Return the statistics of the answers on the points, and their noisy means; None where there are none.

    rows: the number of rows, at least 1; sd: the noise, in records, that a statistic of weight 1 has. Returns matrix
    (q, m) and targets (q,), both divided by how much larger the noise of each statistic is: in a sum of squared errors
    they weigh by their precision. Sums inside cells of the data's directions are left out: they are not linear.
    """
    from scipy.sparse import csr_array, vstack  # noqa: PLC0415 - scipy is imported lazily

    count = len(next(iter(points.values())))
    parts, targets = [], []
    for answer in answers:
        match answer:
            case NoisyCounts() if answer.question.columns:
                values = [
                    each.apply(points[name])
                    for name, each in zip(answer.question.columns, answer.question.groupings, strict=True)
                ]
                place = np.ravel_multi_index(tuple(values), answer.counts.shape)
                shape = (answer.counts.size, count)
                found = csr_array((np.ones(count), (place, np.arange(count))), shape=shape)
                means = answer.counts.ravel() / rows
            case NoisySums(question=CellSums(projection=None, summed="vectors") as question):
                found = csr_array(question.coordinates.vectors(points).T / question.coordinates.unit)
                means = answer.values.ravel() / question.scale / rows
            case NoisySums(question=SecondMoment() as question) if answer.values.size * count <= MOST_PRODUCTS:
                vectors = question.coordinates.vectors(points) / question.coordinates.unit
                first, second = question.pairs
                found = csr_array((vectors[:, first] * vectors[:, second]).T)
                means = answer.values / question.scale / rows
            case _:
                continue
        weight = sd / max(answer.tables[0].sd, sd / 8)
        parts.append(found * weight)
        targets.append(means * weight)
    return (csr_array(vstack(parts, format="csr")), np.concatenate(targets)) if parts else None
