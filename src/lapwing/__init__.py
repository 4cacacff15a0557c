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
from lapwing.on_demand import load_object
from lapwing.version import VERSION

if TYPE_CHECKING:  # what `__getattr__` finds, for checkers of types and for editors
    from lapwing import theorems
    from lapwing.anonymous.table import AnonymousTable
    from lapwing.api.anonymize import anonymize
    from lapwing.api.plan import plan
    from lapwing.api.schemas import Schema
    from lapwing.api.synthesize import resume, synthesize
    from lapwing.api.synthesizer import Synthesizer
    from lapwing.extras.evaluate.verb import evaluate
    from lapwing.mechanisms.adaptive.mechanism import Adaptive
    from lapwing.mechanisms.independent.mechanism import Independent
    from lapwing.mechanisms.private_sampling.mechanism import PrivateSampling
    from lapwing.mechanisms.registry import Trusted
    from lapwing.mechanisms.shared.base import Mechanism
    from lapwing.mechanisms.tables.mechanism import Tables
    from lapwing.mechanisms.trees.kd_tree.mechanism import Grid, KDTree
    from lapwing.mechanisms.trees.pmm.mechanism import PMM
    from lapwing.mechanisms.trees.psmm.mechanism import PSMM
    from lapwing.mechanisms.vectors.linear_statistics.mechanism import LinearStatistics
    from lapwing.mechanisms.vectors.microaggregation.mechanism import Microaggregation
    from lapwing.model.statistics.expressions import row_function, stat
    from lapwing.release.covariance import covariance
    from lapwing.release.fixed_tables import tables
    from lapwing.release.from_tables import estimate, rows_from_tables
    from lapwing.release.loading import load
    from lapwing.release.plans import Plan
    from lapwing.release.release import Release
    from lapwing.release.runs.public_tables import PublicTable
    from lapwing.rows.elsewhere import Query
    from lapwing.schema.conditions import Between as between  # noqa: N813

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
    "Mechanism",
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
    "Tables",
    "Trusted",
    "anonymize",
    "between",
    "covariance",
    "estimate",
    "evaluate",
    "load",
    "plan",
    "resume",
    "row_function",
    "rows_from_tables",
    "stat",
    "synthesize",
    "tables",
    "theorems",
]

__version__ = VERSION

_HOMES = {
    "Adaptive": "lapwing.mechanisms.adaptive.mechanism:Adaptive",
    "AnonymousTable": "lapwing.anonymous.table:AnonymousTable",
    "Grid": "lapwing.mechanisms.trees.kd_tree.mechanism:Grid",
    "Independent": "lapwing.mechanisms.independent.mechanism:Independent",
    "KDTree": "lapwing.mechanisms.trees.kd_tree.mechanism:KDTree",
    "LinearStatistics": "lapwing.mechanisms.vectors.linear_statistics.mechanism:LinearStatistics",
    "Mechanism": "lapwing.mechanisms.shared.base:Mechanism",
    "Microaggregation": "lapwing.mechanisms.vectors.microaggregation.mechanism:Microaggregation",
    "PMM": "lapwing.mechanisms.trees.pmm.mechanism:PMM",
    "PSMM": "lapwing.mechanisms.trees.psmm.mechanism:PSMM",
    "Plan": "lapwing.release.plans:Plan",
    "PrivateSampling": "lapwing.mechanisms.private_sampling.mechanism:PrivateSampling",
    "PublicTable": "lapwing.release.runs.public_tables:PublicTable",
    "Query": "lapwing.rows.elsewhere:Query",
    "Release": "lapwing.release.release:Release",
    "Schema": "lapwing.api.schemas:Schema",
    "Synthesizer": "lapwing.api.synthesizer:Synthesizer",
    "Tables": "lapwing.mechanisms.tables.mechanism:Tables",
    "Trusted": "lapwing.mechanisms.registry:Trusted",
    "anonymize": "lapwing.api.anonymize:anonymize",
    "between": "lapwing.schema.conditions:Between",
    "covariance": "lapwing.release.covariance:covariance",
    "estimate": "lapwing.release.from_tables:estimate",
    "evaluate": "lapwing.extras.evaluate.verb:evaluate",
    "load": "lapwing.release.loading:load",
    "plan": "lapwing.api.plan:plan",
    "resume": "lapwing.api.synthesize:resume",
    "rows_from_tables": "lapwing.release.from_tables:rows_from_tables",
    "row_function": "lapwing.model.statistics.expressions:row_function",
    "stat": "lapwing.model.statistics.expressions:stat",
    "synthesize": "lapwing.api.synthesize:synthesize",
    "tables": "lapwing.release.fixed_tables:tables",
    "theorems": "lapwing.theorems",
}
"""Where each public name stands that is loaded when it is used, so that ``import lapwing`` takes no time."""

if not TYPE_CHECKING:  # a checker would take every name that is misspelt for one that is found here

    def __getattr__(name: str) -> Any:  # noqa: ANN401
        """Load a public name when it is first used."""
        if name not in _HOMES:
            raise AttributeError(f"module 'lapwing' has no attribute {name!r}")
        found = load_object(_HOMES[name])
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
