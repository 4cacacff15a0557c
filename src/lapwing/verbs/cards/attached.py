"""Give each public object its card; done by the front door, as these objects live in layers that know no HTML."""

from collections.abc import Callable
from typing import Any, Final

from lapwing.anonymous.table import AnonymousTable
from lapwing.internal.evaluation import Evaluation
from lapwing.internal.linked import LinkedEvaluation
from lapwing.model.accuracy import Accuracy, CountAccuracy, TableAccuracy
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.linked_files import LinkedCertificate
from lapwing.release.linked.release import LinkedRelease
from lapwing.release.release import Release
from lapwing.runs.bought import BoughtEvaluation
from lapwing.schema.linked.database import LinkedSchema
from lapwing.schema.schemas import Schema
from lapwing.verbs.cards.linked import (
    linked_certificate_card,
    linked_plan_card,
    linked_release_card,
    linked_schema_card,
)
from lapwing.verbs.cards.private import anonymous_card, evaluation_card, linked_evaluation_card
from lapwing.verbs.cards.public import (
    accuracy_card,
    bought_card,
    certificate_card,
    count_accuracy_card,
    plan_card,
    release_card,
    schema_card,
    synthesizer_card,
    table_accuracy_card,
)
from lapwing.verbs.plans import LinkedPlan, Plan
from lapwing.verbs.synthesizer import Synthesizer

CARDS: Final[dict[type, Callable[..., str]]] = {
    Accuracy: accuracy_card,
    AnonymousTable: anonymous_card,
    BoughtEvaluation: bought_card,
    Certificate: certificate_card,
    CountAccuracy: count_accuracy_card,
    Evaluation: evaluation_card,
    LinkedEvaluation: linked_evaluation_card,
    LinkedCertificate: linked_certificate_card,
    LinkedPlan: linked_plan_card,
    LinkedRelease: linked_release_card,
    LinkedSchema: linked_schema_card,
    Plan: plan_card,
    Release: release_card,
    Schema: schema_card,
    Synthesizer: synthesizer_card,
    TableAccuracy: table_accuracy_card,
}


def _bundle(self: Any, **_asked: object) -> dict[str, str]:  # noqa: ANN401
    """Return both forms of an object, for notebooks that ask for all at once."""
    return {"text/plain": repr(self), "text/html": CARDS[type(self)](self)}


for _kind, _card in CARDS.items():
    for _name, _shown in (("_repr_html_", _card), ("_repr_mimebundle_", _bundle)):
        setattr(_kind, _name, _shown)
