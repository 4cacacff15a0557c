"""What a certificate says, fact by fact, of one table or of linked ones: the same words wherever it is shown."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from lapwing.kernel.plain import at_least, read_exact
from lapwing.model.certificate.certificate import DOMAIN, EVALUATION, Certificate
from lapwing.model.certificate.cost_lines import budget_from_dict, budget_text, counted_lines
from lapwing.model.certificate.declared import KeptRule, KeptTable
from lapwing.model.certificate.issued import SHOWN, Beside, IssueRecord
from lapwing.model.certificate.linked import ONE_OF_SEVERAL
from lapwing.model.certificate.notices import Notice, Word
from lapwing.model.certificate.promise import Pairs, pairs_apart, unit_field
from lapwing.model.certificate.verdict import WORDS, Verdict, share_word
from lapwing.present.attacks import attack_fact, detail_facts, trade_off_fact, zcdp_fact
from lapwing.present.costs import amount_of, cost_summary
from lapwing.present.document import Document, Fact, Facts, Section, Text, count_text, sentence, upper_first
from lapwing.present.messages import say
from lapwing.present.promises import (
    amount_text,
    origin_facts,
    pair_text,
    protected_facts,
    purchase_facts,
)
from lapwing.present.stated import clause, label_facts
from lapwing.schema.schemas import Schema

_LISTED: Final = 8
_FILES: Final = 3  # most lines about files in the short form
_WITHOUT_ROWS: Final = (DOMAIN, EVALUATION)
_ORIGINS: Final = ("public", "assumed", "dp")
_OF_ALL: Final = frozenset(
    {"protected", "missing", "drawn", "cost", "recorded", "warning"}
)  # said once of linked tables

WHOLE: Final = (
    *("protected", "persons", "missing", "drawn", "cost", "kept", "not_kept", "given", "bought", "purchase"),
    *(
        "together",
        "assumed",
        "rows",
        "verdict",
        "quotable",
        "not_for",
        "certified",
        "rule",
        "rule_assumed",
        "public_table",
    ),
    *("weight", "recorded", "issued", "file", "prepared_by", "approved_by", "warning"),
)
"""What the whole text of a certificate has; keys that `describe_certificate` gives."""

SHORT: Final = (
    *("verdict", "quotable", "not_for", "release", "promise"),
    *("cost", "together", "not_protected", "attack", "recorded_alone"),
)
"""What is to be read first; in a notebook, in reports, on paper and in the studio the same."""

DETAILS: Final = ("attack", "trade_off", "gaussian", "every_delta", "small_cells")
"""What else is said of it where all is asked for."""


def describe_certificate(whole: Certificate) -> Document:
    """Return all that a certificate says."""
    facts = [
        *(_own(whole) if whole.linked is None else _linked(whole)),
        *_recorded(whole),
        *_issued(whole.issued),
        *_summed_up(whole),
        *(Fact("warning", say("label.warning"), each.text) for each in whole.warnings),
    ]
    all_of_it = Section("whole", say("certificate.whole"), (Facts(Document(tuple(facts)).all(*WHOLE)),))
    kinds = {DOMAIN: say("certificate.domain"), EVALUATION: say("certificate.comparison")}
    words = [tone_of(part.verdict) for part in whole.parts.values() if part.verdict is not None]
    return Document(
        tuple(facts),
        kinds.get(whole.mechanism, "Certificate"),
        tone=max(words, key=WORDS.index, default=""),
        short=("warning", *(key for key in SHORT if key not in ("quotable", "not_for", "attack")), "keeps"),
        sections=(*_sections(whole), all_of_it),
    )


def _sections(whole: Certificate) -> tuple[Section, ...]:
    """Return what stands beside the facts of a certificate."""
    if whole.linked is None:
        return (*not_for_section(whole.verdict), cost_section(whole))
    kept = Text("", tuple(sentence(each.text) for each in (*(whole.kept or ()), *(whole.not_kept or ()))))
    return (Section("kept", say("certificate.kept"), (kept,)),)


def not_for_section(verdict: Verdict | None) -> tuple[Section, ...]:
    """Return what rows should not be used for, if anything."""
    if verdict is None or not verdict.not_for:
        return ()
    title = say("certificate.not_for", count=len(verdict.not_for))
    return (Section("not-for", title, (Text("", tuple(each.text for each in verdict.not_for)),)),)


def cost_section(paid: Certificate) -> Section:
    """Return what the budget was spent on."""
    title = say("certificate.cost", questions=counted_lines(paid.lines))
    return Section("cost", title, (cost_summary(paid.lines, paid.total),))


def tone_of(verdict: Verdict) -> Word:
    """Return the word for relations, or for single columns where there is one only."""
    return verdict.relations or verdict.shares


def short_facts(whole: Certificate) -> Facts:
    """Return what is to be read first."""
    return Facts(describe_certificate(whole).by(*SHORT))


def certificate_text(whole: Certificate) -> str:
    """Return a certificate as lines of plain text."""
    return "\n".join(describe_certificate(whole).lines(*WHOLE)) + "\n"


def detailed_facts(whole: Certificate) -> Facts:
    """Return the same, and what it means in other words."""
    found = describe_certificate(whole)
    more = Document((*found.all("attack"), *detail_facts(whole.total, whole.delta, whole.lines)))
    return Facts((*found.all(*WHOLE), *more.all(*DETAILS)))


def detailed_text(whole: Certificate) -> str:
    """Return the same as lines of plain text."""
    return "\n".join(fact.line for fact in detailed_facts(whole).facts) + "\n"


def short_text(whole: Certificate) -> str:
    """Return the same as text, as the command line shows it."""
    return "\n".join(short_lines(whole))[:-1] + "; --details says all.\n"


def short_lines(whole: Certificate) -> list[str]:
    """Return fourteen lines at most, of one table: what somebody reads first."""
    found = describe_certificate(whole)
    files = found.lines("file_short")
    if len(files) > _FILES:
        files = [*files[: _FILES - 1], say("issued.more_files", count=len(files) - _FILES + 1)]
    people = " ".join(found.lines("prepared_by", "approved_by"))
    return [
        *(line for key in SHORT[:-1] for line in found.lines(key)),
        *files,
        *[people] * bool(people),
        f"{found.lines('recorded_alone')[0]} {found.text('warnings')}",
    ]


# -- One table.


def _own(paid: Certificate) -> Iterator[Fact]:
    """Yield what a certificate of one table says of it."""
    yield from _protects(paid)
    yield Fact("cost", say("label.cost"), _cost(paid), **amount_of(paid.total))
    is_told = any(each.code == "uncovered" for each in paid.warnings)
    yield from origin_facts(() if is_told else paid.assumed_fields, paid.dp_fields)
    terms = (paid.relation, paid.privacy_unit)
    yield from purchase_facts(paid.purchases, terms, paid.together)
    yield from (Fact("assumed", say("label.assumed"), f"{claim.text}.") for claim in paid.assumed)
    if paid.mechanism != DOMAIN:
        key = "rows.compared" if paid.mechanism == EVALUATION else "rows.model"
        said = say(key, rows=paid.released_rows, source=source_of_rows(paid))
        yield Fact("rows", "", said, value=paid.released_rows, unit="rows")
    if _has_rows(paid):
        yield from verdict_facts(paid.verdict)
    kept = ((len(paid.rules), "rule"), (len(paid.public_tables), "public table"))
    yield from label_facts(keeps=" and ".join(count_text(count, what) for count, what in kept if count))
    for each in paid.accuracy:
        if each.is_headline:
            yield Fact("certified", say("label.certified"), f"{clause(each)}.", value=each.value, unit=each.unit)
    yield from _rules(paid.rules)
    yield from (Fact("public_table", "", _public_table(each)) for each in paid.public_tables)
    if paid.weight is not None:
        yield Fact("weight", say("label.weight"), f"{paid.weight}.")


def protected_text(paid: Certificate) -> str:
    """Return what is protected, in a few sentences."""
    return " ".join(fact.line for fact in _protects(paid))


def _protects(paid: Certificate) -> tuple[Fact, ...]:
    """Return what is protected; of synthetic rows only where there are any."""
    found = tuple(protected_facts(paid.relation, paid.privacy_unit))
    return found[:2] if paid.mechanism == DOMAIN else found


def source_of_rows(paid: Certificate) -> str:
    """Say why the number of rows may be shown."""
    field = unit_field(paid.privacy_unit)
    if any(table.hold == "exact" for table in paid.public_tables):
        return say("rows.public_tables")
    if paid.public_rows is None and paid.mechanism == EVALUATION and paid.expected_rows is not None:
        return say("rows.guess")
    if paid.public_rows is None:
        within = "" if paid.rows_within is None else say("rows.within", rows=paid.rows_within)
        return say("rows.noisy" if field is None else "rows.noisy_used") + within
    is_drawn = paid.released_rows != paid.public_rows
    return say("rows.public") if field is None or is_drawn else say("rows.public_each", field=field)


def _cost(paid: Certificate) -> str:
    """Say what the release cost."""
    questions = counted_lines(paid.lines)
    if paid.total.notion == "pure":
        return say("cost.pure", total=paid.total, questions=questions)
    shown = {delta: pair_text(delta, epsilon) for delta, epsilon in pairs_apart(_requested_first(paid))}
    asked = None if paid.requested.delta is None else shown.pop(paid.requested.delta, None)
    spent = str(paid.total) if asked is None else say("cost.in_rho", pair=asked, rho=at_least(paid.total.rho, 3))
    more = "".join(f"; {pair}" for pair in shown.values())
    lists = say("cost.lists", delta=at_least(paid.delta, 4)) if paid.delta else ""
    return say("cost.zcdp", spent=spent, questions=questions, more=more) + lists


def assumed_points(schema: Schema, certificate: Certificate) -> Iterator[str]:
    """Yield what the promise takes as given: bounds, categories, and all else taken on trust."""
    numbers = Counter[str](field.provenance for field in schema.columns)
    for origin in _ORIGINS:
        if count := numbers[origin]:
            yield say("assumed.fields", count=count, all=len(schema.columns), origin=say(f"assumed.{origin}"))
    said = describe_certificate(certificate)
    yield from said.lines("purchase")
    yield from (sentence(each.text) for each in certificate.assumed)
    yield from said.lines("rule_assumed")
    if certificate.expected_rows is not None:
        yield say("assumed.expected_rows", rows=certificate.expected_rows)
    if certificate.public_rows is not None:
        yield say("assumed.public_rows", rows=certificate.public_rows)


def _requested_first(whole: Certificate) -> Pairs:
    """Return (δ, ε) with the requested δ first, so that it is shown and others stand apart from it."""
    return tuple(sorted(whole.epsilons, key=lambda pair: pair[0] != whole.requested.delta))


def verdict_text(verdict: Verdict) -> str:
    """Return the verdict as one line."""
    better = "" if verdict.better is None else f" {upper_first(verdict.better.text)}."
    relations = "" if verdict.relations is None else relations_text(verdict, verdict.relations)
    return say(
        "verdict.text",
        quality=headline_text(verdict),
        shares=shares_text(verdict.share_error),
        relations=relations,
        better=better,
    )


def headline_text(verdict: Verdict) -> str:
    """Return the headline of a forecast, and the figures behind it."""
    if verdict.shape is None:
        return say("verdict.no_quality")
    parts = "" if verdict.trend is None else say("verdict.about", shape=verdict.shape, trend=verdict.trend)
    return say("verdict.forecast", score=range_text(verdict.least, verdict.most), parts=parts)


def range_text(least: float, most: float) -> str:
    """Return a range in hundredths; one figure where both ends are the same."""
    ends = dict.fromkeys(f"{each:.2f}" for each in (least, most))
    return say("verdict.range", least=f"{least:.2f}", most=f"{most:.2f}") if len(ends) > 1 else next(iter(ends))


def quality_text(score: float, shape: float, trend: float | None) -> str:
    """Return a headline that was measured, and the figures that it is the mean of."""
    parts = "" if trend is None else say("verdict.parts", shape=shape, trend=trend)
    return say("verdict.quality", score=f"{score:.2f}", parts=parts)


def word_text(word: Word) -> str:
    """Return how good something is."""
    return say(f"verdict.word.{word}")


def verdict_short(verdict: Verdict) -> str:
    """Return the headline and the words alone."""
    word = verdict.relations
    relations = "" if word is None else say("verdict.short_relations", word=word_text(word))
    score = word_text(WORDS[-1]) if verdict.shape is None else range_text(verdict.least, verdict.most)
    return say("verdict.short", score=score, shares=word_text(verdict.shares), relations=relations)


def shares_text(error: float | None) -> str:
    """Return how good single columns are."""
    if error is None:
        return say("verdict.unknown_shares")
    return say("verdict.shares", word=word_text(share_word(error)), points=points_text(error))


_WHOLE: Final = 0.1  # from here on points are whole
_LEAST_POINTS: Final = 0.01


def points_text(error: float) -> str:
    """Return a share in percentage points, with two digits that count."""
    if 100 * error < _LEAST_POINTS:
        return say("verdict.least_points", points=_LEAST_POINTS)
    return f"{100 * error:.2g}" if error < _WHOLE else f"{100 * error:.0f}"


def relations_text(verdict: Verdict, word: Word) -> str:
    """Return how good relations are, and what that rests on."""
    counted = say("verdict.counted", learnt=verdict.learnt, pairs=verdict.pairs)
    found, weakest = say("verdict.none_found"), ""
    if verdict.within is not None:
        found = say("verdict.found", strong=verdict.strong, within=verdict.within)
    elif not verdict.learnt:
        counted, found = say("verdict.uncounted"), ""
    if verdict.weakest is not None:
        weakest = say("verdict.weakest" if verdict.weakest < 1 else "verdict.hidden", weakest=verdict.weakest)
    missed = say("verdict.missed") if verdict.learnt and verdict.may_miss else ""
    return say("verdict.relations", word=word_text(word), counted=counted, found=found, weakest=weakest, missed=missed)


def composed_text(found: Mapping[str, Any], releases: int) -> str:
    """Return what several releases cost together, from what `Certificate.compose` returns."""
    lists = read_exact(found["delta"]["exact"])
    summed = say(
        "cost.disjoint" if "disjoint" in found else "cost.together",
        releases=count_text(releases, "release"),
        amount=amount_text(budget_from_dict(found["total"])),
        lists=say("cost.lists", delta=at_least(lists, 3)) if lists else "",
    )
    pairs = [[read_exact(each[key]["exact"]) for key in ("delta", "epsilon")] for each in found["epsilons"]]
    points = [(each["false_alarms"], each["found_at_most"]) for each in found["trade_off"]]
    facts = (zcdp_fact((delta, epsilon) for delta, epsilon in pairs), trade_off_fact(points))
    return "\n".join([summed, *(fact.line for fact in facts)])


def verdict_facts(verdict: Verdict | None) -> Iterator[Fact]:
    """Yield the verdict, or that there is none, and what follows from it."""
    label = say("label.verdict")
    yield Fact("verdict", label, say("verdict.unknown") if verdict is None else verdict_text(verdict))
    for key, notices in () if verdict is None else (("quotable", verdict.quotable), ("not_for", verdict.not_for)):
        if notices:
            yield Fact(key, say(f"label.{key}"), f"{'; '.join(each.text for each in notices)}.")


def _rules(rules: Sequence[KeptRule]) -> Iterator[Fact]:
    """Yield which rules every row keeps, and which of them are only assumed."""
    if rules:
        said = say("rules.one" if len(rules) == 1 else "rules.many", count=len(rules), rules=_listed(rules))
        yield Fact("rule", "", said)
    if assumed := [rule for rule in rules if rule.provenance == "assumed"]:
        yield Fact("rule_assumed", "", say("rules.assumed", rules=_listed(assumed)))


def _listed(rules: Sequence[KeptRule]) -> str:
    more = len(rules) - _LISTED
    return "; ".join([*(rule.text for rule in rules[:_LISTED]), *([say("rules.more", count=more)] if more > 0 else [])])


def _public_table(table: KeptTable) -> str:
    """Say that rows hold a public table, or that it only steered the model."""
    named = say(
        "public_table.named",
        columns=", ".join(table.columns),
        cells=table.cells,
        rows=table.total,
        source=table.source,
    )
    key = "prior" if table.hold == "prior" else "exact" if table.missed is None else "missed"
    before, missed = 100 * (table.before or 0.0), 100 * (table.missed or 0.0)
    return say(f"public_table.{key}", table=named, before=before, missed=missed)


# -- Linked tables.


def _linked(whole: Certificate) -> Iterator[Fact]:
    """Yield what is said of all tables, then of each what is not said of all."""
    yield Fact("protected", say("label.protected"), whole.protected)
    yield Fact("cost", say("label.cost"), linked_cost(whole), **amount_of(whole.total))
    yield Fact("kept", say("label.kept"), " ".join(sentence(each.text) for each in whole.kept or ()))
    yield Fact("not_kept", say("label.not_kept"), say("linked.not_kept"))
    parts = {name: [fact for fact in _own(part) if fact.key not in _OF_ALL] for name, part in whole.parts.items()}
    in_all = [fact for fact in next(iter(parts.values())) if all(fact in facts for facts in parts.values())]
    yield from in_all
    for name, facts in parts.items():
        yield from (replace(fact, part=name) for fact in facts if fact not in in_all)


def linked_cost(whole: Certificate) -> str:
    """Say what all tables cost together."""
    parts = ", ".join(
        say("cost.linked_part", amount=at_least(part.total.amount, 4), name=name) for name, part in whole.parts.items()
    )
    total = amount_text(whole.total)
    if whole.total.notion == "pure":
        return say("cost.linked_pure", total=total, parts=parts)
    pairs = "; ".join(pair_text(delta, epsilon) for delta, epsilon in pairs_apart(whole.epsilons))
    return say("cost.linked_zcdp", total=total, parts=parts, pairs=pairs)


# -- Of both: records, files, and the whole in a few words.


def _recorded(whole: Certificate) -> Iterator[Fact]:
    """Yield where the release is recorded, and what it means that it is nowhere."""
    label, entry = say("label.recorded"), whole.ledger
    where = None if entry is None else say("recorded.in", dataset=entry.dataset, release=entry.release_id)
    yield Fact("recorded", label, where or say("recorded.no"), between=" ")
    yield Fact("recorded_alone", label, where or say("recorded.alone"), between=" ")


def _issued(issued: IssueRecord | None) -> Iterator[Fact]:
    """Yield when it was written, with which files and by whom."""
    if issued is None:
        return
    said = say(
        "issued.at",
        when=issued.when,
        table=say("issued.table", table=issued.table) if issued.table else "",
        python=say("issued.python", version=issued.python) if issued.python else "",
        schema=issued.schema[:SHOWN],
    )
    yield Fact("issued", say("label.issued"), said)
    for each in issued.files:
        yield Fact("file", say("label.file"), _file(each, "issued.file", each.sha256))
        yield Fact("file_short", say("label.file"), _file(each, "issued.file_short", each.sha256[:SHOWN]))
    for key, who in (("prepared_by", issued.prepared_by), ("approved_by", issued.approved_by)):
        if who:
            yield Fact(key, say(f"label.{key}"), f"{who}.")


def _file(file: Beside, key: str, digits: str) -> str:
    rows = "" if file.rows is None else say("issued.file_rows", rows=file.rows)
    return say(key, file=file.target.as_posix(), rows=rows, size=file.size, sha256=digits)


def _summed_up(whole: Certificate) -> Iterator[Fact]:
    """Yield the whole in a few facts: what was released, what is promised, and what the best attack finds."""
    title, made = title_of(whole), made_by(whole)
    yield Fact("release", say("label.release"), say("release.line", title=title, made=made))
    protects = (
        whole.protected[0].lower() + whole.protected[1:]
        if whole.linked is not None
        else " ".join(fact.text for fact in tuple(protected_facts(whole.relation, whole.privacy_unit))[:2])
    )
    yield Fact("promise", say("label.promise"), say("promise.line", price=price_of(whole), protected=protects))
    if whole.assumed_fields:
        said = say("promise.not_protected", fields=", ".join(whole.assumed_fields))
        yield Fact("not_protected", say("label.not_protected"), said)
    yield attack_fact(whole.total, whole.delta, whole.relation, whole.privacy_unit)
    count = len(own_warnings(whole))
    yield Fact("warnings", "", say("release.warnings_1" if count == 1 else "release.warnings", count=count))


def _has_rows(paid: Certificate) -> bool:
    """Return whether rows can be drawn from what was released."""
    return paid.mechanism not in _WITHOUT_ROWS


def title_of(whole: Certificate) -> str:
    """Say what was released of which table, and how."""
    of = say("release.of", table=whole.issued.table) if whole.issued is not None and whole.issued.table else ""
    mechanism = whole.mechanism
    if whole.linked is not None:
        written = {name: part.written_rows for name, part in whole.parts.items() if part.written_rows is not None}
        rows = written or {name: part.released_rows for name, part in whole.parts.items()}
        named = " and ".join(say("release.linked_rows", rows=count, name=name) for name, count in rows.items())
        return say("release.linked", rows=named, of=of, mechanism=mechanism)
    if mechanism in _WITHOUT_ROWS:
        return say("release.domain" if mechanism == DOMAIN else "release.comparison", of=of)
    key, count = ("model", whole.released_rows) if whole.written_rows is None else ("rows", whole.written_rows)
    return say(f"release.{key}", rows=count, of=of, mechanism=mechanism)


def made_by(whole: Certificate) -> str:
    """Say when and by which versions it was written."""
    version, issued = whole.lapwing, whole.issued
    if issued is None:
        return say("release.made", version=version)
    made = say("release.made_at", when=issued.when, version=version)
    return say("release.python", made=made, python=issued.python) if issued.python else made


def pairs_of(whole: Certificate) -> Pairs:
    """Return (δ, ε) that hold, the requested one first; a pure ε has one δ."""
    return ((whole.delta, whole.total.amount),) if whole.total.notion == "pure" else _requested_first(whole)


def budget_of(whole: Certificate) -> str:
    """Return the budget as it was asked for, in signs, and what it comes to in ρ."""
    return budget_text(whole.total, whole.requested.epsilon, whole.requested.delta)


def price_of(whole: Certificate) -> str:
    """Say what is promised, in ε and δ where it can be said so."""
    pairs = pairs_of(whole)
    return pair_text(*pairs[0]) if pairs else str(whole.total)


def full_price(whole: Certificate) -> str:
    """Say the same, with the rho that it is counted in, where it is."""
    return f"{price_of(whole)} ({whole.total})" if whole.total.notion != "pure" and pairs_of(whole) else price_of(whole)


def own_warnings(whole: Certificate) -> tuple[Notice, ...]:
    """Return what the reader should know, but that there is another part, which stands beside this one."""
    return tuple(each for each in whole.warnings if each != ONE_OF_SEVERAL)
