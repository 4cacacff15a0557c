"""The public names, in one place for the root package to load lazily."""

from lapwing.anonymous.table import AnonymousTable
from lapwing.api import learn as _learn  # noqa: F401 - attaches Schema.learn
from lapwing.api import schema_foreign  # noqa: F401 - attaches Schema.from_foreign
from lapwing.api.anonymize import anonymize
from lapwing.api.evaluate import evaluate
from lapwing.api.linked import synthesize_linked
from lapwing.api.linked_release import LinkedRelease, load_linked
from lapwing.api.loading import load
from lapwing.api.plan import Plan, plan
from lapwing.api.public_tables import PublicTable
from lapwing.api.release import Release
from lapwing.api.schema_draft import Schema
from lapwing.api.synthesize import resume, synthesize
from lapwing.api.synthesizer import Synthesizer
from lapwing.mechanisms.adaptive import Adaptive
from lapwing.mechanisms.grid import Grid
from lapwing.mechanisms.independent import Independent
from lapwing.mechanisms.kd_tree import KDTree
from lapwing.mechanisms.linear_statistics import LinearStatistics
from lapwing.mechanisms.microaggregation import Microaggregation
from lapwing.mechanisms.pmm import PMM
from lapwing.mechanisms.private_sampling import PrivateSampling
from lapwing.mechanisms.psmm import PSMM
from lapwing.mechanisms.registry import Trusted
from lapwing.mechanisms.steps.stat_expressions import row_function, stat
from lapwing.sample.conditions import Between as between  # noqa: N813
from lapwing.schema.linked import LinkedSchema

__all__ = [
    "PMM",
    "PSMM",
    "Adaptive",
    "AnonymousTable",
    "Grid",
    "Independent",
    "KDTree",
    "LinearStatistics",
    "LinkedRelease",
    "LinkedSchema",
    "Microaggregation",
    "Plan",
    "PrivateSampling",
    "PublicTable",
    "Release",
    "Schema",
    "Synthesizer",
    "Trusted",
    "anonymize",
    "between",
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
