"""What a certificate says in a few lines, whether it is of one table or of linked ones."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

from lapwing.errors import DataError, ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.plain import at_least
from lapwing.model.certificate.attack import attack_line, in_other_words
from lapwing.model.certificate.certificate import DOMAIN, EVALUATION, Certificate
from lapwing.model.certificate.issued import SHOWN, Beside, Issued
from lapwing.model.certificate.promise import Pairs, protection_lines
from lapwing.model.certificate.verdict import verdict_lines
from lapwing.model.files import certificate_of, is_model
from lapwing.model.linked_files import LINKED_LAYOUT, ONE_OF_SEVERAL, LinkedCertificate
from lapwing.schema.scalars import visible

T = TypeVar("T")

_FILES = 3  # most lines about files in the short form

_NO_ROWS = {DOMAIN: "bounds and lists of a schema", EVALUATION: "a comparison with a public table"}
_PROTECTED, _COST, _RECORDED, _TOGETHER = "Protected: ", "Cost: ", "Recorded in ", "Together with "


@dataclass(frozen=True, slots=True)
class Sheet:
    """Look at a certificate as a person does who is to sign it; parts: the certificates of which the whole consists."""

    whole: Certificate | LinkedCertificate

    @property
    def parts(self) -> tuple[Certificate, ...]:
        """One certificate, or those of linked tables."""
        whole = self.whole
        return (whole,) if isinstance(whole, Certificate) else tuple(whole.parts.values())

    @property
    def issued(self) -> Issued | None:
        """When, with which files and by whom it was written."""
        return self.whole.issued

    @property
    def mechanism(self) -> str:
        """The mechanisms that ran."""
        return " and ".join(dict.fromkeys(part.mechanism for part in self.parts))

    @property
    def title(self) -> str:
        """What was released of which table, and how."""
        named = f" of {self.issued.table}" if self.issued is not None and self.issued.table else ""
        if self.mechanism in _NO_ROWS:
            return f"{_NO_ROWS[self.mechanism]}{named}"
        if isinstance(self.whole, LinkedCertificate):
            rows = self.whole.written_rows or {name: part.released_rows for name, part in self.whole.parts.items()}
            listed = " and ".join(f"{count} synthetic rows of {name}" for name, count in rows.items())
            return f"{listed}{named} by {self.mechanism}"
        written = self.whole.written_rows
        rows_told = f"a model of {self.whole.released_rows}" if written is None else f"{written} synthetic"
        return f"{rows_told} rows{named} by {self.mechanism}"

    @property
    def made(self) -> str:
        """When and by which versions it was written."""
        when = "" if self.issued is None else f"{self.issued.when} with "
        python = "" if self.issued is None or not self.issued.python else f", Python {self.issued.python}"
        return f"{when}Lapwing {self.parts[0].lapwing}{python}"

    @property
    def protected(self) -> str:
        """What is protected, and what is not, in whole sentences."""
        if isinstance(self.whole, LinkedCertificate):
            return self.whole.protected[0].lower() + self.whole.protected[1:]
        return " ".join(protection_lines(self.whole.relation, self.whole.privacy_unit)[:2]).removeprefix(_PROTECTED)

    @property
    def total(self) -> Budget:
        """What it cost."""
        return self.whole.total

    @property
    def delta(self) -> Fraction:
        """The part of every δ that lists of texts took."""
        return sum((part.delta for part in self.parts), Fraction(0))

    @property
    def pairs(self) -> Pairs:
        """(δ, ε) that hold, the requested one first; a pure ε has one δ."""
        if self.total.notion == "pure":
            return ((self.delta, self.total.amount),)
        return tuple(sorted(self.whole.epsilons, key=lambda pair: pair[0] != self.whole.requested.delta))

    @property
    def price(self) -> str:
        """The promise in ε and δ."""
        return pair_text(self.pairs[0]) if self.pairs else str(self.total)

    @property
    def full_price(self) -> str:
        """The promise in ε and δ, with the rho that it is counted in, where it is."""
        return f"{self.price} ({self.total})" if self.total.notion != "pure" and self.pairs else self.price

    def faults(self, files: Sequence[Path], content: bytes) -> tuple[list[str], list[str]]:
        """Return what is wrong with files that should be those of this certificate, and with those not given.

        content: of the certificate's file. A model file holds the certificate too, but for what is written with it.
        """
        if self.issued is None:
            raise DataError("the certificate names no files; make the release again", code="LW622")
        found, missing = self.issued.faults(files)
        layout = LINKED_LAYOUT if isinstance(self.whole, LinkedCertificate) else None
        for model in [] if found else filter(is_model, files):
            if _promised(certificate_of(model, layout)) != _promised(json.loads(content)):
                found.append(f"{model}: the certificate inside says something else than this one; trust neither")
        return found, missing

    @property
    def cost(self) -> str:
        """What was spent on what, as the whole text says it."""
        return self._line(_COST) or ""

    @property
    def together(self) -> str | None:
        """What it and earlier purchases cost."""
        return self._line(_TOGETHER)

    @property
    def recorded(self) -> str:
        """Where the release is recorded."""
        where = f"{_RECORDED}{self._line(_RECORDED)}"
        return where if self.is_recorded else f"{where[:-1]}, so nothing adds it up with other releases."

    @property
    def is_recorded(self) -> bool:
        """Whether a ledger has it."""
        return self.whole.ledger is not None

    @property
    def assumed_fields(self) -> tuple[str, ...]:
        """Fields whose bounds or lists are outside the promise."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.assumed_fields))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the reader should know, but that there is another part, which stands beside this one."""
        return tuple(dict.fromkeys(each for part in self.parts for each in part.warnings if each != ONE_OF_SEVERAL))

    @property
    def attack(self) -> str:
        """What the best attack can find."""
        return attack_line(self.total, self.delta, self.parts[0].relation, self.whole.privacy_unit)

    def _line(self, start: str) -> str | None:
        """Return what stands behind these words in the whole text."""
        found = (line.removeprefix(start) for line in self.whole.text().splitlines() if line.startswith(start))
        return next(found, None)

    @property
    def verdicts(self) -> list[str]:
        """The verdict on the rows, and what not to use them for, by part where there are two."""
        if self.mechanism in _NO_ROWS:
            return []
        if isinstance(self.whole, Certificate):
            return verdict_lines(self.whole.verdict)
        return [f"{name}. {line}" for name, part in self.whole.parts.items() for line in verdict_lines(part.verdict)]

    def details(self) -> str:
        """Return all sentences."""
        lines = [line for part in self.parts for line in part.lines]
        words = in_other_words(self.total, self.delta, self.parts[0].relation, self.whole.privacy_unit, lines)
        shown = [visible(each).replace("\n", " ") for each in words]
        return "\n".join([self.whole.text().rstrip("\n"), *shown]) + "\n"

    def short(self) -> str:
        """Return fourteen lines at most, of one table, as the command line shows them."""
        return "\n".join(self.lines())[:-1] + "; --details says all.\n"

    def lines(self) -> list[str]:
        """Return the same, one sentence or a few each; the last one counts the warnings, which `details` has."""
        lines = [*self.verdicts, f"Release: {self.title}, {self.made}."]
        lines.append(f"Promise: {self.price} protects {self.protected}")
        lines.append(f"{_COST}{self.cost}")
        lines += [] if self.together is None else [f"{_TOGETHER}{self.together}"]
        if self.assumed_fields:
            lines.append(f"Not protected: what bounds and lists of {', '.join(self.assumed_fields)} say.")
        lines.append(self.attack)
        if self.issued is not None:
            files = [f"File: {file_text(each)}" for each in self.issued.files]
            lines += files[:_FILES] if len(files) <= _FILES else [*files[: _FILES - 1], f"{len(files) - 2} files more."]
            people = (("Prepared by", self.issued.prepared_by), ("Approved by", self.issued.approved_by))
            said = [f"{what}: {who}." for what, who in people if who]
            lines += [" ".join(said)] * bool(said)
        count = len(self.warnings)
        lines.append(f"{self.recorded} {count} warning{'' if count == 1 else 's'}.")
        return [visible(line).replace("\n", " ") for line in lines]


