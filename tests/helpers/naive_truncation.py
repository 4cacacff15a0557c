"""Which rows of a unit stay, by the rule's own words, in plain Python."""

from collections import Counter
from hashlib import blake2b


def splitmix(word):
    """Return the next number of the generator splitmix64 from a state."""
    word = (word + 0x9E3779B97F4A7C15) % 2**64
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    word = (word ^ word >> 27) * 0x94D049BB133111EB % 2**64
    return word ^ word >> 31


def hash_of_unit(name):
    """Return the hash of an identifier: a whole number, a text, or None."""
    if name is None:
        return 0
    if isinstance(name, int):
        return splitmix(name % 2**64)
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big")


def kept_of_unit(name, rows, max_rows, bits=64):
    """Return the rows of one unit that stay.

    Parameters
    ----------
    name : int, str or None
        The unit.
    rows : list of tuple of int
        Its rows in codes, in any order.
    max_rows : int
    bits : int
        Of the hash of what a row says; with few of them rows that say other things have one hash.
    """
    ranked, before = [], Counter()
    for row in sorted(rows):
        said = 0
        for code in row:
            said = splitmix(said + code)
        own = splitmix(said % 2**bits + hash_of_unit(name))
        ranked.append((splitmix(own + before[own]), row))
        before[own] += 1
    return [row for _, row in sorted(ranked)[:max_rows]]
