"""What a plan says: facts and tables, of one table and of linked ones."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from lapwing.kernel.plain import at_least
from lapwing.kernel.questions.misfit_rows.question import MisfitRows
from lapwing.kernel.questions.private_draw.question import PrivateDraw
from lapwing.model.certificate.cost_lines import CHOSEN, CostLine, Statement, counted_lines
from lapwing.model.certificate.promise import ROW
from lapwing.present.document import Document, Fact, upper_first
from lapwing.present.messages import say
from lapwing.present.promises import origin_facts, protected_facts
from lapwing.release.plans import DeltaGain, LinkedPlan, Plan
from lapwing.release.runs.plan.effort import MACHINE, Effort, MaxRowsEffect, MemoryNeed
from lapwing.schema.linked.database import published
from lapwing.schema.scalars import aligned

_SHOWN: Final = 40
_COLUMNS: Final = 4
_OF_UNITS: Final = ("missing", "drawn")  # said of linked tables as a whole

_FIRST: Final = (
    *("mechanism", "cost", "protected", "persons", "missing", "drawn", "unit", "given", "bought", "condition", "note"),
)
_LAST: Final = ("error", "more_errors", "gain", "effort", "memory")


def plan_document(plan: Plan) -> Document:
    """Return all that a plan says, but for its tables."""
    return Document(tuple(_facts(plan)))


def plan_text(plan: Plan | LinkedPlan) -> str:
    """Return a plan as plain text: of linked tables the whole first, then part by part."""
    if isinstance(plan, Plan):
        return "\n".join(_lines(plan)) + "\n"
    lines = [
        *Document(tuple(_linked_facts(plan))).lines("cost", "protected", "published", "note"),
        "",
        aligned(plan.table()),
        "",
        _effort(plan.effort, sum(part.expected_rows for part in plan.parts.values())).line,
    ]
    for name, part in plan.parts.items():
        lines += ["", "", f"{name}:", "", *_lines(part, without=_OF_UNITS)]
    return "\n".join(lines) + "\n"


def _lines(plan: Plan, *, without: Sequence[str] = ()) -> list[str]:
    """Return a plan of one table as lines of text."""
    found = plan_document(plan)
    return [
        *found.lines(*(key for key in _FIRST if key not in without)),
        "",
        *cost_table(plan.lines),
        "",
        *_max_rows(plan.max_rows_effects, plan.max_rows),
        *found.lines(*_LAST),
    ]


def _facts(plan: Plan) -> Iterator[Fact]:
    """Yield what a plan says."""
    yield Fact("mechanism", say("label.mechanism"), say("plan.mechanism", name=plan.mechanism, reason=plan.reason))
    cost = str(plan.total) if plan.total.notion == "pure" else plan.asked
    said = say("plan.cost", cost=cost, questions=counted_lines(plan.lines), relation=plan.relation)
    yield Fact("cost", say("label.cost"), said)
    yield from protected_facts(plan.relation, plan.privacy_unit)
    if plan.privacy_unit == ROW:
        yield Fact("unit", "", say("plan.no_unit"))
    elif plan.max_rows > 1:
        yield Fact("unit", "", say("plan.unit", rows=plan.max_rows))
    yield from origin_facts(plan.assumed_fields, plan.dp_fields)
    is_chosen = any(line.question == CHOSEN for line in plan.lines)
    key = "chosen" if is_chosen else "public_rows" if plan.has_public_rows else "same_rows"
    yield Fact("condition", "", say(f"plan.{key}", rows=plan.expected_rows))
    yield from (Fact("note", "", f"{upper_first(note.text)}.") for note in plan.notes)
    yield from error_facts(plan.accuracy)
    if plan.delta_gain is not None:
        yield _gain(plan.delta_gain)
    yield _effort(plan.effort, plan.expected_rows)
    yield _memory(plan.effort.memory)


def _linked_facts(plan: LinkedPlan) -> Iterator[Fact]:
    """Yield what a plan of linked tables says of them all."""
    yield Fact("cost", say("label.cost"), say("plan.linked_cost", asked=plan.asked))
    yield Fact("protected", say("label.protected"), plan.linked.protected)
    yield from (Fact("published", "", said) for said in published(plan.linked))
    yield from (Fact("note", "", f"{upper_first(note.text)}.") for note in plan.notes)


def error_facts(statements: Sequence[Statement]) -> Iterator[Fact]:
    """Yield the accuracy statements, the first ones where there are many."""
    for each in statements[:_SHOWN]:
        label = upper_first(each.kind)
        yield Fact("error", label, f"{each.text}." if each.value is None else f"{each.figure} - {each.text}.")
    if len(statements) > _SHOWN:
        yield Fact("more_errors", "", say("rules.more", count=len(statements) - _SHOWN))


def _gain(gain: DeltaGain) -> Fact:
    """Say what a δ changes."""
    key = "plan.gain" if gain.with_delta < gain.pure else "plan.no_gain"
    return Fact("gain", "", say(key, delta=gain.delta, what=gain.what, pure=gain.pure, there=gain.with_delta))


def _effort(effort: Effort, rows: int) -> Fact:
    """Say how long it takes and how much memory it needs."""
    size = effort.memory_bytes / 10**6
    said = say("plan.effort", seconds=effort.seconds, size=size, rows=rows, machine=MACHINE)
    return Fact("effort", say("label.effort"), said)


def _memory(need: MemoryNeed) -> Fact:
    """Say what is in memory while the release is made, part by part, and what a limit may take away."""
    parts = _sizes({name: getattr(need, name) for name in ("start", "reading", "units", "model")})
    kept = _sizes({name: getattr(need, name) for name in ("codes", "tables")}) or say("plan.memory.nothing")
    least = _megabytes(need.least)
    return Fact("memory", say("label.memory"), say("plan.memory.line", least=least, parts=parts, kept=kept))


def _sizes(parts: Mapping[str, int]) -> str:
    """Return the parts that are not empty."""
    return ", ".join(f"{say(f'plan.memory.{name}')} {_megabytes(size)}" for name, size in parts.items() if size)


def _megabytes(size: int) -> str:
    return f"{max(1, round(size / 10**6))} MB"


def _max_rows(effects: Sequence[MaxRowsEffect], own: int) -> list[str]:
    """Show what another ``maxRows`` would change, and say what it loses on the other side."""
    if not effects:
        return []
    kind = effects[0].kind
    lines = [("maxRows", "tables", "noise (sd)", "relative", kind, "relative")]
    lines += [
        (
            say("plan.own", rows=each.max_rows) if each.max_rows == own else str(each.max_rows),
            str(each.tables),
            f"{each.noise_sd:.4g}",
            f"{each.noise_times:.2f}",
            f"{each.error:.3g}",
            f"{each.error_times:.2f}",
        )
        for each in effects
    ]
    here = say("plan.here", kind=upper_first(kind), what=effects[0].what)
    return [say("plan.max_rows"), aligned(lines), here, say("plan.fewer"), ""]


# -- What each question costs, as a table: equal lines once, and the first ones where many differ.


def cost_table(lines: Sequence[CostLine]) -> list[str]:
    """Return the cost lines as an aligned table: equal ones once, and the first ones where many differ."""
    times = Counter(_cells(line, _what(line)) for line in lines)
    if len(times) > _SHOWN:
        times = Counter(
            _cells(line, say("plan.line.one_column") if len(line.columns) == 1 else _what(line)) for line in lines
        )
    shown = _first(times)
    rows = [("question", "columns", "level", "noise", "sd (records)", "cost")]
    rows += [_times(cells, times[cells]) for cells in shown]
    left = len(times) - len(shown)
    return [aligned(rows), *[say("rules.more", count=left)] * (left > 0)]


_Cells = tuple[str, str, str, str, str, str]


def _cells(line: CostLine, what: str) -> _Cells:
    """Return a line as the cells of a table."""
    law = line.noise
    return (
        line.question,
        what,
        "" if line.level is None else str(line.level),
        "" if law is None else f"discrete {law.kind}",
        "" if law is None else f"{law.sd:.4g}",
        f"{'epsilon' if line.cost.notion == 'pure' else 'rho'} {at_least(line.cost.amount, 4)}",
    )


def _first(times: Mapping[_Cells, int]) -> list[_Cells]:
    """Return the lines that are shown, in order: those that stand for several, and the first others."""
    single = [cells for cells, count in times.items() if count == 1]
    kept = set(single[: max(0, _SHOWN - len(times) + len(single))])
    return [cells for cells, count in times.items() if count > 1 or cells in kept]


def _times(cells: _Cells, count: int) -> _Cells:
    """Say how often a line occurs, where it is more than once."""
    first, what, level, noise, sd, cost = cells
    return (f"{count} x {first}", what, level, noise, sd, say("plan.line.each", cost=cost)) if count > 1 else cells


def _what(line: CostLine) -> str:
    """Say what a line is about."""
    if line.candidates is not None:
        return say("plan.line.selection", count=line.candidates)
    if line.question == PrivateDraw.kind:
        return say("plan.line.draw", count=len(line.columns))
    if line.question == MisfitRows.kind:
        return say("plan.line.misfits")
    if line.question == CHOSEN:
        return say("plan.line.chosen")
    more = len(line.columns) - _COLUMNS
    named = ", ".join(line.columns[:_COLUMNS]) + (" " + say("rules.more", count=more) if more > 0 else "")
    return named or say("plan.line.rows")
