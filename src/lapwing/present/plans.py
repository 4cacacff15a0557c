"""What a plan says: facts and tables, of one table and of linked ones."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from lapwing.kernel.plain import at_least
from lapwing.kernel.questions.misfit_rows.question import MisfitRows
from lapwing.kernel.questions.private_draw.question import PrivateDraw
from lapwing.mechanisms.registry import kind_named, settings_of
from lapwing.model.certificate.cost_lines import CHOSEN, CostLine, counted_lines
from lapwing.model.certificate.linked import published_tables
from lapwing.model.certificate.notices import Word
from lapwing.model.certificate.promise import ROW
from lapwing.model.certificate.statements import Statement
from lapwing.model.certificate.verdict import share_word, strength_word
from lapwing.present.certificates import shares_text, word_text
from lapwing.present.costs import cost_summary
from lapwing.present.document import Document, Fact, Facts, Part, Section, Table, Text, lines_of, sentence, upper_first
from lapwing.present.messages import say
from lapwing.present.promises import origin_facts, protected_facts
from lapwing.present.stated import clause, label_facts, label_of
from lapwing.release.plans import DeltaGain, Plan
from lapwing.release.runs.plan.effort import MACHINE, Effort, MaxRowsEffect, MemoryNeed
from lapwing.release.runs.plan.planning import Foreseen
from lapwing.schema.linked.database import LinkedTables
from lapwing.schema.short import short_value

_SHOWN: Final = 40
_COLUMNS: Final = 4
_OF_UNITS: Final = ("missing", "drawn")  # said of linked tables as a whole

_FIRST: Final = (
    *("mechanism", "cost", "protected", "persons", "missing", "drawn", "unit", "given", "bought", "condition", "note"),
)
_TO_BE_SEEN: Final = ("given", "bought", "note")
_LAST: Final = ("verdict", "error", "more_errors", "gain", "effort", "memory")


Block = tuple[Part, ...]


def describe_plan(plan: Plan) -> Document:
    """Return what a plan says."""
    if plan.linked is not None:
        heading, *lines = plan.table()
        errors = ", ".join(f"{name} {error or say('plan.not_known')}" for name, *_, error in lines)
        table = Table("", heading, tuple(lines), numbers=(1, 3, 5))
        return Document(
            (
                Fact("headline", "", say("plan.errors", errors=errors)),
                *_with_warnings(_linked_facts(plan, plan.linked)),
            ),
            "Plan",
            short=("headline", "warning", "cost", "protected", "effort"),
            sections=(
                Section("parts", "", (table,)),
                *(Section("whole", name, _whole(part)) for name, part in plan.parts.items()),
            ),
            hint=say("plan.linked_hint"),
        )
    first = plan.accuracy[0]
    figure = "" if first.value is None else f": {first.figure}"
    counts = [line for line in plan.lines if line.question != MisfitRows.kind]
    noise = [line.noise.sd for line in counts if line.noise is not None]
    more = label_facts(
        settings=changed_settings(plan.mechanism, plan.settings),
        noise=say("plan.noise", low=min(noise), high=max(noise)) if noise else "",
    )
    label = upper_first(label_of(first))
    said = (Fact("headline", "", label + figure, value=first.value, unit=first.unit), Fact("said", "", first.text))
    budget = Section("cost", say("plan.budget"), (cost_summary(plan.lines, plan.total),))
    return Document(
        (*said, *_with_warnings(_facts(plan)), *more),
        "Plan",
        short=(
            "headline",
            "said",
            "verdict",
            "warning",
            "cost",
            "protected",
            "mechanism",
            "settings",
            "noise",
            "effort",
        ),
        sections=(budget, Section("whole", say("plan.whole"), _whole(plan))),
        hint=say("plan.hint"),
    )


def _with_warnings(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    """Return facts, and what of them is to be seen before all others."""
    found = tuple(facts)
    return (*found, *(Fact("warning", "", fact.text) for fact in found if fact.key in _TO_BE_SEEN))


def plan_text(plan: Plan) -> str:
    """Return a plan as plain text: of linked tables the whole first, then part by part."""
    if plan.linked is None:
        return f"{_text(_blocks(plan))}\n"
    found, (heading, *lines) = Document(tuple(_linked_facts(plan, plan.linked))), plan.table()
    facts = Facts(found.all("cost", "protected", "published", "note"))
    whole = _text([(facts,), (Table("", heading, tuple(lines)),), (Facts(found.all("effort")),)])
    parts = (f"\n\n\n{name}:\n\n{_text(_blocks(part, _OF_UNITS))}" for name, part in plan.parts.items())
    return f"{whole}{''.join(parts)}\n"


def _text(blocks: Iterable[Block]) -> str:
    """Return blocks as text, an empty line between them."""
    return "\n\n".join("\n".join(line for part in block for line in lines_of(part)) for block in blocks)


def _whole(plan: Plan) -> Block:
    """Return all that is said of one table."""
    return tuple(part for block in _blocks(plan) for part in block)


def _blocks(plan: Plan, without: Sequence[str] = ()) -> list[Block]:
    """Return the same, block by block."""
    found = Document(tuple(_facts(plan)))
    first = Facts(found.all(*(key for key in _FIRST if key not in without)))
    more_rows = _max_rows(plan.max_rows_effects, plan.max_rows)
    return [(first,), cost_table(plan.lines), *([more_rows] if more_rows else []), (Facts(found.all(*_LAST)),)]


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
    if plan.foreseen is not None:
        yield Fact("verdict", say("label.verdict"), planned_text(plan.foreseen))
    yield from error_facts(plan.accuracy)
    if plan.delta_gain is not None:
        yield _gain(plan.delta_gain)
    yield _effort(plan.effort, plan.expected_rows)
    yield _memory(plan.effort.memory)


def planned_grades(expected: Foreseen) -> list[tuple[Word, str]]:
    """Return how good single columns and relations will be, as far as a plan tells: of each the word and a sentence."""
    error, weakest = expected.share_error, expected.weakest
    found = [] if error is None else [(share_word(error), f"{shares_text(error)}.")]
    if expected.are_several and error is not None:
        word = strength_word(weakest)
        counted = say("verdict.none_planned") if weakest is None else say("verdict.planned", weakest=weakest)
        said = say("verdict.relations", word=word_text(word), counted=counted, found="", weakest="", missed="")
        found.append((word, said.strip()))
    return found


def planned_text(expected: Foreseen) -> str:
    """Return what a verdict will say, as far as a plan tells, and what it cannot know."""
    grades = [text for _, text in planned_grades(expected)]
    return " ".join([*grades, say("verdict.no_headline" if grades else "verdict.no_plan")])


def _linked_facts(plan: Plan, linked: LinkedTables) -> Iterator[Fact]:
    """Yield what a plan of linked tables says of them all."""
    yield Fact("cost", say("label.cost"), say("plan.linked_cost", asked=plan.asked))
    yield Fact("protected", say("label.protected"), linked.protected)
    yield from (Fact("published", "", sentence(said.text)) for said in published_tables(linked))
    yield from (Fact("note", "", f"{upper_first(note.text)}.") for note in plan.notes)
    yield _effort(plan.effort, plan.expected_rows)


def changed_settings(mechanism: str, settings: Mapping[str, object]) -> str:
    """Return the settings of a mechanism that are not as by default."""
    usual = settings_of(kind_named(mechanism)())
    own = {name: value for name, value in settings.items() if (name, value) not in usual.items()}
    return ", ".join(f"{name}={short_value(value)}" for name, value in own.items())


def error_facts(statements: Sequence[Statement]) -> Iterator[Fact]:
    """Yield the accuracy statements, the first ones where there are many."""
    for each in statements[:_SHOWN]:
        yield Fact("error", upper_first(label_of(each)), f"{clause(each)}.", value=each.value, unit=each.unit)
    if len(statements) > _SHOWN:
        yield Fact("more_errors", "", say("rules.more", count=len(statements) - _SHOWN))


def _gain(gain: DeltaGain) -> Fact:
    """Say what a δ changes."""
    key = "plan.gain" if gain.with_delta < gain.pure else "plan.no_gain"
    return Fact(
        "gain",
        "",
        say(key, delta=gain.delta, what=say(f"stated.{gain.what}.label"), pure=gain.pure, there=gain.with_delta),
    )


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


def _max_rows(effects: Sequence[MaxRowsEffect], own: int) -> Block:
    """Show what another ``maxRows`` would change, and say what it loses on the other side."""
    if not effects:
        return ()
    own_stated = next(each.stated for each in effects if each.max_rows == own)
    label = label_of(own_stated)
    lines = tuple(
        (
            say("plan.own", rows=each.max_rows) if each.max_rows == own else str(each.max_rows),
            str(each.tables),
            f"{each.noise_sd:.4g}",
            f"{each.noise_times:.2f}",
            f"{each.stated.value or 0.0:.3g}",
            f"{each.error_times:.2f}",
        )
        for each in effects
    )
    table = Table(
        "", ("maxRows", "tables", "noise (sd)", "relative", label, "relative"), lines, numbers=(1, 2, 3, 4, 5)
    )
    here = say("plan.here", label=upper_first(label), stated=clause(own_stated))
    return (Text(say("plan.max_rows")), table, Text(here), Text(say("plan.fewer")))


# -- What each question costs, as a table: equal lines once, and the first ones where many differ.


def cost_table(lines: Sequence[CostLine]) -> Block:
    """Return the cost lines as a table: equal ones once, and the first ones where many differ."""
    times = Counter(_cells(line, _what(line)) for line in lines)
    if len(times) > _SHOWN:
        times = Counter(
            _cells(line, say("plan.line.one_column") if len(line.columns) == 1 else _what(line)) for line in lines
        )
    shown = _first(times)
    rows = tuple(_times(cells, times[cells]) for cells in shown)
    heading = ("question", "columns", "level", "noise", "sd (records)", "cost")
    left = len(times) - len(shown)
    return (Table("", heading, rows, numbers=(4,)), *[Text(say("rules.more", count=left))] * (left > 0))


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
