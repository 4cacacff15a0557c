"""What a shell is offered at TAB. Names are written out here, because a TAB must not wait for NumPy and Polars."""

from collections.abc import Iterable

MECHANISMS = (
    "Adaptive",
    "Independent",
    "PMM",
    "PSMM",
    "Grid",
    "KDTree",
    "Microaggregation",
    "LinearStatistics",
    "PrivateSampling",
)
AUDITED = (*MECHANISMS, "learn", "evaluate", "link")
RELATIONS = ("add-remove", "replace-one")
NOTIONS = ("pure", "zcdp")


def mechanism_names(incomplete: str) -> list[str]:
    """Offer names of mechanisms, in lower case to those who type lower case."""
    return _that_begin(incomplete, MECHANISMS)


def audited_names(incomplete: str) -> list[str]:
    """Offer what `lapwing audit` takes."""
    return _that_begin(incomplete, AUDITED)


def relations(incomplete: str) -> list[str]:
    """Offer the neighbour relations."""
    return _that_begin(incomplete, RELATIONS)


def notions(incomplete: str) -> list[str]:
    """Offer what a ledger counts in."""
    return _that_begin(incomplete, NOTIONS)


def _that_begin(incomplete: str, names: Iterable[str]) -> list[str]:
    """Return the names that begin with a text as they are written or, else, in lower case."""
    cased = (name if name.startswith(incomplete) else name.lower() for name in names)
    return [name for name in cased if name.startswith(incomplete)]
