"""Every question: its registration and record, what the room takes, and the transcript that keeps it."""

import ast
import inspect
import itertools
import json
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

from helpers.bits import CountingBits, SeededBits
from helpers.kept import Kept
from helpers.source_tree import PACKAGE, syntax
from helpers.transcripts import cut_after
from lapwing.errors import BudgetError, CapacityError, DataError, ParameterError
from lapwing.extras.audit.rechecks import RECHECKS
from lapwing.extras.audit.run import question_cases
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.noise_law import NoiseLaw, NoisyTable, Sensitivity, calibrate_noise
from lapwing.kernel.questions.cell_sums.question import NoisySums
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.questions.questions import Answer, Question
from lapwing.kernel.questions.registered import KINDS, REGISTERED, answer_from_dict, question_from_dict, same_question
from lapwing.kernel.questions.shared.cells import CellTree
from lapwing.kernel.questions.sparse_counts.question import SparseCounts
from lapwing.kernel.questions.split_decisions.question import SplitDecisions
from lapwing.kernel.room.curator import ReplayCurator
from lapwing.kernel.room.room import ANSWERS, Room
from lapwing.kernel.room.transcript import NoTranscript, continue_transcript, create_transcript
from lapwing.kernel.terms import Terms
from lapwing.maths.arrays import read_only
from lapwing.mechanisms.shared.dry_run import zeros
from lapwing.release.runs.plan.effort import noisy_counts
from lapwing.release.shown import answers_in_one_frame
from lapwing.rows.source import code_table
from lapwing.schema.groupings.domains import Domain
from lapwing.schema.groupings.grouping import Grouping, identity
from lapwing.schema.groupings.hierarchies import hierarchy
from lapwing.schema.schemas import Schema


@cache
def case_of(kind):
    """Return the first case that the audit has of a kind."""
    return next(iter(RECHECKS[kind].cases()))


@pytest.fixture(params=KINDS)
def case(request):
    return case_of(request.param)


def room_of(case, bits, *, times=1, recorded=(), sink=None, schema=None):
    """Return a room that so many of the case's questions may be asked."""
    budget = Budget(case.cost.notion, case.cost.amount * times)
    places = {"bits": bits, "sink": sink or Kept(), "recorded": recorded, "delta": Fraction(1, 2)}
    return Room(case.sources[0], schema or case.schema, case.terms, budget, **places)


def answered(case, seed=1):
    return room_of(case, SeededBits(seed)).ask(case.asked)[0]


def test_question_and_answer_come_back_from_their_record(case):
    answer = answered(case)
    record = json.loads(json.dumps(answer.to_dict()))

    back = answer_from_dict(record)

    assert back.to_dict() == record == answer_from_dict(back.to_dict()).to_dict()
    assert same_question(back.question, case.asked)
    assert type(back.question) is type(case.asked)
    assert back.question.cost == case.asked.cost
    assert [table.counts.tolist() for table in back.tables] == [table.counts.tolist() for table in answer.tables]
    assert not any(table.counts.flags.writeable for table in (*answer.tables, *back.tables))


def test_a_question_at_another_cost_is_another_question(case):
    record = case.asked.to_dict()
    other = {"cost": {**record.get("cost", {}), "amount": "1/77"}, "epsilon": "1/77", "draws": 77}
    other["costs"] = ["1/77"] * len(record.get("costs", ()))
    names = other.keys() & record

    assert names
    for name in names:
        changed = question_from_dict(record | {name: other[name]})
        assert not same_question(changed, case.asked)
        assert changed.cost != case.cost


def test_overspending_is_refused_before_any_row_is_read_and_any_word_is_drawn(case):
    bits = CountingBits(SeededBits(1))
    closed = room_of(case, bits)
    closed._rows = replace(closed._rows, source=None, tables=None)

    with pytest.raises(BudgetError, match="more than the budget"):
        closed.ask(case.asked, case.asked)
    assert bits.count == 0


def test_every_question_of_a_batch_is_charged_and_drawn_by_itself(case):
    bits = CountingBits(SeededBits(1))
    open_room = room_of(case, bits, times=2)

    open_room.ask(case.asked, case.asked)

    assert bits.count > 0
    with pytest.raises(BudgetError):
        open_room.ask(case.asked)