def pair_text(pair: tuple[Fraction, Fraction]) -> str:
    """Return δ and ε in words, ε rounded up.

    >>> pair_text((Fraction(1, 10**6), Fraction(1, 3)))
    'epsilon 0.3334 at delta 1e-06'
    """
    delta, epsilon = pair
    return f"epsilon {at_least(epsilon, 4)}" + (f" at delta {at_least(delta, 3)}" if delta else "")


def file_text(file: Beside) -> str:
    """Return name, rows and the first digits of a file's hash."""
    rows = "" if file.rows is None else f"{file.rows} rows, "
    return f"{file.target.as_posix()}, {rows}SHA-256 {file.sha256[:SHOWN]}."


def told(file: Path, make: Callable[[], T]) -> T:
    """Return what is made of a certificate, whose amounts may be of a size that no release has."""
    try:
        return make()
    except (ArithmeticError, ValueError):
        pass
    raise DataError(f"{file} holds amounts that no release can have; give one that Lapwing wrote", code="LW602")


def _promised(certificate: object) -> object:
    """Return all of a certificate but what is only known once files are written, as JSON text."""
    later = ("issued", "written_rows", "seed")
    if not isinstance(certificate, Mapping):
        return None
    kept = {key: value for key, value in certificate.items() if key not in later}
    if isinstance(parts := kept.get("parts"), Mapping):
        kept["parts"] = [[name, _promised(part)] for name, part in parts.items()]
    return json.dumps(kept, sort_keys=True)


def sheet_in(file: Path) -> tuple[Sheet, bytes]:
    """Read a certificate of one table or of linked ones, whose sums are checked on the way; and what the file holds.

    It is read once, so that what is shown is what was hashed or signed.
    """
    try:
        content = file.read_bytes()
        values = json.loads(content)
        is_linked = isinstance(values, Mapping) and "parts" in values
        whole = LinkedCertificate.from_dict(values) if is_linked else Certificate.from_dict(values)
    except OSError as error:
        reason = error.strerror or type(error).__name__
    except (ValueError, RecursionError, ArithmeticError, ParameterError):
        reason = "it is no certificate, or its sums are wrong"
    else:
        return Sheet(whole), content
    raise DataError(f"{file} cannot be read ({reason}); give the certificate that lies beside the rows", code="LW602")
