"""What a certificate says of the rules that every row out keeps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from lapwing.errors import ParameterError
from lapwing.release.plain import read_key, read_list

MOVED: Final = "moved by the rules"
"""Kind of the statement that says what keeping the rules changed."""

_LISTED: Final = 8
_KEPT: Final = ("in the model", "in the rows")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRule:
    """A rule of the schema that no row out breaks.

    Parameters
    ----------
    text : str
        The rule on one line.
    provenance : {"public", "assumed"}
        Whether the rule is public knowledge or its owner's decision.
    kept : {"in the model", "in the rows"}
        Whether the mechanism's model kept it already, or rows were changed to keep it.
    broke : float
        Share of the weight of the mechanism's model that broke it before, from 0 to 1.

    Examples
    --------
    >>> KeptRule(text="born <= died", provenance="public", kept="in the rows", broke=0.25).to_dict()["kept"]
    'in the rows'
    """

    text: str
    provenance: Literal["public", "assumed"]
    kept: Literal["in the model", "in the rows"]
    broke: float

    def __post_init__(self) -> None:
        if self.provenance not in ("public", "assumed") or self.kept not in _KEPT or not 0 <= self.broke <= 1:
            raise ParameterError(
                "a rule of a certificate is public or assumed, kept in the model or in the rows, and was broken by a "
                "share from 0 to 1 before",
                code="LW621",
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as plain JSON values."""
        return {"text": self.text, "provenance": self.provenance, "kept": self.kept, "broke": self.broke}


def kept_rules_from(values: object) -> tuple[KeptRule, ...]:
    """Read back the rules of a certificate; one of before has none.

    Raises
    ------
    ParameterError
        If they are something else.
    """
    if not isinstance(values, Mapping) or "rules" not in values:
        return ()
    return tuple(
        KeptRule(
            text=read_key(entry, "text", str),
            provenance=cast("Any", read_key(entry, "provenance", str)),
            kept=cast("Any", read_key(entry, "kept", str)),
            broke=read_key(entry, "broke", float),
        )
        for entry in read_list(values, "rules", dict)
    )


def rule_lines(rules: Sequence[KeptRule]) -> list[str]:
    """Say which rules every row keeps, and which of them are only assumed: a sentence each, or none.

    Examples
    --------
    >>> rule_lines([KeptRule(text="born <= died", provenance="public", kept="in the rows", broke=0.25)])
    ['Every row keeps 1 rule: born <= died.']
    """
    if not rules:
        return []
    count = "1 rule" if len(rules) == 1 else f"{len(rules)} rules"
    lines = [f"Every row keeps {count}: {_listed([rule.text for rule in rules])}."]
    assumed = [rule.text for rule in rules if rule.provenance == "assumed"]
    if assumed:
        lines.append(f"Assumed by the owner of the table, not public knowledge: {_listed(assumed)}.")
    return lines


def _listed(texts: Sequence[str]) -> str:
    more = len(texts) - _LISTED
    return "; ".join([*texts[:_LISTED], *([f"and {more} more"] if more > 0 else [])])
