"""What is shown of an object as text."""

from lapwing.model.certificate.certificate import Certificate
from lapwing.model.certificate.notices import Notice
from lapwing.model.certificate.statements import Statement
from lapwing.model.certificate.verdict import Verdict
from lapwing.present.certificates import certificate_text, verdict_text
from lapwing.present.plans import plan_text
from lapwing.present.stated import fill_sentence, statement_text
from lapwing.release.plans import Plan


def text(found: Certificate | Plan | Notice | Statement | Verdict) -> str:
    """Return a certificate or a plan as lines of text, a warning or a statement as a sentence."""
    if isinstance(found, Verdict):
        return verdict_text(found)
    if isinstance(found, Statement):
        return statement_text(found)
    if isinstance(found, Notice):
        said = fill_sentence(f"notice.{found.code}", found.fields)
        return f"{found.table}: {said}" if found.table else said
    return plan_text(found) if isinstance(found, Plan) else certificate_text(found)
