"""Which card each public object has."""

from collections.abc import Callable
from typing import Final

from lapwing.anonymous.table import AnonymousTable
from lapwing.api.synthesizer import Synthesizer
from lapwing.extras.evaluate.cards.anonymous import anonymous_card
from lapwing.extras.evaluate.cards.linked import (
    linked_certificate_card,
    linked_plan_card,
    linked_release_card,
    linked_schema_card,
)
from lapwing.extras.evaluate.cards.public import (
    accuracy_card,
    certificate_card,
    count_accuracy_card,
    plan_card,
    release_card,
    schema_card,
    synthesizer_card,
    table_accuracy_card,
)
from lapwing.model.accuracy import Accuracy, CountAccuracy, TableAccuracy
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.linked_files import LinkedCertificate
from lapwing.release.linked.release import LinkedRelease
from lapwing.release.plans import LinkedPlan, Plan
from lapwing.release.release import Release
from lapwing.schema.linked.database import LinkedSchema
from lapwing.schema.schemas import Schema

CARDS: Final[dict[type, Callable[..., str]]] = {
    Accuracy: accuracy_card,
    AnonymousTable: anonymous_card,
    Certificate: certificate_card,
    CountAccuracy: count_accuracy_card,
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


def card(found: object) -> str:
    """Return the card of an object."""
    return CARDS[type(found)](found)