def test_a_recorded_answer_is_given_again_without_a_draw_or_a_look_at_the_rows(case):
    bits, sink = CountingBits(SeededBits(1)), Kept()
    answer = answered(case)
    resumed = room_of(case, bits, recorded=[answer], sink=sink)
    resumed._rows = replace(resumed._rows, source=None, tables=None)

    assert resumed.ask(case.asked) == (answer,)
    assert bits.count == 0
    assert sink.answers == []
    (replayed,) = ReplayCurator(case.terms, [answer_from_dict(answer.to_dict())]).ask(case.asked)
    assert replayed.to_dict() == answer.to_dict()


def test_a_record_of_another_question_is_refused(case):
    other = case_of("TreeCounts" if case.question == "MarginalCounts" else "MarginalCounts")

    with pytest.raises(ParameterError, match="the transcript holds another question"):
        room_of(case, SeededBits(1), recorded=[answered(other)]).ask(case.asked)
    with pytest.raises(ParameterError, match="the record holds another question"):
        ReplayCurator(case.terms, [answered(other)]).ask(case.asked)


def test_a_schema_with_other_domains_is_refused_before_any_word_is_drawn(case):
    if case.question == "MisfitRows":
        pytest.skip("it holds no domain: what fits is what the schema of the rows says")
    bits = CountingBits(SeededBits(1))
    fields = [field for field in case.schema.to_dict()["fields"] if field["name"] in {*case.asked.columns, "person"}]
    for field in fields:
        if field["name"] != "person":
            field.pop("open", None)
            field.update(type="integer", constraints={"minimum": 0, "maximum": 6})
    other = type(case.schema).from_dict(case.schema.to_dict() | {"fields": fields})

    with pytest.raises(ParameterError):
        room_of(case, bits, schema=other).ask(case.asked)
    assert bits.count == 0


FOLDERS = PACKAGE / "kernel" / "questions"
OF_A_QUESTION = {name for name in vars(Question) if not name.startswith("_")} | set(Question.__annotations__)


@cache
def tried():
    """Return the kinds of question that the audit has cases of."""
    return {case.question for case in question_cases()}


def lacking(question, folder, *, answers=ANSWERS, rechecks=RECHECKS, cases=None):
    """Return the parts that a registered question does not have."""
    cases = tried() if cases is None else cases
    files = [name for name in ("question.py", "answer.py", "proof.md") if not (folder / name).is_file()]
    says = [name for name in sorted(OF_A_QUESTION) if name not in {*dir(question), *question.__annotations__}]
    tables = {"an answer": answers, "a recount": rechecks, "a black-box case": cases}
    return files + says + [part for part, kinds in tables.items() if question.kind not in kinds]


def folder_of(question):
    return Path(inspect.getfile(question)).parent


@pytest.mark.parametrize("question", REGISTERED, ids=KINDS)
def test_a_registered_question_has_every_part(question):
    assert lacking(question, folder_of(question)) == []
    assert question.kind == question.__name__


def test_every_folder_of_a_question_is_registered_and_nothing_else_is_answered_or_recounted():
    folders = {path.parent for path in FOLDERS.glob("*/question.py")}

    assert {folder_of(each) for each in REGISTERED} == folders
    assert {path.stem for path in (PACKAGE / "extras" / "audit" / "questions").glob("[a-z]*.py")} == {
        path.name for path in folders
    }
    assert set(KINDS) == set(ANSWERS) == set(RECHECKS) == tried()


@pytest.mark.parametrize("part", ["sensitivity", "parts", "check", "from_dict", "called", "cost"])
def test_a_question_without_a_part_is_refused(part):
    names = {name: getattr(MarginalCounts, name, None) for name in OF_A_QUESTION - {part}}
    planted = type("Planted", (), {**names, "kind": "MarginalCounts", "__annotations__": {}})

    assert lacking(planted, folder_of(MarginalCounts)) == [part]


@pytest.mark.parametrize("name", ["question.py", "answer.py", "proof.md"])
def test_a_question_without_a_file_is_refused(tmp_path, name):
    for path in folder_of(MarginalCounts).iterdir():
        if path.is_file() and path.name != name:
            (tmp_path / path.name).touch()

    assert lacking(MarginalCounts, tmp_path) == [name]


@pytest.mark.parametrize(
    ("part", "name"), [("an answer", "answers"), ("a recount", "rechecks"), ("a black-box case", "cases")]
)
def test_a_question_that_is_nowhere_answered_recounted_or_tried_is_refused(part, name):
    assert lacking(MarginalCounts, folder_of(MarginalCounts), **{name: {}}) == [part]


