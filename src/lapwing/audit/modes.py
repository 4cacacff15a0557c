"""Where record and replay looks: as releases usually run, where words are unlikely, and where tables are cramped."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """How one pair is run.

    Parameters
    ----------
    has_unlikely_words : bool, default False
        Whether a quarter of the secret words is near 0 or near the largest (`lapwing.audit.bits.UnlikelyBits`).
    chunk_rows : int, at least 1, optional
        Tables are read in chunks of so many rows and not kept in memory, as only very large ones are otherwise.
    """

    has_unlikely_words: bool = False
    chunk_rows: int | None = None


USUAL: Final = Mode()
UNLIKELY_WORDS: Final = Mode(has_unlikely_words=True)
CRAMPED_TABLES: Final = Mode(chunk_rows=4)

MODES: Final = (USUAL, UNLIKELY_WORDS, CRAMPED_TABLES)


def mode_of(number: int) -> Mode:
    """Return the mode of one of many pairs, a third of them each.

    Parameters
    ----------
    number : int, at least 0
        Of the pair. What else alternates with the number, by twos, fours or sixes, meets every mode.

    Examples
    --------
    >>> [MODES.index(mode_of(number)) for number in range(12)]
    [0, 1, 2, 0, 1, 2, 1, 2, 0, 1, 2, 0]
    """
    return MODES[(number + number // 6) % len(MODES)]
