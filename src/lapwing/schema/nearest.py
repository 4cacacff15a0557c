"""What somebody may have meant by a text that is not listed."""

import difflib
import itertools
from collections.abc import Iterable

_COMPARED = 10_000  # of a longer list, to answer at once


def nearest(text: str, known: Iterable[str]) -> list[str]:
    """Return the known texts nearest to another one, whatever their case: at most three, the nearest first.

    Parameters
    ----------
    text : str
    known : iterable of str
        The first 10,000 are looked at.

    Examples
    --------
    >>> nearest("female", ["Female", "Male", "Unknown"])
    ['Female', 'Male']
    """
    folded = {name.casefold(): name for name in itertools.islice(known, _COMPARED)}
    return [folded[name] for name in difflib.get_close_matches(text.casefold(), folded)]