def test_the_closed_set_is_spelt_out_in_the_registration_and_where_it_is_answered_and_recounted_alone():
    files = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    listing = {
        str(path.relative_to(PACKAGE))
        for path, text in files.items()
        if sum(f'"{kind}"' in text or f"    {kind}: " in text or f" {kind},\n" in text for kind in KINDS) > 8
    }

    assert listing == {"kernel/questions/registered.py", "kernel/room/room.py", "extras/audit/rechecks.py"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_dry_run_answers_a_question_as_the_room_does(kind):
    case = next(iter(RECHECKS[kind].cases()))
    room = Room(
        case.sources[0], case.schema, case.terms, case.cost, bits=SeededBits(1), sink=Kept(), delta=Fraction(1, 2)
    )

    (answer,) = room.ask(case.asked)
    dry = zeros(case.asked, case.terms)

    assert type(dry) is type(answer)
    assert answer_from_dict(dry.to_dict()).to_dict() == dry.to_dict()


def test_an_answer_says_what_was_asked():
    assert {"question", "tables", "to_dict"} <= set(vars(Answer))


@dataclass(frozen=True)
class Unknown:
    """A question that no other file knows, with six numbers for its answer."""

    kind: ClassVar[str] = "Unknown"
    columns: tuple[str, ...] = ("a",)
    groupings: tuple[Grouping, ...] = ()
    shape: tuple[int, ...] = (2, 3)
    scale: int = 1
    cost: ClassVar[Budget] = Budget.pure(1)


def test_a_question_that_no_other_file_knows_is_planned_and_its_answer_shown():
    numbers, law = np.arange(6).reshape(2, 3), NoiseLaw("laplace", Fraction(2))
    table = NoisyTable(counts=numbers, noise=law, cost=Unknown().cost)
    of_tables = SimpleNamespace(question=Unknown(), tables=(table,))
    of_sums = NoisySums(question=Unknown(), values=numbers, noise=law)
    schema = Schema.from_dict({"fields": [{"name": "a", "type": "boolean"}]})

    shown = [answers_in_one_frame([answer], schema) for answer in (of_tables, of_sums)]

    assert noisy_counts(Unknown()) == 6
    for frame in shown:
        assert frame["cell"].to_list() == list("012345")
        assert frame["noisy_count"].to_list() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("question", REGISTERED, ids=KINDS)
def test_a_proof_note_names_every_engine_that_counts(question):
    text = (folder_of(question) / "proof.md").read_text(encoding="utf-8")
    files = {path.name for path in (PACKAGE / "rows").rglob("*.py") if defines_counting(path)}

    assert files <= set(ENGINES)
    assert [engine for engine in ENGINES.values() if engine not in text] == []


ENGINES = {
    "source.py": "NumPy",
    "linked.py": "NumPy",
    "duckdb_relations.py": "DuckDB",
    "spark_source.py": "Spark",
}


def defines_counting(path):
    """Tell whether a file has a class that counts tables of a source."""
    classes = (node for node in ast.walk(syntax(path)) if isinstance(node, ast.ClassDef))
    methods = [{each.name for each in node.body if isinstance(each, ast.FunctionDef)} for node in classes]
    return path.name != "counting.py" and any({"count", "count_keys", "texts"} <= each for each in methods)


# --------------------------------------------------------------------------------------------------- the trusted base
def code_lines(path):
    """Return how many lines of a file are no docstring, blank, import or comment."""
    lines = path.read_text(encoding="utf-8").splitlines()
    kept = {place for place, line in enumerate(lines, 1) if line.strip() and line.strip()[0] != "#"}
    for node in ast.walk(syntax(path)):
        is_text = (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        )
        if is_text or isinstance(node, ast.Import | ast.ImportFrom):
            kept -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(kept)


def reached(start):
    """Return the files of the package that some files import, themselves included."""
    found, waiting = set(), list(start)
    while waiting:
        path = waiting.pop()
        if path in found or not path.is_file():
            continue
        found.add(path)
        imports = (node for node in ast.walk(syntax(path)) if isinstance(node, ast.ImportFrom))
        names = [(node.module or "").split(".") for node in imports]
        waiting += [PACKAGE.joinpath(*name[1:]).with_suffix(".py") for name in names if name[0] == "lapwing"]
    return found


def test_the_kernel_imports_of_the_rows_what_counts_guards_and_decodes_and_nothing_else():
    rows = {
        str(path.relative_to(PACKAGE / "rows"))
        for path in reached((PACKAGE / "kernel").rglob("*.py"))
        if "rows" in path.parts
    }

    assert rows == OF_ROWS


def test_the_trusted_base_is_at_most_6300_lines_of_code():
    trusted = [
        PACKAGE / "atomic.py",
        *(PACKAGE / "kernel").rglob("*.py"),
        *(PACKAGE / "rows" / name for name in OF_ROWS),
    ]

    assert 3000 < sum(map(code_lines, trusted)) <= 6300


OF_ROWS = {
    "compiled.py",
    "counting.py",
    "exact_tables.py",
    "guard.py",
    "threads.py",
    "out/decode.py",
}
SCHEMA = Schema.from_dict({"fields": [{"name": "flag", "type": "boolean"}]})
DOMAIN = SCHEMA.field("flag").domain


class Peeking(CellTree):
    """A tree that would see the exact cells."""


class Huge(Fraction):
    """A number that could lie about its quotients."""


class Word(str):
    """A text that could lie about what it equals."""

    __slots__ = ()


class Watching(Grouping):
    """A map that would see the codes."""


def tree(kind=CellTree):
    return kind(columns=("flag",), hierarchies=(hierarchy(DOMAIN, 2),), schedule=(0, 0), first=1)


def counts(**changes):
    return replace(SparseCounts(tree=tree(), threshold=2, epsilon=Fraction(1), notion="pure"), **changes)


def splits(**changes):
    asked = SplitDecisions(tree=tree(), rule="privtree", threshold=1, epsilon=Fraction(1), notion="pure")
    return replace(asked, **changes)


def watching():
    plain = identity(DOMAIN)
    return Watching(**{each.name: getattr(plain, each.name) for each in fields(plain) if each.init})


def marginal(grouping, cost):
    return MarginalCounts(columns=("flag",), groupings=(grouping,), cost=cost)


def room():
    import polars as pl

    source = code_table(pl.DataFrame({"flag": [True, None, False]}), SCHEMA)
    terms = Terms(relation="add-remove")
    return Room(source, SCHEMA, terms, Budget.pure(2), bits=SystemBits(), sink=NoTranscript())


@pytest.mark.parametrize(
    "question",
    [
        counts(tree=tree(Peeking)),
        counts(epsilon=Huge(1)),
        splits(rule=Word("privtree")),
        splits(tree=tree(Peeking)),
        marginal(watching(), Budget.pure(1)),
        marginal(identity(DOMAIN), Budget("pure", Huge(1))),
    ],
    ids=["tree", "epsilon", "rule", "split tree", "grouping", "cost"],
)
def test_a_subclass_inside_a_question_is_refused_before_any_charge(question):
    inside = room()

    with pytest.raises(ParameterError, match="must hold plain values only, no subclasses; build it from the schema"):
        inside.ask(question)

    answers = inside.ask(marginal(identity(DOMAIN), Budget.pure(2)))
    assert len(answers) == 1


@pytest.mark.parametrize("question", [counts(), splits(), counts(threshold=None)])
def test_plain_questions_are_answered(question):
    (answer,) = room().ask(question)

    assert answer.question is question


def test_a_read_only_view_of_an_array_that_can_be_written_to_is_copied():
    base = np.arange(4)
    view = base.view()
    view.flags.writeable = False

    kept = read_only(view)
    base[0] = 9

    assert kept.tolist() == [0, 1, 2, 3]


MARGINAL_DOMAIN = Domain(values=2, specials=0, missing=True, ordered=True, continuous=False)
FLAGS = {"fields": [{"name": name, "type": "boolean"} for name in ("x", "y")]}


def question(cost=None, columns=("x", "y")):
    groupings = tuple(identity(MARGINAL_DOMAIN) for _ in columns)
    return MarginalCounts(columns=columns, groupings=groupings, cost=cost or Budget.pure(1))


def unit_schema(max_rows):
    return Schema.from_dict(
        {
            "fields": [{"name": "who", "type": "integer", "role": "identifier"}, *FLAGS["fields"]],
            "privacyUnit": {"field": "who", "maxRows": max_rows},
        }
    )


def rows_of(who, cells):
    return [{"who": who, "x": cell[0], "y": cell[1]} for cell in cells]


def changes(max_rows, relation):
    """Yield the change of the x-y table over all neighbours whose changed unit owns up to max_rows + 1 rows."""
    schema = unit_schema(max_rows)
    others = rows_of(1, [(True, False)] * 2) + rows_of(2, [(False, False), (True, True)])
    values = list(itertools.product((True, False), repeat=2))
    sets = [
        rows_of(9, c) for size in range(max_rows + 2) for c in itertools.combinations_with_replacement(values, size)
    ]
    whole = identity(MARGINAL_DOMAIN)
    kinds = {"who": pl.Int64, "x": pl.Boolean, "y": pl.Boolean}
    tables = [
        code_table(pl.DataFrame(others + extra, schema=kinds), schema).count([(("x", whole), ("y", whole))])[0]
        for extra in sets
    ]
    if relation == "add-remove":
        return [(table - tables[0]).ravel() for table in tables]
    nonempty = tables[1:]
    return [(one - other).ravel() for one, other in itertools.product(nonempty, repeat=2)]


@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_brute_force_attains_the_claimed_sensitivity_and_never_passes_it(relation, max_rows):
    claimed = question().sensitivity(relation, max_rows)

    moved = changes(max_rows, relation)

    assert max(int(np.abs(change).sum()) for change in moved) == claimed.l1
    assert max(int((change**2).sum()) for change in moved) == claimed.l2_squared


@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("cost", [Budget.pure(Fraction(1, 7)), Budget.zcdp(Fraction(1, 7))])
def test_the_worst_neighbour_loses_exactly_the_cost(relation, max_rows, cost):
    asked = question(cost)
    law = asked.noise(relation, max_rows)
    answer = NoisyCounts(asked, np.zeros(asked.shape, dtype=np.int64), law)

    losses = [answer.privacy_loss(change, np.zeros_like(change)) for change in changes(max_rows, relation)]

    assert max(losses) == cost.amount


def test_noise_laws_are_exact_rationals():
    assert calibrate_noise(Sensitivity(1, 1), Budget.pure("0.1")).parameter == 10
    assert calibrate_noise(Sensitivity(6, 18), Budget.zcdp("0.5")) == NoiseLaw("gaussian", Fraction(18))


def test_a_budget_too_small_for_64_bit_counts_is_refused():
    with pytest.raises(ParameterError, match="larger budget"):
        calibrate_noise(Sensitivity(1, 1), Budget("pure", Fraction(1, 2**52)))


@pytest.mark.parametrize(
    ("kind", "parameter", "sd"), [("laplace", 3, 4.2228), ("gaussian", 9, 3.0), ("laplace", 1, 1.3570)]
)
def test_the_standard_deviation_is_that_of_the_integer_law(kind, parameter, sd):
    z = np.arange(-2000, 2001)
    weights = np.exp(-abs(z) / parameter) if kind == "laplace" else np.exp(-(z**2) / (2 * parameter))
    exact = float(np.sqrt((weights * z**2).sum() / weights.sum()))

    law = NoiseLaw(kind, Fraction(parameter))

    assert law.sd == pytest.approx(exact, rel=1e-9 if kind == "laplace" else 1e-6)


def test_an_answer_that_inflates_beyond_its_table_is_refused():
    big = NoisyCounts(question(), np.zeros((3, 3), dtype=np.int64), NoiseLaw("laplace", Fraction(1))).to_dict()
    import base64
    import zlib

    big["answer"]["counts"] = base64.b64encode(zlib.compress(bytes(10**7))).decode()

    with pytest.raises(ParameterError, match="must hold 9 counts"):
        answer_from_dict(big)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ({"columns": ("x", "x")}, "names a column twice"),
        ({"columns": ("x",)}, "give one each"),
        ({"cost": Budget("pure", Fraction(0))}, "must cost more than 0"),
    ],
)
def test_a_malformed_question_is_refused(broken, message):
    parts = {"columns": ("x", "y"), "groupings": (identity(MARGINAL_DOMAIN),) * 2, "cost": Budget.pure(1)} | broken

    with pytest.raises(ParameterError, match=message):
        MarginalCounts(**parts)


