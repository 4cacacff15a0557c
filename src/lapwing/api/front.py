"""The public names, in one place for the root package to load lazily."""

from lapwing.anonymous.table import AnonymousTable
from lapwing.api import learn as _learn  # noqa: F401 - attaches Schema.learn
from lapwing.api.anonymize import anonymize
from lapwing.api.cards import attached as _attached  # noqa: F401 - attaches what notebooks show
from lapwing.api.linked import synthesize_linked
from lapwing.api.plan import plan
from lapwing.api.plans import LinkedPlan, Plan
from lapwing.api.schemas import Schema
from lapwing.api.synthesize import resume, synthesize
from lapwing.api.synthesizer import Synthesizer
from lapwing.mechanisms.adaptive.mechanism import Adaptive
from lapwing.mechanisms.independent.mechanism import Independent
from lapwing.mechanisms.private_sampling.mechanism import PrivateSampling
from lapwing.mechanisms.registry import Trusted
from lapwing.mechanisms.trees.grid.mechanism import Grid
from lapwing.mechanisms.trees.kd_tree.mechanism import KDTree
from lapwing.mechanisms.trees.pmm.mechanism import PMM
from lapwing.mechanisms.trees.psmm.mechanism import PSMM
from lapwing.mechanisms.vectors.linear_statistics.mechanism import LinearStatistics
from lapwing.mechanisms.vectors.microaggregation.mechanism import Microaggregation
from lapwing.model.sampling.conditions import Between as between  # noqa: N813
from lapwing.model.statistics.expressions import row_function, stat
from lapwing.release.covariance import covariance
from lapwing.release.linked.release import LinkedRelease, load_linked
from lapwing.release.loading import load
from lapwing.release.release import Release
from lapwing.release.runs.public_tables import PublicTable
from lapwing.rows.elsewhere import Query
from lapwing.schema.linked.database import LinkedSchema

__all__ = [
    "PMM",
    "PSMM",
    "Adaptive",
    "AnonymousTable",
    "Grid",
    "Independent",
    "KDTree",
    "LinearStatistics",
    "LinkedPlan",
    "LinkedRelease",
    "LinkedSchema",
    "Microaggregation",
    "Plan",
    "PrivateSampling",
    "PublicTable",
    "Query",
    "Release",
    "Schema",
    "Synthesizer",
    "Trusted",
    "anonymize",
    "between",
    "covariance",
    "load",
    "load_linked",
    "plan",
    "resume",
    "row_function",
    "stat",
    "synthesize",
    "synthesize_linked",
]
