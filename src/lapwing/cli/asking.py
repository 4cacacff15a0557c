"""Questions in a terminal, asked until there is an answer."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NoReturn, TypeVar

import typer

from lapwing.errors import visible

T = TypeVar("T")

_GUIDED: ContextVar[bool] = ContextVar("guided", default=False)


@contextmanager
def guiding() -> Iterator[None]:
    """Run commands of which the next one follows by itself."""
    before = _GUIDED.set(True)
    try:
        yield
    finally:
        _GUIDED.reset(before)


def is_guided() -> bool:
    """Tell whether the next command follows by itself: whoever is told to run it would pay twice."""
    return _GUIDED.get()


class _Wrong(Exception):
    """An answer that is none; its text says what would be one."""


def wrong(said: str) -> NoReturn:
    """Say that an answer is none, and what would be one."""
    raise _Wrong(said)


def ask_until_answered(question: str, default: str | None, read: Callable[[str], T], help_text: str = "") -> T:
    """Ask until there is an answer."""
    while True:
        # Enter alone is an answer too, so that what would be one is said.
        text = str(typer.prompt(visible(question), default=default or "", show_default=default is not None)).strip()
        if text == "?" and help_text:
            tell(f"  {help_text}")
            continue
        try:
            return read(text)
        except _Wrong as error:
            tell(f"  {error}")


def number(text: str) -> float:
    """Return a number from 0 up."""
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    return found if found >= 0 else wrong("write a number from 0 up, such as 1")


def above_zero(text: str) -> float:
    """Return a number above 0."""
    return number(text) or wrong("write a number above 0, such as 1e-9")


def positive(text: str) -> int:
    """Return a whole number from 1 up."""
    return int(text) if text.isdecimal() and int(text) > 0 else wrong("write a whole number from 1 up")


def tell(text: str) -> None:
    """Print a line beside the answers, on stderr."""
    print(text, file=sys.stderr)
