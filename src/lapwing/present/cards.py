"""What describes each object, and its document as a card of a notebook and as JSON."""

import json
from collections.abc import Callable
from typing import Any, Final

from lapwing.anonymous.table import AnonymousTable
from lapwing.kernel.codec import PLAIN
from lapwing.model.accuracy import Accuracy, CountAccuracy, TableAccuracy
from lapwing.model.certificate.certificate import Certificate
from lapwing.present.accuracies import describe_accuracy
from lapwing.present.certificates import describe_certificate
from lapwing.present.document import Document, Fact, count_text
from lapwing.present.html import card_html
from lapwing.present.messages import say
from lapwing.present.plans import describe_plan
from lapwing.present.releases import describe_release
from lapwing.present.schemas import describe_schema
from lapwing.present.stated import label_facts
from lapwing.release.plans import Plan
from lapwing.release.release import Release
from lapwing.schema.schemas import Schema


def describe_anonymous(found: AnonymousTable) -> Document:
    """Return what an anonymous table says, without its rows."""
    settings, groups = found.settings, count_text(found.groups, "group")
    made_by = say("anonymous.made_by", partition=settings.partition, output=settings.output, seed=found.seed)
    facts = label_facts(
        rows=say("anonymous.rows", rows=len(found.data), groups=groups, size=settings.min_group_size),
        group_of=found.unit,
        information_loss=say("anonymous.information_loss", loss=found.information_loss),
        covariance_loss=say("anonymous.covariance_loss", loss=found.covariance_loss),
        made_by=say("anonymous.made_by_paper", seed=found.seed) if settings.variant == "paper" else made_by,
    )
    notice = Fact("notice", "", found.notice)
    return Document((notice, *facts), "AnonymousTable", tone="weak", hint=say("anonymous.hint"))


DESCRIBED: Final[dict[type, Callable[[Any], Document]]] = {
    AnonymousTable: describe_anonymous,
    **dict.fromkeys((Accuracy, CountAccuracy, TableAccuracy), describe_accuracy),
    Certificate: describe_certificate,
    Plan: describe_plan,
    Release: describe_release,
    Schema: describe_schema,
}
"""What describes each class; those above the core add themselves."""


def card(found: object) -> str:
    """Return an object as a card."""
    return card_html(DESCRIBED[type(found)](found))


def document_json(found: object) -> str:
    """Return all that there is to say of an object as the text of a JSON file: facts by their keys, and sections."""
    return json.dumps(PLAIN.write(DESCRIBED[type(found)](found)), indent=2, ensure_ascii=False) + "\n"
