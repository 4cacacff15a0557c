"""The sentences of documents, by key, from one file for each language."""

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

from lapwing.present.document import Fact

LANGUAGE: Final = "en"


@cache
def _messages(language: str) -> dict[str, str]:
    """Return all sentences of a language by their dotted keys."""
    text = Path(__file__).with_name(f"{language}.toml").read_text(encoding="utf-8")
    return dict(_flat("", tomllib.loads(text)))


def _flat(start: str, tree: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the leaves of a tree with the path to each."""
    return [
        leaf
        for key, value in tree.items()
        for leaf in (_flat(f"{start}{key}.", value) if isinstance(value, dict) else [(f"{start}{key}", value)])
    ]


def say(key: str, /, **fields: object) -> str:
    """Return a sentence with its fields filled in.

    >>> say("rows.model", rows=120, source="a public number")
    'The model stands for 120 rows, a public number.'
    """
    return _messages(LANGUAGE)[key].format(**fields)


def labelled(**said: str) -> Iterator[Fact]:
    """Yield facts by their keys, each under its label, those of which there is something to say.

    >>> [fact.line for fact in labelled(cost="epsilon 1.", weight="")]
    ['Cost: epsilon 1.']
    """
    return (Fact(key, say(f"label.{key}"), text) for key, text in said.items() if text)
