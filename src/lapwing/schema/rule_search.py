"""Whether the rules of a table go together, and rows that keep them all."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lapwing.schema.fields import Field
from lapwing.schema.rule_codes import CodedRule
from lapwing.schema.rule_coding import coded
from lapwing.schema.rules import Rule

if TYPE_CHECKING:
    pass


def named_columns(rules: Sequence[Rule]) -> list[tuple[str, str]]:
    """Return every column that rules name, and what error sentences call the rule that does."""
    return [(name, f"rule {number} ({rule.text})") for number, rule in enumerate(rules, 1) for name in rule.columns]


def checked_rules(fields: Sequence[Field], rules: Sequence[Rule]) -> tuple[CodedRule, ...]:
    """Return rules on the codes of modelled fields."""
    return coded(fields, rules)
