"""The questions that releases ask, the exact part of the room's answers, and how many secret words an answer takes."""

import contextlib
import json
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from helpers.bits import SeededBits
from helpers.kept import Kept
from helpers.linear_runs import AskingSums
from helpers.unrecorded import recorded_in
from lapwing.api.running import run_release
from lapwing.errors import CapacityError, ParameterError
from lapwing.extras.audit.held import RecordingBits
from lapwing.extras.audit.mechanism_pairs import TINY, bought_settings, draft_of, learn_settings, settings_for
from lapwing.extras.evaluate.bought import run_evaluation
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.answering import PrivateRows
from lapwing.kernel.questions.category_selection.answer import exact_texts, listable_counts
from lapwing.kernel.questions.category_selection.question import CategorySelection
from lapwing.kernel.questions.cell_sums.answer import exact_sums
from lapwing.kernel.questions.cell_sums.question import CellSums
from lapwing.kernel.questions.linear_statistics.answer import exact_statistics
from lapwing.kernel.questions.linear_statistics.question import LinearStatistics
from lapwing.kernel.questions.marginal_counts.answer import counted_table
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts
from lapwing.kernel.questions.misfit_rows.answer import misfit_rows
from lapwing.kernel.questions.misfit_rows.question import MisfitRows
from lapwing.kernel.questions.private_draw.answer import exact_weights
from lapwing.kernel.questions.private_draw.question import PrivateDraw
from lapwing.kernel.questions.second_moment.answer import exact_products
from lapwing.kernel.questions.second_moment.question import SecondMoment
from lapwing.kernel.questions.select_worst.answer import misfits
from lapwing.kernel.questions.select_worst.question import SelectWorst
from lapwing.kernel.questions.shared.cell_rows import CellRows
from lapwing.kernel.questions.sparse_counts.question import SparseCounts
from lapwing.kernel.questions.split_decisions.question import SplitDecisions
from lapwing.kernel.questions.table_distances.answer import exact_distances
from lapwing.kernel.questions.table_distances.question import TableDistances
from lapwing.kernel.questions.tree_counts.question import TreeCounts
from lapwing.kernel.room.opening import public_terms
from lapwing.kernel.room.room import Room
from lapwing.kernel.room.transcript import NoTranscript
from lapwing.mechanisms.registry import MECHANISMS
from lapwing.mechanisms.trees.pmm.mechanism import PMM
from lapwing.release.release import Release
from lapwing.release.runs.learned.running import run_learning
from lapwing.rows.exact_tables import ExactTables
from lapwing.rows.source import code_table


@dataclass(frozen=True, slots=True)
class Asked:
    """Some questions, and the settings of the run that asked them."""

    name: str
    settings: object
    run: object
    questions: tuple

    @property
    def schema(self):
        """The schema by which the rows are read."""
        return self.settings.schema


def runs(schema, relation, *, pure=True, times=1000):
    """Yield name, settings and runner of everything that asks questions about rows of a schema.

    A large budget sees to it that Adaptive asks for tables of several columns, and selects them.
    """
    for kind in MECHANISMS.values():
        if relation in kind.small().relations:
            yield kind.name, settings_for(kind.small(), schema, relation, pure=pure, times=times), run_release
    first = settings_for(PMM.small(), schema, relation, pure=pure, times=times)
    yield "misfits", replace(first, misfit_share=Fraction(1, 4)), run_release
    yield "sums", settings_for(AskingSums(), schema, relation, pure=pure, times=times), run_release
    yield "evaluation", bought_settings(schema, relation, pure=pure, times=times), run_evaluation
    names = [field.name for field in schema.columns if field.type != "boolean"]
    if names:
        is_listed = any(field.type == "string" for field in schema.columns)
        budget = {"epsilon" if pure else "rho": times} | ({"delta": TINY} if is_listed else {})
        yield "learning", learn_settings(draft_of(schema), relation, budget=budget, fields=names), run_learning


