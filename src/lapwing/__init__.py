"""Differentially private synthetic data with exact noise, a ledger and a certificate.

>>> import lapwing as lw
>>> lw.Independent().groups
128
"""

from typing import TYPE_CHECKING, Any

from lapwing.errors import (
    BudgetError,
    CapacityError,
    DataError,
    LapwingError,
    LapwingWarning,
    ParameterError,
    SchemaError,
)
from lapwing.on_demand import PATHS, extra
from lapwing.version import VERSION

if TYPE_CHECKING:  # what `__getattr__` finds, for checkers of types and for editors
    from lapwing.api.front import (
        PMM,
        PSMM,
        Adaptive,
        AnonymousTable,
        Grid,
        Independent,
        KDTree,
        LinearStatistics,
        LinkedPlan,
        LinkedRelease,
        LinkedSchema,
        Microaggregation,
        Plan,
        PrivateSampling,
        PublicTable,
        Query,
        Release,
        Schema,
        Synthesizer,
        Trusted,
        anonymize,
        between,
        covariance,
        load,
        load_linked,
        plan,
        resume,
        row_function,
        stat,
        synthesize,
        synthesize_linked,
    )
    from lapwing.extras.evaluate.verb import evaluate

__all__ = [  # noqa: RUF022 - sorted as Python sorts
    "Adaptive",
    "AnonymousTable",
    "BudgetError",
    "CapacityError",
    "DataError",
    "Grid",
    "Independent",
    "KDTree",
    "LapwingError",
    "LapwingWarning",
    "LinearStatistics",
    "LinkedPlan",
    "LinkedRelease",
    "LinkedSchema",
    "Microaggregation",
    "PMM",
    "PSMM",
    "ParameterError",
    "Plan",
    "PrivateSampling",
    "PublicTable",
    "Query",
    "Release",
    "Schema",
    "SchemaError",
    "Synthesizer",
    "Trusted",
    "anonymize",
    "between",
    "covariance",
    "evaluate",
    "load",
    "load_linked",
    "plan",
    "resume",
    "row_function",
    "stat",
    "synthesize",
    "synthesize_linked",
]

__version__ = VERSION

if not TYPE_CHECKING:  # a checker would take every name that is misspelt for one that is found here

    def __getattr__(name: str) -> Any:  # noqa: ANN401
        """Load the front door when it is first used, so that ``import lapwing`` takes no time."""
        if name not in __all__:
            raise AttributeError(f"module 'lapwing' has no attribute {name!r}")
        if name in PATHS:
            return extra(name)
        from lapwing.api import front  # noqa: PLC0415

        return getattr(front, name)


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
