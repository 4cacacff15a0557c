"""Give each public object its card; done by the front door, as these objects live in layers that know no HTML."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from lapwing.anonymous.table import AnonymousTable
from lapwing.api.cards.anonymous import anonymous_card
from lapwing.api.cards.linked import (
    linked_certificate_card,
    linked_plan_card,
    linked_release_card,
    linked_schema_card,
)
from lapwing.api.cards.public import (
    accuracy_card,
    certificate_card,
    count_accuracy_card,
    plan_card,
    release_card,
    schema_card,
    synthesizer_card,
    table_accuracy_card,
)
from lapwing.api.plans import LinkedPlan, Plan
from lapwing.api.synthesizer import Synthesizer
from lapwing.model.accuracy import Accuracy, CountAccuracy, TableAccuracy
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.linked_files import LinkedCertificate
from lapwing.release.linked.release import LinkedRelease
from lapwing.release.release import Release
from lapwing.schema.linked.database import LinkedSchema
from lapwing.schema.schemas import Schema

CARDS: Final[dict[type, Callable[..., str]]] = {}


def _bundle(self: Any, **_asked: object) -> dict[str, str]:  # noqa: ANN401
    """Return both forms of an object, for notebooks that ask for all at once."""
    return {"text/plain": repr(self), "text/html": CARDS[type(self)](self)}


def attach(cards: Mapping[type, Callable[..., str]]) -> None:
    """Give classes their cards."""
    CARDS.update(cards)
    for kind, card in cards.items():
        for name, shown in (("_repr_html_", card), ("_repr_mimebundle_", _bundle)):
            setattr(kind, name, shown)


attach(
    {
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
)
