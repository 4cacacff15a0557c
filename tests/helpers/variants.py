"""Every mechanism with every choice that its settings name, found from the types of its settings."""

import dataclasses
import itertools
from typing import Literal, get_args, get_origin, get_type_hints

from lapwing.errors import ParameterError
from lapwing.mechanisms.registry import MECHANISMS

FLAGS = {"fields": [{"name": name, "type": "boolean", "constraints": {"required": True}} for name in "abcdef"]}
NUMBER = {"type": "number", "constraints": {"minimum": 0, "maximum": 1, "required": True}}
PLACES = {"fields": [{"name": "x", **NUMBER}, {"name": "y", **NUMBER}]}
MIXED = {
    "fields": [
        {"name": "kind", "type": "string", "categories": ["a", "b", "c"]},
        {"name": "size", "type": "number", "constraints": {"minimum": -1, "maximum": 1}, "special": [99]},
        {"name": "a", "type": "boolean", "constraints": {"required": True}},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 30, "required": True}},
    ]
}
SCHEMAS = {"flags": FLAGS, "places": PLACES, "mixed": MIXED}


def words(hint):
    """Return the words among which a setting chooses; truth values are two."""
    if hint is bool:
        return (False, True)
    if get_origin(hint) is Literal:
        return get_args(hint)
    return tuple(itertools.chain.from_iterable(map(words, get_args(hint))))


def choices(kind):
    """Return the settings of a mechanism that choose among words, each with these."""
    hints = get_type_hints(kind)
    found = {field.name: words(hints[field.name]) for field in dataclasses.fields(kind)}
    return {name: each for name, each in found.items() if each}


def _made(settings, **changed):
    try:
        return dataclasses.replace(settings, **changed)
    except ParameterError:
        return None


LINE = ((0, 1, 2), (1, 0, 1), (2, 1, 0))
METRICS = (("euclidean", "x", "y"), ("hierarchy", "kind"), ("distances", "kind", ("a", "b", "c"), LINE))


def variants():
    """Yield settings of all mechanisms: small ones, with one choice each; with a second where it needs one."""
    for metric, variant in itertools.product(METRICS, ("default", "paper")):
        yield MECHANISMS["pmm"](depth=3, metric=metric, variant=variant)
    for kind in MECHANISMS.values():
        small, named = kind.small(), choices(kind)
        yield small
        for name, word in [(name, word) for name, each in named.items() for word in each]:
            if word == getattr(small, name):
                continue
            alone = _made(small, **{name: word})
            others = [(other, each) for other in named if other != name for each in named[other]]
            beside = [{}, *({other: each} for other, each in others)]
            tried = (_made(base, **{name: word}, **more) for base in (small, kind()) for more in beside)
            found = alone or next((each for each in tried if each is not None), None)
            assert found is not None, f"{kind.__name__}({name}={word!r}) cannot be made with any other choice"
            yield found
