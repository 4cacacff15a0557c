"""What is shown of an object as text."""

from lapwing.model.certificate.certificate import Certificate
from lapwing.model.linked_files import LinkedCertificate
from lapwing.present.certificates import certificate_text
from lapwing.present.plans import plan_text
from lapwing.release.plans import LinkedPlan, Plan


def text(found: Certificate | LinkedCertificate | Plan | LinkedPlan) -> str:
    """Return a certificate or a plan as lines of text."""
    return plan_text(found) if isinstance(found, Plan | LinkedPlan) else certificate_text(found)