def test_a_table_beyond_the_cell_limit_is_refused():
    wide = Domain(values=2**14, specials=0, missing=True, ordered=True, continuous=False)

    with pytest.raises(CapacityError, match="use coarser groupings"):
        MarginalCounts(columns=("x", "y"), groupings=(identity(wide),) * 2, cost=Budget.pure(1))


def test_an_unknown_kind_of_question_is_refused():
    with pytest.raises(ParameterError, match="unknown question kind"):
        question_from_dict({"kind": "Everything"})


def answer(rows):
    asked = MarginalCounts(columns=(), groupings=(), cost=Budget.pure(Fraction(1, rows)))
    return NoisyCounts(asked, np.array(rows, dtype=np.int64), NoiseLaw("laplace", Fraction(rows)))


def written(path, *rows):
    transcript = create_transcript(path, {"who": "test"})
    transcript.record([answer(number) for number in rows])
    transcript.close()


def read(path):
    transcript, _, answers = continue_transcript(path)
    transcript.close()
    return [int(each.counts) for each in answers]


def test_header_and_answers_are_read_back(tmp_path):
    written(tmp_path / "t.jsonl", 5, 6)

    transcript, header, answers = continue_transcript(tmp_path / "t.jsonl")
    transcript.close()

    assert header["who"] == "test"
    assert [int(each.counts) for each in answers] == [5, 6]


