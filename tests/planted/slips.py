"""Slips that show beyond a size, at the second of something, from a cache, under one relation, in a last row."""

import hashlib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from helpers.grown_checks import COSTS, flags_at, flags_of_all, kept_flags
from helpers.grown_questions import KINDS, grown_pair
from helpers.grown_texts import text_flags
from helpers.grown_units import identifier_flags, lone_unit_flags, many_units_flags
from helpers.mended_runs import mended_flags
from helpers.planted_audits import checked
from helpers.planting import instead_of, instead_of_answers, seen_by
from lapwing.api import running
from lapwing.extras.audit.linked_pairs import SCHEMA, examine_linked, linked_pair, linked_settings, with_most_rows
from lapwing.kernel.noise_law import NoiseLaw, row_sensitivity
from lapwing.kernel.questions import answering
from lapwing.kernel.questions.category_selection import answer as category_selection
from lapwing.kernel.questions.category_selection.question import CategorySelection, SelectedTexts
from lapwing.kernel.questions.cell_sums import answer as cell_sums
from lapwing.kernel.questions.linear_statistics import answer as linear_statistics
from lapwing.kernel.questions.marginal_counts import answer as marginal_counts
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.questions.second_moment import answer as second_moment
from lapwing.kernel.questions.table_distances import answer as table_distances
from lapwing.kernel.questions.table_distances.question import TableDistances
from lapwing.kernel.questions.tree_counts import answer as tree_counts
from lapwing.mechanisms.trees.pmm.mechanism import PMM
from lapwing.release.runs import public_rows
from lapwing.rows import codec, counting, linked, source
from lapwing.rows.exact_tables import ExactTables
from lapwing.rows.units import UnitNumbers

PURE, RHO = COSTS.values()
NOISY = (marginal_counts, tree_counts, category_selection, cell_sums, second_moment, linear_statistics, table_distances)

# ----------------------------------------------------------------------------------------------------------- who looks


def cells(name, size, cost, terms=("add-remove", 1), copies=1):
    """Ask one kind of question about so many cells."""
    one, two = grown_pair(2 if KINDS[name].is_narrow else max(size, 2), 400, *terms)
    return flags_at(KINDS[name], [(one, two)], cost, size=size, copies=copies)


def many_rows():
    """Ask every kind of question about more rows than fit a block."""
    return flags_of_all(*grown_pair(16, 70_001, "add-remove", 1), 0, {})


def links():
    """Examine linked tables of which the homes are as full as they may be, and share their people."""
    rng, schema = np.random.default_rng(3), with_most_rows(SCHEMA, 3)
    settings = linked_settings(PMM.small(), times=100, schema=schema)
    pairs = [linked_pair(rng, schema, is_full=True) for _ in range(3)]
    return [flag for one, other in pairs for flag in examine_linked(one, other, settings).flags]


def mended(*given):
    """Mend a release twice."""
    with TemporaryDirectory() as folder:
        return mended_flags(*given, Path(folder) / "t.jsonl")


def digests():
    """Return where priors that differ in one row have one digest."""
    codes = np.zeros(100_000, dtype=np.int64)
    changed = {row: np.where(np.arange(codes.size) == row, 1, codes) for row in (0, 2**14, 99_999)}
    known = public_rows._digest({"x": codes})
    return [f"row {row}" for row, other in changed.items() if public_rows._digest({"x": other}) == known]


# --------------------------------------------------------------------------------------------------------------- sizes


def faster_for_many_cells(patch):
    """Draw noise of half the variance for many cells."""

    def thinner(honest, law, size, bits):
        return honest(law if size <= 50_000 else NoiseLaw(law.kind, law.parameter / 2), size, bits)

    for module in NOISY:
        if hasattr(module, "noise_of"):
            instead_of(module, "noise_of")(thinner)(patch)


@instead_of(answering, "discrete_laplace", "discrete_gaussian")
def tiled_noise(draw, parameter, size, bits):
    """Draw so much noise and repeat it in larger tables."""
    return np.resize(draw(parameter, min(size, 20_000), bits), size)


@instead_of(answering, "discrete_gaussian")
def single_draws_are_the_smallest(draw, parameter, size, bits):
    """Take the smallest of the surplus where a single Gaussian value is wanted."""
    return draw(parameter, size, bits) if size != 1 else draw(parameter, 4, bits).min()[None]


