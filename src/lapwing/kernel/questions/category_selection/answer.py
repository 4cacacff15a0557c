"""Answer `CategorySelection`: noisy counts of the texts that occur, those below a public threshold left out.

Proof: ``proof.md``.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from lapwing.kernel.noise.bits import BitSource
from lapwing.kernel.questions.answering import PrivateRows, noise_of
from lapwing.kernel.questions.category_selection.question import CategorySelection, SelectedTexts, can_be_listed
from lapwing.kernel.terms import Terms
from lapwing.rows.counting import CodedSource


def answer_category_selection(
    questions: Sequence[CategorySelection], rows: PrivateRows, terms: Terms, bits: BitSource
) -> tuple[SelectedTexts, ...]:
    """Count the texts of each column, add fresh noise to every count, and keep what reaches the threshold.

    Guarantee: each answer is ε-DP (discrete Laplace) or ρ-zCDP (discrete Gaussian) at its question's cost except with
    probability at most its ``delta``, for add-remove and replace-one neighbours with ``terms.max_rows`` rows per unit.
    One pass over the rows per column; memory is proportional to its distinct texts.
    """
    counts = {column: exact_texts(column, rows.source) for column in dict.fromkeys(each.column for each in questions)}
    missing = {column: rows.schema.field(column).missing_values for column in counts}
    exact = [listable_counts(each, counts[each.column], missing[each.column]) for each in questions]
    return tuple(_select(question, texts, terms, bits) for question, texts in zip(questions, exact, strict=True))


def exact_texts(column: str, source: CodedSource) -> Counter[str]:
    """Return how many rows hold each text.

    Guarantee: none, the counts are exact; `answer_category_selection` adds the noise before anything leaves the room.
    """
    counts: Counter[str] = Counter()
    for texts in source.texts(column):
        counts.update(dict(texts.drop_nulls().alias("text").value_counts().rows()))  # [text]
    return counts


def listable_counts(question: CategorySelection, texts: Mapping[str, int], missing: Collection[str]) -> dict[str, int]:
    """Return the rows of each text, or prefix, that may be listed, by code point."""
    counts: Counter[str] = Counter()
    for text, rows in texts.items():
        counts[text[: question.prefix]] += rows  # [prefix]
    return {text: counts[text] for text in sorted(counts) if can_be_listed(text) and text not in missing}  # [public]


def _select(question: CategorySelection, exact: Mapping[str, int], terms: Terms, bits: BitSource) -> SelectedTexts:
    """Add one independent noise value to each count, and show the largest of those that reach the threshold."""
    law = question.noise(terms.relation, terms.max_rows)  # [law]
    threshold = question.threshold(terms.relation, terms.max_rows)  # [threshold]
    names = list(exact)
    noisy = np.array(list(exact.values()), dtype=np.int64) + noise_of(law, len(names), bits)  # [noise]
    kept = np.flatnonzero(noisy >= threshold)  # [keep]
    largest = kept[np.argsort(-noisy[kept], kind="stable")[: question.most]]  # [most]
    shown = np.sort(largest).tolist()
    return SelectedTexts(question, tuple(names[place] for place in shown), noisy[shown], law, threshold)