def test_a_last_line_that_was_torn_is_cut_off_and_the_rest_continues(tmp_path):
    path = tmp_path / "t.jsonl"
    written(path, 5, 6)
    path.write_text(cut_after(path, 2)[:-7])

    transcript, _, answers = continue_transcript(path)
    transcript.record([answer(7)])
    transcript.close()

    assert [int(each.counts) for each in answers] == [5]
    assert read(path) == [5, 7]


def test_an_existing_file_is_never_overwritten(tmp_path):
    (tmp_path / "t.jsonl").write_text("precious")

    with pytest.raises(DataError, match="cannot be written"):
        create_transcript(tmp_path / "t.jsonl", {})
    assert (tmp_path / "t.jsonl").read_text() == "precious"


def test_two_processes_cannot_hold_one_transcript(tmp_path):
    transcript = create_transcript(tmp_path / "t.jsonl", {})

    with pytest.raises(DataError, match="in use by another process"):
        continue_transcript(tmp_path / "t.jsonl")

    transcript.close()
    assert read(tmp_path / "t.jsonl") == []


def test_a_symbolic_link_is_the_transcript_that_it_points_to(tmp_path):
    transcript = create_transcript(tmp_path / "t.jsonl", {})
    (tmp_path / "folder").mkdir()
    for link, target in {"link.jsonl": tmp_path / "t.jsonl", "folder/up": tmp_path}.items():
        (tmp_path / link).symlink_to(target)

    for path in (tmp_path / "link.jsonl", tmp_path / "folder" / "up" / "t.jsonl"):
        with pytest.raises(DataError, match="in use by another process"):
            continue_transcript(path)

    transcript.close()
    assert read(tmp_path / "link.jsonl") == []


