"""What the columns of a table without a schema are, from noisy counts of the public forms of their cells."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from lapwing.kernel.questions.marginal_counts.question import NoisyCounts
from lapwing.schema.fields import Field
from lapwing.schema.forms import CODE, DATES, FORMS, MOMENTS, NUMBERS, PAIRS, STEPS, TEXT, TRUTH, WHOLE, Writing
from lapwing.schema.reading import Reading

_SEEN: Final = 4  # standard deviations: noise hardly shows a form among so many that no cell has
_SURE: Final = 2  # and on each of those that are seen
_ODD: Final = 1 / 10  # the share of cells that may be of other forms where all are taken for one
_RARE: Final = 1 / 100  # and the one that noise has to leave possible where others would be lost or rounded
_FEW: Final = 1 / 20  # the share of cells that may be without a value, for all that noise says, where all have one


def form_field(name: str) -> Field:
    """Return the field by which the cells of a column are read as their forms."""
    return Field(name=name, type="string", categories=tuple(FORMS), reading=Reading(as_form=True))


@dataclass(frozen=True, slots=True)
class SeenForms:
    """Hold the forms of a column of which noisy counts show any cells, and how far sums of them may be off.

    Texts, beside which all others are told, count as they are. is_empty: whether they show cells without a value, and
    no others; is_full: whether they show none of these, of which there are few then.
    """

    counts: Mapping[str, int]
    noise: float
    is_empty: bool
    is_full: bool

    @classmethod
    def of(cls, answer: NoisyCounts) -> "SeenForms":
        """Take for nothing what noise explains."""
        sd = answer.noise.sd
        noisy = dict(zip((*FORMS, ""), map(int, answer.counts), strict=True))  # the last are cells without a value
        seen = {form: count for form, count in noisy.items() if count > _SEEN * sd}
        missing = seen.pop("", 0)
        noise = _SURE * sd * math.sqrt(max(1, len(seen)))
        counts = {TEXT: max(0, noisy[TEXT]), **seen}
        is_full = not missing and _SEEN * sd <= _FEW * sum(counts.values())
        return cls(counts, noise, bool(missing) and not seen, is_full)

    def sum(self, forms: Iterable[str]) -> int:
        """Return how many cells are of some forms."""
        return sum(self.counts.get(form, 0) for form in forms)

    def are_mostly(self, forms: Iterable[str]) -> bool:
        """Tell whether most cells are surely of some forms, and perhaps nearly all."""
        total, fit = self.sum(FORMS), self.sum(forms)
        return fit > total - fit + self.noise and total - fit - self.noise <= _ODD * total

    def are_all(self, forms: Iterable[str]) -> bool:
        """Tell whether noise shows nothing beside some forms, of which there is little then."""
        return self.is_full and self.sum(FORMS) - self.sum(forms) <= self.noise

    def are_nearly_all(self, forms: Iterable[str], of: Iterable[str] = FORMS) -> bool:
        """Tell whether nearly all cells, or those of some forms, are surely of fewer forms, and perhaps all."""
        total = self.sum(of)
        other = total - self.sum(forms)
        return other + self.noise <= _ODD * total and other - self.noise <= _RARE * total


def column_of(name: str, kind: str, seen: SeenForms, *, has_commas: bool, has_texts: bool) -> Field | None:
    """Return a column as its forms show it, its bounds or list still blank; None where it is left out.

    kind: number or datetime where that is known, or text; has_commas: whether numbers of a table rather have decimal
    commas, which tells 1.832 from 1,832; has_texts: whether lists of texts are learned.
    """
    found = Field(name=name, type="string") if has_texts else None
    own: Iterable[str] = FORMS
    pairs = {form: pair for form, pair in PAIRS.items() if seen.are_nearly_all([form])}
    writing = _writing(kind, seen, has_commas=has_commas)
    if writing is not None:
        found, own = _ranged(name, writing, seen), writing.steps
    elif seen.are_nearly_all([TRUTH]):
        found, own = Field(name=name, type="boolean"), [TRUTH]
    elif pairs:
        found, own = Field(name=name, type="string", categories=next(iter(pairs.values()))), pairs
    return None if found is None else replace(found, required=seen.are_all(own), provenance="dp")


def _writing(kind: str, seen: SeenForms, *, has_commas: bool) -> Writing | None:
    """Return how a column's numbers or dates are written, if it has any; one of codes has none."""
    if kind == "number":
        return NUMBERS[0]
    if kind == "datetime":
        return MOMENTS
    is_of_codes = seen.sum([CODE]) > _RARE * seen.sum(FORMS)
    return None if is_of_codes else _numbers(seen, has_commas=has_commas) or _dates(seen)


def _numbers(seen: SeenForms, *, has_commas: bool) -> Writing | None:
    """Return how a column's numbers are written, if it has any: of equal ways as the rest of the table rather is."""
    ways = sorted(NUMBERS, key=lambda each: (each.reading.decimal_char == ",") != has_commas)
    best = max(ways, key=lambda each: seen.sum(each.steps))
    if not seen.are_mostly(best.steps):
        return None
    return NUMBERS[0] if seen.sum(best.steps) == seen.sum([WHOLE]) else best


def _dates(seen: SeenForms) -> Writing | None:
    """Return how a column's dates are written, if it has any; None where days may come first as well as months."""
    found = [each for each in DATES if seen.are_mostly(each.steps)]
    if sum(each in DATES[-2:] for each in found) > 1:
        return None
    return max(found, key=lambda each: seen.sum(each.steps), default=None)


def _ranged(name: str, writing: Writing, seen: SeenForms) -> Field:
    """Return a column of numbers or dates, with the coarsest step that hardly any cell needs finer.

    Where noise alone leaves finer numbers possible, those between steps are rounded: integers would lose them.
    """
    steps = [each for each in STEPS if each in writing.steps.values()]
    enough = (each for each in steps if seen.are_nearly_all(_within(writing, each), of=writing.steps))
    step = next(enough, None)
    if step == 0 and writing.type == "number":
        return Field(name=name, type="integer", reading=writing.reading)
    if step is None and writing.type == "number" and seen.sum(writing.steps):
        shown = (each for each in steps if seen.sum(_within(writing, each)) == seen.sum(writing.steps))
        step = next(shown, None)
    resolution = float(f"1e-{step}") if isinstance(step, int) else step if writing.type == "datetime" else None
    return Field(name=name, type=writing.type, resolution=resolution, reading=writing.reading)


def _within(writing: Writing, step: int | str) -> list[str]:
    """Return the forms that need no finer step."""
    coarse = STEPS[: STEPS.index(step) + 1]
    return [form for form, needed in writing.steps.items() if needed in coarse]
