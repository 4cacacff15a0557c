"""What `lapwing schema check` says of rules and public tables."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lapwing.report.text import aligned
from lapwing.schema.scalars import visible

if TYPE_CHECKING:
    from lapwing.evaluate.rules import Declared
    from lapwing.schema.schemas import Schema

_SHOWN = 40
_LETTERS = 80


def declared_text(schema: "Schema") -> list[str]:
    """Return the rules and public tables of a schema, and the values that no row can have: lines, none if it has none.

    Parameters
    ----------
    schema : Schema
        Complete.

    Returns
    -------
    list of str
    """
    said = []
    if schema.rules:
        lines = [(_clipped(rule.text), rule.provenance) for rule in schema.rules]
        said += ["", _table(("rule", "provenance"), lines, ()), *_dead(schema)]
    if schema.public_tables:
        tables = [
            (" x ".join(map(visible, each.columns)), str(each.total), each.hold, _clipped(visible(each.source)))
            for each in schema.public_tables
        ]
        said += ["", _table(("public table", "rows", "held", "source"), tables, (1,))]
    return said


def broken_text(found: "Declared | None") -> list[str]:
    """Return how many rows of a table break each rule, and its gaps to public tables: lines, none if it has none.

    Parameters
    ----------
    found : Declared or None
        Of one table, ``real``.

    Returns
    -------
    list of str
    """
    if found is None:
        return []
    said = []
    rows = found.rows["real"]
    if found.rules:
        order = sorted(found.rules, key=lambda fit: -fit.broken["real"])
        lines = [(_clipped(fit.rule), str(fit.broken["real"])) for fit in order]
        said += ["", f"{found.broken['real']} of {rows} rows break a rule"]
        said += [_table(("rule", "rows that break it"), lines, (1,))]
    if found.totals:
        totals = [
            (" x ".join(map(visible, fit.columns)), str(fit.total), str(rows), f"{fit.gaps['real']:.2%}", fit.hold)
            for fit in found.totals
        ]
        said += ["", _table(("public table", "its rows", "rows", "rows elsewhere", "held"), totals, (1, 2, 3))]
    if found.broken["real"]:
        said.append(
            "What a row breaks is no rule: correct it from public knowledge, or the data. A rule that is dropped or "
            "changed because of these counts tells of the rows."
        )
    return said


def _dead(schema: "Schema") -> list[str]:
    """Return the values that no row can have under the rules, one line for each column."""
    from lapwing.schema.dead_values import dead_values  # noqa: PLC0415

    lines = []
    for name, labels in dead_values(schema).items():
        more = f" and {len(labels) - 10} more" if len(labels) > 10 else ""
        lines.append(f"- {visible(name)}: {', '.join(map(visible, labels[:10]))}{more}")
    return ["", "Values that no row can have under the rules:", *lines] if lines else []


def _table(heading: tuple[str, ...], lines: Sequence[tuple[str, ...]], right: tuple[int, ...]) -> str:
    """Return the first lines of a table, and how many there are more."""
    more = f"\nand {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
    return aligned([heading, *lines[:_SHOWN]], right=list(right)) + more


def _clipped(text: str) -> str:
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…"
