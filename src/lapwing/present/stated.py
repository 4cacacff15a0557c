"""Codes and their fields as sentences."""

from collections.abc import Iterator, Mapping
from typing import Final

from lapwing.model.certificate.promise import some_of
from lapwing.model.certificate.statements import Statement
from lapwing.present.document import Fact, count_text, percent, upper_first
from lapwing.present.messages import say

_SMALL: Final = 1e-6
_WHOLE: Final = 1e9


class _Count(int):
    """A number of things, whose format may be their name: ``{tables:noisy table}``."""

    def __format__(self, what: str) -> str:
        return count_text(self, what) if what[:1].isalpha() else super().__format__(what)


class _Code(str):
    """A text, whose format may be the messages that have words for it: ``{word:verdict.word}``."""

    __slots__ = ()

    def __format__(self, what: str) -> str:
        return say(f"{what}.{self}") if what else str(self)


class _Share(float):
    """A number from 0 to 1, in whole ``{share:percent}``, or in all of its digits, as ``{confidence:exactly}``."""

    def __format__(self, form: str) -> str:
        if form == "exactly":
            return f"{100 * self:.10g} %"
        return percent(self, 0) if form == "percent" else super().__format__(form)


def statement_text(found: Statement) -> str:
    """Return a statement as a sentence.

    >>> statement_text(Statement("number_of_rows", 40.0, {"rows": 1000, "confidence": 0.95}))
    'With 95 % probability, the released number of rows, 1000, is within 40 of the true number of rows used.'
    """
    return f"{upper_first(clause(found))}."


def clause(found: Statement) -> str:
    """Return the same without a capital and a full stop, as it stands behind a label."""
    figure, own = "" if found.value is None else _figure(found.value), None
    if "farthest" in found.fields:  # a share of the largest distance, in the unit of its metric too
        own = (found.value or 0.0) * float(found.fields["farthest"])
    said = fill_sentence(f"stated.{found.code}.text", found.fields, figure=figure, own=own)
    if found.moved is None:
        return said
    key = "before" if not found.form.is_widened else "widened" if (found.value or 0.0) < 1.0 else "drowned"
    return said + say(f"stated.{key}", moved=found.moved)


def label_of(found: Statement) -> str:
    """Return what a statement is about, in a few words.

    >>> label_of(Statement("fit", 0.01))
    'fit'
    """
    return fill_sentence(f"stated.{found.code}.label", found.fields)


def label_facts(**said: str) -> Iterator[Fact]:
    """Yield facts by their keys, each under its label, those of which there is something to say.

    >>> [fact.line for fact in label_facts(cost="epsilon 1.", weight="")]
    ['Cost: epsilon 1.']
    """
    return (Fact(key, say(f"label.{key}"), text) for key, text in said.items() if text)


def fill_sentence(key: str, fields: Mapping[str, object], **more: object) -> str:
    """Return a sentence with its fields: of names the first ones, of lists how many values they have."""
    return say(key, **{name: _field_text(each) for name, each in fields.items()}, **more)


def _field_text(value: object) -> object:
    """Return a field as it stands in a sentence."""
    if isinstance(value, Mapping):
        return ", ".join(
            name if size is None else say("origin.list", name=name, size=size) for name, size in value.items()
        )
    if isinstance(value, tuple):
        return some_of(value)
    for kind, form in ((int, _Count), (float, _Share), (str, _Code)):
        if isinstance(value, kind):
            return form(value)
    return value


def _figure(value: float) -> str:
    """Return a figure as text."""
    if value and abs(value) < _SMALL:
        return f"less than {_SMALL:g}"
    return f"{value:.0f}" if float(value).is_integer() and abs(value) < _WHOLE else f"{value:.4g}"
