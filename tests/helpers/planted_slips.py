"""Privacy slips that show beyond a size, at the second of something, from a cache, under one relation, in a last row.

Each is a name and a function that plants it; `test_planted_slips` says what must see it.
"""

import hashlib
from collections import Counter
from dataclasses import replace

import numpy as np

from helpers.stranger_bugs import patched
from lapwing.api import running
from lapwing.kernel.noise_law import NoiseLaw, row_sensitivity
from lapwing.kernel.questions import answering
from lapwing.kernel.questions.category_selection import answer as category_selection
from lapwing.kernel.questions.category_selection.question import CategorySelection, SelectedTexts
from lapwing.kernel.questions.cell_sums import answer as cell_sums
from lapwing.kernel.questions.linear_statistics import answer as linear_statistics
from lapwing.kernel.questions.marginal_counts import answer as marginal_counts
from lapwing.kernel.questions.marginal_counts.question import NoisyCounts
from lapwing.kernel.questions.second_moment import answer as second_moment
from lapwing.kernel.questions.table_distances import answer as table_distances
from lapwing.kernel.questions.table_distances.question import TableDistances
from lapwing.kernel.questions.tree_counts import answer as tree_counts
from lapwing.kernel.room import room
from lapwing.release.runs import public_rows
from lapwing.rows import codec, counting, linked, source
from lapwing.rows.exact_tables import ExactTables
from lapwing.rows.units import UnitNumbers

NOISY = (marginal_counts, tree_counts, category_selection, cell_sums, second_moment, linear_statistics, table_distances)


def everywhere(plant, name, make):
    """Replace a function in every module of answers that has it."""
    for module in NOISY:
        if hasattr(module, name):
            patched(plant, module, name, make)


# ------------------------------------------------------------------------------------------------------------- sizes


def faster_for_many_cells(plant, most=50_000):
    """Draw noise of half the variance for many cells."""

    def make(noise_of):
        def drawn(law, size, bits):
            thinner = law if size <= most else NoiseLaw(law.kind, law.parameter / 2)
            return noise_of(thinner, size, bits)

        return drawn

    everywhere(plant, "noise_of", make)


def tiled_noise(plant, most=20_000):
    """Draw so much noise and repeat it in larger tables."""

    def make(draw):
        return lambda parameter, size, bits: np.resize(draw(parameter, min(size, most), bits), size)

    patched(plant, answering, "discrete_laplace", make)
    patched(plant, answering, "discrete_gaussian", make)


def single_draws_are_the_smallest(plant):
    """Take the smallest of the surplus where a single Gaussian value is wanted."""

    def make(draw):
        return lambda parameter, size, bits: (
            draw(parameter, size, bits) if size != 1 else draw(parameter, 4, bits).min()[None]
        )

    patched(plant, answering, "discrete_gaussian", make)


def many_rows_are_not_cut(plant, most=10_000):
    """Skip the cut of large tables, where "a person no longer matters"."""

    def make(kept_rows):
        def kept(numbers, *more):
            return np.ones(len(numbers), dtype=bool) if len(numbers) > most else kept_rows(numbers, *more)

        return kept

    patched(plant, source, "kept_rows", make)


def a_large_lone_unit_is_cut_by_position(plant, most=4096):
    """Keep the first rows of a large table of one unit."""

    def make(kept_rows):
        def kept(numbers, hashes, max_rows, *more):
            if len(numbers) > most and not numbers.any():
                return np.arange(len(numbers)) < max_rows
            return kept_rows(numbers, hashes, max_rows, *more)

        return kept

    patched(plant, source, "kept_rows", make)


def large_tables_have_half_the_sensitivity(plant):
    """Ask less noise for a table beyond a thousand cells."""
    honest = marginal_counts.MarginalCounts.noise

    def noise(self, relation, max_rows):
        law = honest(self, relation, max_rows)
        return law if np.prod(self.counted) <= 1000 else NoiseLaw(law.kind, law.parameter / 2)

    plant.setattr(marginal_counts.MarginalCounts, "noise", noise)


def most_texts_by_exact_counts(plant):
    """Choose the texts that are shown by their exact counts where there are more than `most`."""

    def make(selected):
        def chosen(question, exact, terms, bits):
            every = selected(replace(question, most=10**6), exact, terms, bits)
            order = sorted(range(len(every.texts)), key=lambda place: -exact[every.texts[place]])
            kept = sorted(order[: question.most])
            texts = tuple(every.texts[place] for place in kept)
            return SelectedTexts(question, texts, every.counts[kept], every.noise, every.threshold)

        return chosen

    patched(plant, category_selection, "_select", make)


# -------------------------------------------------------------------------------------------------- seconds and caches


def the_second_answer_of_a_batch_shares_its_noise(plant):
    """Draw once for questions of one batch that are the same."""

    def make(perturbed):
        kept = {}

        def once(question, counts, terms, bits):
            if kept.get("asked") is not question:
                kept.update(asked=question, answer=perturbed(question, counts, terms, bits))
            return kept["answer"]

        return once

    patched(plant, marginal_counts, "_add_noise", make)


def the_second_batch_is_exact(plant):
    """Answer what was answered before from the table that is kept, without noise."""

    def make(answer):
        seen = Counter()

        def again(questions, rows, terms, bits):
            found = answer(questions, rows, terms, bits)
            seen[id(rows)] += 1
            if seen[id(rows)] == 1:
                return found
            exact = rows.tables.count([marginal_counts.counted_table(each) for each in questions])
            both = zip(found, exact, strict=True)
            return tuple(
                NoisyCounts(each.question, counts.reshape(each.whole.shape), each.noise) for each, counts in both
            )

        return again

    answers = dict(room.ANSWERS) | {"MarginalCounts": make(room.ANSWERS["MarginalCounts"])}
    plant.setattr(room, "ANSWERS", answers)


