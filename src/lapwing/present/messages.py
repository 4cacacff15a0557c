"""The sentences of documents, by key, from one file for each language."""

import tomllib
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final

_FILE: Final = "en.toml"  # of a language
_HERE: Final = Path(__file__).resolve().parent


@cache
def words_in(folder: Path) -> dict[str, Any]:
    """Return all that a folder's file of words holds, table by table."""
    return tomllib.loads((folder / _FILE).read_text(encoding="utf-8"))


def _flat(start: str, tree: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the leaves of a tree with the path to each."""
    for key, value in tree.items():
        yield from _flat(f"{start}{key}.", value) if isinstance(value, dict) else [(f"{start}{key}", value)]


class Words:
    """The sentences of a folder and those of documents, by their dotted keys."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def _known(self) -> dict[str, Any]:
        return {key: each for folder in (_HERE, self._folder) for key, each in _flat("", words_in(folder))}

    def __call__(self, key: str, /, **fields: object) -> str:
        """Return a sentence with its fields filled in.

        >>> say("rows.model", rows=120, source="a public number")
        'The model stands for 120 rows, a public number.'
        """
        return str(self._known[key].format(**fields))

    def listed(self, key: str, /, **fields: object) -> tuple[str, ...]:
        """Return a list of them, such as the heading of a table."""
        return tuple(each.format(**fields) for each in self._known[key])


say: Final = Words(_HERE)
