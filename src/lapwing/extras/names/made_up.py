"""What synthetic rows get in identifiers instead of fresh numbers: each value is a function of the seed and its row."""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, Final

from lapwing.errors import LapwingError
from lapwing.schema.fields import MadeUp
from lapwing.version import install_command

# E-mails are at names of example, and phones at numbers of 555-01, which are kept free of owners.
_MAKERS: Final[dict[MadeUp, Callable[[Any], str]]] = {
    "name": lambda faker: f"{faker.first_name()} {faker.last_name()}",  # its own have a title as often as none
    "first name": lambda faker: faker.first_name(),
    "last name": lambda faker: faker.last_name(),
    "e-mail": lambda faker: faker.safe_email(),
    "phone": lambda faker: faker.numerify("(%##) 555-01##"),
    "address": lambda faker: faker.address().replace("\n", ", "),
    "company": lambda faker: faker.company(),
}
_FIRST: Final = 10**13
_RECORDS: Final = 9 * _FIRST  # of as many digits; more than rows may be
_STEP: Final = 31_415_926_535_897  # no factor in common with it, so that no number comes twice


def names_library() -> Any:  # noqa: ANN401 - its methods are named by a table
    """Return Faker, imported when first needed."""
    try:
        import faker  # noqa: PLC0415 - an extra
    except ImportError:
        pass
    else:
        return faker
    said = f"made-up names need faker, which is not installed; run {install_command('names')}"
    raise LapwingError(said, code="LW701")


def made_up(what: MadeUp, numbers: Sequence[int], seed: str) -> list[str] | list[int]:
    """Return a value for the row of each number; record numbers have 14 digits, and are not those of other rows.

    >>> [len(str(value)) for value in made_up("record number", [1, 2], "any seed")]
    [14, 14]
    """
    if what == "record number":
        start = int.from_bytes(hashlib.sha256(seed.encode()).digest())
        return [_FIRST + (start + number * _STEP) % _RECORDS for number in numbers]
    # Weighed by their frequency, names would take five times as long.
    faker = names_library().Faker("en_US", use_weighting=False)
    found = []
    for number in numbers:
        faker.seed_instance(f"{seed} {number}")
        found.append(_MAKERS[what](faker))
    return found