def kept_tables_lack_a_cell(plant):
    """Keep tables without the rows of their first cell, so that only answers from the cache are wrong."""

    def make(keep):
        def kept(self, *choices):
            keep(self, *choices)
            for key, table in self._tables.items():
                self._tables[key] = np.append(0, table[1:])

        return kept

    patched(plant, ExactTables, "_keep", make)


def tables_alike_count_once(plant):
    """Bound the change of distances by the tables that differ."""
    honest = TableDistances.sensitivity

    def sensitivity(self, relation, max_rows):
        bound = honest(self, relation, max_rows)
        share = len(set(self.tables)) / len(self.tables)
        return replace(bound, l1=int(bound.l1 * share), l2_squared=int(bound.l2_squared * share**2))

    plant.setattr(TableDistances, "sensitivity", sensitivity)


def a_mend_goes_on_under_the_cheaper_relation(plant):
    """Take a mended release for one of add-remove neighbours where units own several rows."""

    def make(checked):
        def cheaper(source, settings, terms, earlier=()):
            if earlier and terms.max_rows > 1:
                settings, terms = (replace(each, relation="add-remove") for each in (settings, terms))
            return checked(source, settings, terms, earlier)

        return cheaper

    patched(plant, running, "_checked", make)


def a_second_mend_forgets_the_first_answers(plant):
    """Take the answers since the last mend for all, so that the budget is spent again."""

    def make(left_of):
        return lambda budget, answers: left_of(budget, answers[-1:] if len(answers) > 4 else answers)

    patched(plant, running, "left_of", make)


def replaced_units_of_several_rows_count_once(plant):
    """Forget the rows per unit under replace-one, where more than one is allowed."""
    honest = marginal_counts.MarginalCounts.sensitivity

    def sensitivity(self, relation, max_rows):
        return row_sensitivity(relation, 1) if relation == "replace-one" else honest(self, relation, max_rows)

    plant.setattr(marginal_counts.MarginalCounts, "sensitivity", sensitivity)


def shared_keys_belong_to_the_first_parent(plant):
    """Give rows whose key several parents say to the first of them alone: one who leaves hands them on."""

    def make(joined):
        def once(rows, keys, of_parents):
            found, parents = joined(rows, keys, of_parents)
            _, first = np.unique(found, return_index=True)
            order = first[np.argsort(parents[first], kind="stable")]
            return found[order], parents[order]

        return once

    patched(plant, linked, "_joined", make)


def texts_of_several_rows_have_the_threshold_of_one(plant):
    """Show texts from the count that hides one row, where a person may own more."""
    honest = CategorySelection.threshold
    plant.setattr(CategorySelection, "threshold", lambda self, relation, _: honest(self, relation, 1))


# ----------------------------------------------------------------------------------------------------------- last rows


def the_last_row_of_a_large_block_is_read_as_the_first(plant):
    """Give the last cell of more than 10,000 the code of the first."""

    def make(finish):
        def finished(*given):
            codes = finish(*given)
            if len(codes) > 10_000:
                codes[-1] = codes[0]
            return codes

        return finished

    patched(plant, codec, "_finish", make)


def the_last_block_is_left_out(plant):
    """Count whole blocks of rows alone where there is more than one."""

    def make(blocks):
        def whole(chunk, *size):
            found = list(blocks(chunk, *size))
            return iter(found if len(found) < 2 else found[:-1])

        return whole

    patched(plant, counting, "_blocks", make)


def digest_of_the_first_rows(plant):
    """Digest the first 16,384 rows of a prior."""

    def digest(codes):
        found = hashlib.sha256()
        for name, each in codes.items():
            found.update(f"{name!r}: {each.size}\n".encode())
            found.update(np.ascontiguousarray(each[: 2**14], dtype="<i8").tobytes())
        return found.hexdigest()

    plant.setattr(public_rows, "_digest", digest)


def exponents_are_texts(plant):
    """Take a whole number of 17 digits or more that is written with an exponent for a text."""

    def make(from_texts):
        def plain(self, cells, sorts):
            keys = from_texts(self, cells, sorts)
            odd = (cells.str.contains("[eE]") & (cells.str.extract("[eE][+]?([0-9]+)").cast(int) >= 17)).fill_null(
                False
            )
            at = odd.to_numpy()
            sorts[at], keys[at] = 1, self._interned(cells.filter(odd))
            return keys

        return plain

    patched(plant, UnitNumbers, "_from_texts", make)


EVERY = (
    faster_for_many_cells,
    tiled_noise,
    single_draws_are_the_smallest,
    many_rows_are_not_cut,
    a_large_lone_unit_is_cut_by_position,
    large_tables_have_half_the_sensitivity,
    most_texts_by_exact_counts,
    the_second_answer_of_a_batch_shares_its_noise,
    the_second_batch_is_exact,
    kept_tables_lack_a_cell,
    tables_alike_count_once,
    a_mend_goes_on_under_the_cheaper_relation,
    a_second_mend_forgets_the_first_answers,
    replaced_units_of_several_rows_count_once,
    shared_keys_belong_to_the_first_parent,
    texts_of_several_rows_have_the_threshold_of_one,
    the_last_row_of_a_large_block_is_read_as_the_first,
    the_last_block_is_left_out,
    digest_of_the_first_rows,
    exponents_are_texts,
)
"""All slips."""
