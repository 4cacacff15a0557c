"""The error tree.

Every error that a user can meet is one of these. A message is one sentence that names the setting, the rule, the
value and the way out. It may quote settings and schema, and never a row, a count or anything computed from rows: an
error is a release too. A code names the rule that was broken, wherever it was; ``lapwing explain CODE`` says more.
"""

import os
import re
import sys
import warnings
from typing import Final

_PACKAGE: Final = os.path.dirname(__file__) + os.sep
_UNSHOWN: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, those that turn the direction of the text around them, and halves of characters."""


def visible(text: str) -> str:
    r"""Return a text in which nothing is hidden or turned around: no control characters but tab and line break."""
    return _UNSHOWN.sub("�", text)


class LapwingError(Exception):
    """Base of every error that Lapwing raises on purpose.

    Parameters
    ----------
    message : str
        One sentence. ``str(error)`` is this and nothing else.
    code : str, default "LW901"
        The rule that was broken, such as ``"LW310"``: ``LW`` and three digits. It depends on settings and schema and
        never on rows. Tracebacks show it in a note (PEP 678); it is kept where an error is pickled or copied.

    Attributes
    ----------
    code : str

    Examples
    --------
    >>> error = ParameterError("exactly one of epsilon and rho must be given, got 2", code="LW310")
    >>> error.code, error.__notes__
    ('LW310', ['`lapwing explain LW310` says why, and what to do'])
    """

    def __init__(self, message: str, code: str = "LW901") -> None:
        super().__init__(visible(message))
        self.code = code
        self.add_note(f"`lapwing explain {code}` says why, and what to do")


class SchemaError(LapwingError):
    """The schema breaks a rule of the schema format, or does not fit the request."""


class ParameterError(LapwingError):
    """A setting is outside its allowed range."""


class OfOneTableError(ParameterError, AttributeError):
    """Of several tables something is asked for that only one by itself has; for `hasattr` it is not there."""


class BudgetError(LapwingError):
    """A request would spend more privacy budget than is left, or under other terms than agreed."""


class ReleaseMismatchError(BudgetError):
    """A transcript or a debit is not what the ledger knows of its release, and nothing goes on from it."""


class DataError(LapwingError):
    """A table or file cannot be used whatever the values of its rows are."""


class UnwritableError(DataError):
    """A file cannot be written; ``reason`` is the system's word for why."""

    def __init__(self, message: str, reason: str = "", code: str = "LW112") -> None:
        super().__init__(message, code)
        self.reason = reason


class CapacityError(LapwingError):
    """A request needs more cells, memory or nodes than its public limit allows."""


class CallInterrupted(KeyboardInterrupt):
    """Ctrl-C ended a call; the text says whether anything was spent, and how to go on.

    Parameters
    ----------
    message : str
        One sentence.
    code : str
        As of a `LapwingError`.
    """

    def __init__(self, message: str = "interrupted", code: str = "LW904") -> None:
        super().__init__(message)
        self.code = code


class LapwingWarning(UserWarning):
    """Something public that the user should know, and that does not stop the work.

    Parameters
    ----------
    message : str
        One sentence.
    code : str
        As of a `LapwingError`: ``lapwing explain CODE`` says more.
    """

    def __init__(self, message: str, code: str = "LW907") -> None:
        super().__init__(visible(message))
        self.code = code


class CertificateWarning(LapwingWarning):
    """A warning that stands on the certificate of a release as well."""


class SpendingWarning(LapwingWarning):
    """Several releases of one table were paid for in this process, and no ledger adds them up."""


def warn(warning: LapwingWarning) -> None:
    """Warn whoever called this package, at the line of that call; a filter that makes errors of warnings raises."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(warning, stacklevel=level)