@instead_of(source, "kept_rows")
def many_rows_are_not_cut(honest, numbers, *more):
    """Skip the cut of large tables, where "a person no longer matters"."""
    return np.ones(len(numbers), dtype=bool) if len(numbers) > 10_000 else honest(numbers, *more)


@instead_of(source, "kept_rows")
def a_large_lone_unit_is_cut_by_position(honest, numbers, hashes, max_rows, *more):
    """Keep the first rows of a large table of one unit."""
    if len(numbers) > 4096 and not numbers.any():
        return np.arange(len(numbers)) < max_rows
    return honest(numbers, hashes, max_rows, *more)


@instead_of(MarginalCounts, "noise")
def large_tables_have_half_the_sensitivity(honest, question, *terms):
    """Ask less noise for a table beyond a thousand cells."""
    law = honest(question, *terms)
    return law if np.prod(question.counted) <= 1000 else NoiseLaw(law.kind, law.parameter / 2)


@instead_of(category_selection, "_select")
def most_texts_by_exact_counts(honest, question, exact, *rest):
    """Choose the texts that are shown by their exact counts where there are more than `most`."""
    every = honest(replace(question, most=10**6), exact, *rest)
    order = sorted(range(len(every.texts)), key=lambda place: -exact[every.texts[place]])
    kept = sorted(order[: question.most])
    texts = tuple(every.texts[place] for place in kept)
    return SelectedTexts(question, texts, every.counts[kept], every.noise, every.threshold)


# -------------------------------------------------------------------------------------------------- seconds and caches


def the_second_answer_of_a_batch_shares_its_noise(patch):
    """Draw once for questions of one batch that are the same."""
    kept = {}

    @instead_of(marginal_counts, "_add_noise")
    def once(honest, question, *rest):
        if kept.get("asked") is not question:
            kept.update(asked=question, answer=honest(question, *rest))
        return kept["answer"]

    once(patch)


def the_second_batch_is_exact(patch):
    """Answer what was answered before from the table that is kept, without noise."""
    seen = Counter()

    @instead_of_answers("MarginalCounts")
    def again(honest, questions, rows, *rest):
        found = honest(questions, rows, *rest)
        seen[id(rows)] += 1
        if seen[id(rows)] == 1:
            return found
        exact = rows.tables.count([marginal_counts.counted_table(each) for each in questions])
        both = zip(found, exact, strict=True)
        return tuple(NoisyCounts(each.question, counts.reshape(each.whole.shape), each.noise) for each, counts in both)

    again(patch)


@instead_of(ExactTables, "_keep")
def kept_tables_lack_a_cell(honest, kept, *choices):
    """Keep tables without the rows of their first cell, so that only answers from the cache are wrong."""
    honest(kept, *choices)
    for key, table in kept._tables.items():
        kept._tables[key] = np.append(0, table[1:])


@instead_of(TableDistances, "sensitivity")
def tables_alike_count_once(honest, question, *terms):
    """Bound the change of distances by the tables that differ."""
    bound, share = honest(question, *terms), len(set(question.tables)) / len(question.tables)
    return replace(bound, l1=int(bound.l1 * share), l2_squared=int(bound.l2_squared * share**2))


@instead_of(running, "_checked")
def a_mend_goes_on_under_the_cheaper_relation(honest, rows, settings, terms, earlier=()):
    """Take a mended release for one of add-remove neighbours where units own several rows."""
    if earlier and terms.max_rows > 1:
        settings, terms = (replace(each, relation="add-remove") for each in (settings, terms))
    return honest(rows, settings, terms, earlier)


@instead_of(running, "remaining_budget")
def a_second_mend_forgets_the_first_answers(honest, budget, answers):
    """Take the answers since the last mend for all, so that the budget is spent again."""
    return honest(budget, answers[-1:] if len(answers) > 4 else answers)


@instead_of(MarginalCounts, "sensitivity")
def replaced_units_of_several_rows_count_once(honest, question, relation, max_rows):
    """Forget the rows per unit under replace-one, where more than one is allowed."""
    return row_sensitivity(relation, 1) if relation == "replace-one" else honest(question, relation, max_rows)