NO_TRANSCRIPT = "is not a Lapwing transcript"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("no json\n", NO_TRANSCRIPT),
        ("[1]\n", NO_TRANSCRIPT),
        ('{"format": "2"}\n', NO_TRANSCRIPT),
        ('{"format": 1}\n{"question": {}}\n', NO_TRANSCRIPT),
        ('{"format": 1}\n' + "[" * 10**5 + "\n", NO_TRANSCRIPT),
        ('{"format": 2}\n', "in format 2, and this one reads 1"),
        ("", "killed before anything was paid or answered; remove the file and repeat"),
    ],
)
def test_a_file_that_is_no_transcript_is_refused(tmp_path, text, says):
    (tmp_path / "t.jsonl").write_text(text)

    with pytest.raises(DataError, match=says):
        continue_transcript(tmp_path / "t.jsonl")


def test_a_missing_transcript_is_refused_and_leaves_no_lock_file(tmp_path):
    with pytest.raises(DataError, match="there is no transcript"):
        continue_transcript(tmp_path / "t.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_a_discarded_transcript_leaves_nothing(tmp_path):
    create_transcript(tmp_path / "t.jsonl", {}).discard()

    assert list(tmp_path.iterdir()) == []


def test_every_answer_is_on_the_disk_when_record_returns(tmp_path):
    path = tmp_path / "t.jsonl"
    transcript = create_transcript(path, {})

    transcript.record([answer(4)])

    assert json.loads(path.read_text().splitlines()[-1])["answer"]["noise"]["parameter"] == "4"
    transcript.close()