def asked(data, schema, relation, *, pure=True, times=1000):
    """Return what every run asks about a table, but those that refuse the schema or the budget."""
    found = []
    for name, settings, run in runs(schema, relation, pure=pure, times=times):
        sink = Kept()
        with contextlib.suppress(ParameterError, CapacityError):
            released(code_table(data, settings.schema), settings, run, SeededBits(1), sink=sink)
            found.append(Asked(name, settings, run, tuple(answer.question for answer in sink.answers)))
    return found


def released(source, settings, run, bits, *, recorded=(), sink=None):
    """Run a release without a ledger, with these secret words."""
    terms = terms_of(source, settings)
    return run(
        source, settings, terms, recorded_in(sink or NoTranscript(), secret_bits=lambda: bits, recorded=recorded)
    )


def terms_of(source, settings):
    """Return the public terms."""
    return public_terms(source, settings.schema, settings.relation, settings.expected_rows)


# ------------------------------------------------------------------------------------------------------ exact parts


def exact_part(question, source, schema):
    """Return the bytes of what the room itself computes for a question before it draws any secret word."""
    return b"".join(_bytes(part) for part in _exact(question, source, schema))


def _bytes(part):
    return repr(part).encode() if isinstance(part, (dict, list)) else np.ascontiguousarray(part).tobytes()


def _exact(question, source, schema):
    if type(question) is MarginalCounts:
        return source.count([counted_table(question)])
    if type(question) is TreeCounts:
        return source.count([tuple(zip(question.columns, question.groupings, strict=True))])
    return _OTHERS[type(question)](question, source, schema)


def _of_cells(question, source, _):
    rows = CellRows.of(question.tree, source)
    return [rows.paths, rows.totals]


def _of_texts(question, source, schema):
    missing = schema.field(question.column).missing_values
    return [listable_counts(question, exact_texts(question.column, source), missing)]


_OTHERS = {
    SelectWorst: lambda asked, source, _: misfits([asked], ExactTables(source)),
    SparseCounts: _of_cells,
    SplitDecisions: _of_cells,
    SecondMoment: lambda asked, source, _: [exact_products(asked.coordinates, source)],
    CellSums: lambda asked, source, _: [exact_sums(asked, source)],
    TableDistances: lambda asked, source, _: [exact_distances([asked], source)],
    PrivateDraw: lambda asked, source, _: [exact_weights(asked, source)],
    LinearStatistics: lambda asked, source, schema: [exact_statistics(asked, source, schema)],
    MisfitRows: lambda asked, source, schema: [misfit_rows(asked, PrivateRows.of(source, schema))],
    CategorySelection: _of_texts,
}


def exact_parts(every, data):
    """Return a digest of the exact part of each question of some runs about one table, and rows and units."""
    found = {}
    for run in every:
        source = code_table(data, run.schema)
        for place, question in enumerate(run.questions):
            part = exact_part(question, source, run.schema)
            found[run.name, place, question.kind] = sha256(part).hexdigest()
        found[run.name, "rows", "units"] = (source.rows, source.units)
    return found


# ----------------------------------------------------------------------------------------------------- secret words


def words_drawn(question, source, settings, bits):
    """Return how many secret words the room draws for one question about rows."""
    counted = RecordingBits(bits)
    terms = terms_of(source, settings)
    budget = Budget(question.cost.notion, question.cost.amount)
    sink = NoTranscript()
    Room(source, settings.schema, terms, budget, bits=counted, sink=sink, delta=Fraction(1)).ask(question)
    return counted.playback().left


# ---------------------------------------------------------------------------------------------------------- outputs


def shown(run, data, recorded=(), *, words=3, sink=None):
    """Return the bytes of everything that a run gives, by what it is, with given answers or with given words."""
    source = code_table(data, run.schema)
    made = released(source, run.settings, run.run, SeededBits(words), recorded=recorded, sink=sink)
    if not isinstance(made, Release):
        return {"everything": json.dumps(made.to_dict()).encode()}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "release.lapwing"
        made.save(path)
        saved = path.read_bytes()
    return {
        "model file": saved,
        "certificate": made.certificate.to_json().encode(),
        "rows": made.sample(seed=5).write_csv().encode(),
        "answers": made.answers.write_csv().encode(),
    }
