"""Lists of categories, from noisy counts of the texts that occur or over a public dictionary."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.questions.category_selection.question import CategorySelection, SelectedTexts
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.room.curator import Curator
from lapwing.release.runs.learned.grids import GAMMA, one_sided_tail
from lapwing.schema.fields import Scalar
from lapwing.schema.groupings.grouping import identity
from lapwing.schema.schemas import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedCategories:
    """Hold what noisy counts say about the categories of one field.

    categories: those that noise alone does not explain: texts by code point, entries of a dictionary in its order;
    prefixes: beginnings into which texts fold that are not listed themselves, by code point; noticed: a value that so
    many rows have is listed with 95 % confidence.
    """

    categories: tuple[Scalar, ...]
    prefixes: tuple[str, ...]
    noticed: int


def learn_categories(
    curator: Curator,
    schema: Schema,
    names: Sequence[str],
    costs: Sequence[Budget],
    deltas: Sequence[Fraction],
    *,
    prefixes: Mapping[str, tuple[int, ...]],
) -> tuple[LearnedCategories, ...]:
    """List the texts that occur often enough, and the beginnings that enough rows with other texts share.

    curator: answers one batch of `CategorySelection`: for each field the whole texts, then each length of a prefix;
    prefixes: lengths in characters, increasing, of fields that have any.

    A prefix is listed where its own noisy count passes those of all that is listed below it by more than noise alone
    would with 5 % for any prefix of the field. Counts that were shown because they are large are too large on
    average, so that this errs towards fewer prefixes.
    """
    for name in names:
        _ = schema.field(name)  # asked for its error about an unknown field, before anything is spent
    asked: list[CategorySelection] = []
    sizes = []
    for name, cost, delta in zip(names, costs, deltas, strict=True):
        wanted = (None, *prefixes.get(name, ()))
        shares = cost.split([Fraction(1)] * len(wanted))
        asked += [
            CategorySelection(column=name, prefix=length, cost=share, delta=delta / len(wanted))
            for length, share in zip(wanted, shares, strict=True)
        ]
        sizes.append(len(wanted))
    answers = iter(curator.ask(*asked))
    return tuple(_learned_list([next(answers) for _ in range(size)]) for size in sizes)


def prune_dictionaries(
    curator: Curator,
    schema: Schema,
    names: Sequence[str],
    costs: Sequence[Budget],
    *,
    prefixes: Mapping[str, tuple[int, ...]],
) -> tuple[LearnedCategories, ...]:
    """Keep the entries of public lists that occur often enough.

    curator: answers one batch of one `MarginalCounts` per field, over its whole list; prefixes: lengths in characters,
    increasing, of fields that have any.

    An entry is kept where its noisy count is above what noise shows on any entry of an unused list with 5 %. Where the
    field has prefixes, longest first, two or more dropped entries fold into one whose noisy counts pass together what
    their noise alone would with 5 % for any prefix of the field.
    """
    answers = curator.ask(
        *(
            MarginalCounts(columns=(name,), groupings=(identity(schema.field(name).domain),), cost=cost)
            for name, cost in zip(names, costs, strict=True)
        )
    )
    found = []
    for name, answer in zip(names, answers, strict=True):
        field = schema.field(name)
        assert field.categories is not None
        counts = dict(zip(field.categories, answer.counts.tolist(), strict=False))
        level = one_sided_tail(answer.noise, 1, GAMMA / len(counts))
        kept = tuple(entry for entry, count in counts.items() if count > level)
        dropped = {str(entry): count for entry, count in counts.items() if count <= level}
        folded = _fold_prefixes(dropped, prefixes.get(name, ()), answer.noise)
        noticed = level + 1 + one_sided_tail(answer.noise, 1, GAMMA)
        found.append(LearnedCategories(categories=kept, prefixes=folded, noticed=noticed))
    return tuple(found)


def _learned_list(answers: Sequence[SelectedTexts]) -> LearnedCategories:
    """Return what the answers of one field show: those to whole texts, then to prefixes that get longer."""
    texts, law = answers[0], answers[0].noise  # all shares are equal, and so are the laws
    tops = dict(zip(texts.texts, texts.counts.tolist(), strict=True))
    tried = sum(len(answer.texts) for answer in answers[1:])
    kept: list[str] = []
    for answer in reversed(answers[1:]):
        below = _by_prefix(tops, answer.question.prefix)
        rest = {
            prefix: count - sum(tops[text] for text in below.get(prefix, ()))
            for prefix, count in zip(answer.texts, answer.counts.tolist(), strict=True)
        }
        levels = {prefix: one_sided_tail(law, 1 + len(below.get(prefix, ())), GAMMA / tried) for prefix in rest}
        shown = [prefix for prefix in answer.texts if rest[prefix] > levels[prefix]]
        # A listed prefix has its own count, which stands for everything below it from now on.
        covered = {text for prefix in shown for text in below.get(prefix, ())}
        sums = {prefix: rest[prefix] + sum(tops[text] for text in below.get(prefix, ())) for prefix in shown}
        tops = {text: count for text, count in tops.items() if text not in covered} | sums
        kept += shown
    noticed = texts.threshold + one_sided_tail(law, 1, GAMMA)
    return LearnedCategories(categories=texts.texts, prefixes=tuple(sorted(kept)), noticed=noticed)


def _fold_prefixes(dropped: Mapping[str, int], lengths: Sequence[int], law: NoiseLaw) -> tuple[str, ...]:
    """Return the prefixes of dropped entries whose counts are together more than noise."""
    tried = sum(len(_by_prefix(dropped, length)) for length in lengths)
    left = dict(dropped)
    kept: list[str] = []
    for length in reversed(lengths):
        shared = {prefix: inside for prefix, inside in _by_prefix(left, length).items() if len(inside) > 1}
        shown = [
            prefix
            for prefix, inside in shared.items()
            if sum(left[text] for text in inside) > one_sided_tail(law, len(inside), GAMMA / tried)
        ]
        covered = {text for prefix in shown for text in shared[prefix]}
        left = {text: count for text, count in left.items() if text not in covered}
        kept += shown
    return tuple(sorted(kept))


def _by_prefix(texts: Collection[str], length: int | None) -> dict[str, list[str]]:
    """Return the texts that begin with each prefix."""
    found: dict[str, list[str]] = {}
    for text in texts:
        found.setdefault(text[:length], []).append(text)
    return found