@instead_of(linked, "_joined")
def shared_keys_belong_to_the_first_parent(honest, *given):
    """Give rows whose key several parents say to the first of them alone: one who leaves hands them on."""
    found, parents = honest(*given)
    _, first = np.unique(found, return_index=True)
    order = first[np.argsort(parents[first], kind="stable")]
    return found[order], parents[order]


@instead_of(CategorySelection, "threshold")
def texts_of_several_rows_have_the_threshold_of_one(honest, question, relation, max_rows):
    """Show texts from the count that hides one row, where a person may own more."""
    return honest(question, relation, 1)


# ----------------------------------------------------------------------------------------------------------- last rows


@instead_of(codec, "_finish")
def the_last_row_of_a_large_block_is_read_as_the_first(honest, *given):
    """Give the last cell of more than 10,000 the code of the first."""
    codes = honest(*given)
    if len(codes) > 10_000:
        codes[-1] = codes[0]
    return codes


@instead_of(counting, "_blocks")
def the_last_block_is_left_out(honest, *given):
    """Count whole blocks of rows alone where there is more than one."""
    found = list(honest(*given))
    return iter(found if len(found) < 2 else found[:-1])


@instead_of(public_rows, "_digest")
def digest_of_the_first_rows(honest, codes):
    """Digest the first 16,384 rows of a prior."""
    found = hashlib.sha256()
    for name, each in codes.items():
        found.update(f"{name!r}: {each.size}\n".encode())
        found.update(np.ascontiguousarray(each[: 2**14], dtype="<i8").tobytes())
    return found.hexdigest()


@instead_of(UnitNumbers, "_from_texts")
def exponents_are_texts(honest, numbers, texts, sorts):
    """Take a whole number of 17 digits or more that is written with an exponent for a text."""
    keys = honest(numbers, texts, sorts)
    odd = (texts.str.contains("[eE]") & (texts.str.extract("[eE][+]?([0-9]+)").cast(int) >= 17)).fill_null(False)
    at = odd.to_numpy()
    sorts[at], keys[at] = 1, numbers._interned(texts.filter(odd))
    return keys


LINKED = checked(links)
SEEN = (
    (checked(cells, "MarginalCounts", 10**5, PURE), faster_for_many_cells),
    (checked(cells, "TreeCounts", 10**5, RHO), faster_for_many_cells),
    (checked(cells, "MarginalCounts", 10**5, RHO), tiled_noise),
    (checked(cells, "TableDistances", 10, RHO, copies=400), single_draws_are_the_smallest),
    (checked(many_units_flags, 16_385, 3), many_rows_are_not_cut),
    (checked(lone_unit_flags, 4097, 3), a_large_lone_unit_is_cut_by_position),
    (checked(cells, "MarginalCounts", 10**4, PURE), large_tables_have_half_the_sensitivity),
    (checked(text_flags, 100, 60, 60, PURE), most_texts_by_exact_counts),
    (checked(cells, "MarginalCounts", 10, PURE, copies=2), the_second_answer_of_a_batch_shares_its_noise),
    (checked(cells, "MarginalCounts", 10, PURE), the_second_batch_is_exact),
    (checked(kept_flags, None, PURE), kept_tables_lack_a_cell),
    (checked(cells, "TableDistances of two tables alike", 10, PURE), tables_alike_count_once),
    (checked(mended, "replace-one", 3, "epsilon"), a_mend_goes_on_under_the_cheaper_relation),
    (checked(mended, "add-remove", 0, "rho"), a_second_mend_forgets_the_first_answers),
    (checked(cells, "MarginalCounts", 10, PURE, ("replace-one", 3)), replaced_units_of_several_rows_count_once),
    (LINKED, shared_keys_belong_to_the_first_parent),
    (checked(text_flags, 10, 60, 3, PURE, "replace-one", 3), texts_of_several_rows_have_the_threshold_of_one),
    (checked(many_rows), the_last_row_of_a_large_block_is_read_as_the_first),
    (checked(many_rows), the_last_block_is_left_out),
    (checked(digests), digest_of_the_first_rows),
    (checked(identifier_flags), exponents_are_texts),
)
BUGS = [bug for audit, slip in SEEN for bug in seen_by(audit, slip, within=1)]
