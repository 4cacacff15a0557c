"""What is shown of an object as text."""

from collections.abc import Mapping

from lapwing.model.certificate.certificate import Certificate
from lapwing.model.certificate.notices import Notice
from lapwing.model.certificate.promise import some_of
from lapwing.model.linked_files import LinkedCertificate
from lapwing.present.certificates import certificate_text
from lapwing.present.messages import say
from lapwing.present.plans import plan_text
from lapwing.release.plans import LinkedPlan, Plan


def text(found: Certificate | LinkedCertificate | Plan | LinkedPlan | Notice) -> str:
    """Return a certificate or a plan as lines of text, and what a reader should know as a sentence."""
    if isinstance(found, Notice):
        said = say(f"notice.{found.code}", **{name: _told(each) for name, each in found.fields.items()})
        return f"{found.table}: {said}" if found.table else said
    return plan_text(found) if isinstance(found, Plan | LinkedPlan) else certificate_text(found)


def _told(value: object) -> object:
    """Return a field as it stands in a sentence: of names the first, of lists how many values they have."""
    if isinstance(value, Mapping):
        return ", ".join(
            name if size is None else say("origin.list", name=name, size=size) for name, size in value.items()
        )
    return some_of(value) if isinstance(value, tuple) else value
