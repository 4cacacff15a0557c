"""Privacy bugs of choices, budgets, trees, vectors and what stands beside answers, by the same hand."""

import logging
import warnings
from dataclasses import replace

import numpy as np

from helpers.peeking import rows_behind
from helpers.planted_charging import charges
from helpers.stranger_bugs import patched
from helpers.swapped import swapped
from lapwing.api import running
from lapwing.errors import DataError
from lapwing.kernel.noise.bernoulli import bernoulli_exp_multiples
from lapwing.kernel.noise.selection import uniform_below
from lapwing.kernel.questions.linear_statistics.question import RowStatistic
from lapwing.kernel.questions.second_moment import answer as second_moment
from lapwing.kernel.questions.select_worst import answer as select_worst
from lapwing.kernel.questions.shared.coordinates import Coordinates
from lapwing.kernel.questions.sparse_counts import answer as sparse_counts
from lapwing.kernel.questions.split_decisions import answer as split_decisions
from lapwing.kernel.questions.split_decisions.question import SplitDecisions
from lapwing.kernel.questions.tree_counts.question import TreeCounts
from lapwing.kernel.room import room
from lapwing.kernel.room.curator import ReplayCurator
from lapwing.mechanisms.adaptive import mechanism as adaptive
from lapwing.mechanisms.shared import one_way
from lapwing.model.certificate.certificate import Statement
from lapwing.release.runs import records as front
from lapwing.rows.exact_tables import ExactTables

# ---------------------------------------------------------------------------------------------- selections and budget


def best_of_the_accepted(plant):
    """Take the best of a batch of accepted attempts, as 64 were drawn anyhow; the first alone has the law."""

    def best(scores, epsilon, sensitivity, bits):
        top, unsigned = int(scores.argmax()), scores.view(np.uint64)
        while True:
            tried = (uniform_below(scores.size, 64, bits) + top) % scores.size
            gaps = unsigned[top] - unsigned[tried]
            hits = tried[bernoulli_exp_multiples(gaps, epsilon / (2 * sensitivity), bits)]
            if hits.size:
                return int(hits[scores[hits].argmax()])

    plant.setattr(select_worst, "exponential_mechanism", best)


def misfit_as_a_share(plant):
    """Score misfits in thousandths of the exact number of rows, with the sensitivity of counts."""

    def make(misfit_sums):
        def shares(question, exact):
            return misfit_sums(question, exact) * 1000 // max(1, int(exact[: question.offsets[1]].sum()))

        return shares

    patched(plant, select_worst, "misfit_sums", make)


def tables_of_another_release(plant):
    """Keep exact tables for all releases of a process, by column and grouping: another table's are scored."""
    numbers, tables = {}, {}

    def make(init):
        def shared(self, source, *more):
            init(self, source, *more)
            self._numbers, self._tables = numbers, tables

        return shared

    def make_keep(keep):
        def kept(self, *choices):
            keep(self, *choices)
            tables.update(self._tables)

        return kept

    patched(plant, ExactTables, "__init__", make)
    patched(plant, ExactTables, "_keep", make_keep)


def columns_in_parallel(plant):
    """Take columns for disjoint parts of the data: each gets the whole budget, and the batch is charged once."""
    charge = room.Room._charge

    def make_questions(questions):
        return lambda schema, groupings, budget: tuple(
            replace(each, cost=budget) for each in questions(schema, groupings, budget)
        )

    charges(plant, lambda self, questions: charge(self, (max(questions, key=lambda each: each.cost.amount),)))
    patched(plant, one_way, "one_way_questions", make_questions)


def levels_in_parallel(plant):
    """Charge a tree for its dearest level: cells of one level are disjoint, levels are not."""
    dearest = property(lambda self: max(filter(None, self.costs), key=lambda each: each.amount))
    plant.setattr(TreeCounts, "cost", dearest)


def sure_choices_are_not_drawn(plant):
    """Take the best candidate without a draw where it leads by far: the others become impossible, not rare."""

    def make(draw):
        def hurried(scores, epsilon, sensitivity, bits):
            second, first = np.sort(scores)[-2:].tolist() if scores.size > 1 else (0, 0)
            is_sure = (first - second) * epsilon > 16 * sensitivity
            return int(scores.argmax()) if is_sure else draw(scores, epsilon, sensitivity, bits)

        return hurried

    patched(plant, select_worst, "exponential_mechanism", make)


def rows_looked_up(plant):
    """Take the number of rows that steers the budget from the room, instead of buying it."""

    def make(known_rows):
        def looked_up(curator, budget):
            if isinstance(curator, ReplayCurator):
                return known_rows(curator, budget)
            return float(max(1, rows_behind(curator).rows)), budget

        return looked_up

    patched(plant, adaptive, "public_or_noisy_rows", make)


# ------------------------------------------------------------------------------------------------------ trees, vectors


def lone_rows_are_not_split(plant):
    """Stop a tree at cells of one row, as decision trees do with a least number of samples: an exact count decides."""

    def make(splits):
        return lambda question, counts, *more: splits(question, counts, *more) & (counts > 1)

    patched(plant, split_decisions, "_splits", make)


def one_noise_per_level(plant):
    """Draw the noise of all decisions of a level at once, and once."""

    def make(draw):
        return lambda scale, size, bits: np.repeat(draw(scale, 1, bits), size)

    patched(plant, split_decisions, "discrete_laplace", make)


def depth_without_a_price(plant):
    """Leave out PrivTree's bias against depth, which its constant noise rests on (Zhang, Xiao and Xie 2016)."""
    plant.setattr(SplitDecisions, "biased", lambda self, counts, decided, noise: counts)


def empty_leaves_left_out(plant):
    """List noisy counts of the leaves that hold rows alone, which needs a delta (Korolova et al. 2009)."""

    def make(empties):
        return lambda *asked: tuple(each[:0] for each in empties(*asked))

    patched(plant, sparse_counts, "_empties", make)


def columns_scaled_by_their_largest(plant):
    """Divide each coordinate by the largest that occurs, as `MaxAbsScaler` does, instead of by the public bound."""

    def make(vectors):
        def scaled(self, block):
            found = vectors(self, block)
            return np.rint(found * (self.unit / np.maximum(np.abs(found).max(axis=0, initial=1), 1)))

        return scaled

    patched(plant, Coordinates, "vectors", make)


def centred_at_the_mean(plant):
    """Take products of rows about their exact mean: a covariance, with the sensitivity of a second moment."""

    def make(exact_products):
        def centred(coordinates, private):
            found = [replace(coordinates).vectors(block) for block in second_moment.blocks(private)]
            rows = np.concatenate([np.zeros((0, coordinates.size)), *found])
            moved = np.outer(rows.sum(axis=0), rows.sum(axis=0)) / max(1, len(rows))
            return exact_products(coordinates, private) - np.rint(moved).astype(np.int64)

        return centred

    patched(plant, second_moment, "exact_products", make)


def one_failure_for_all(plant):
    """Catch what a row function raises around the loop over rows, so that one bad row changes the sum of all."""

    def make(values_of_records):
        def caught(self, records):
            listed = list(records)
            try:
                for each in listed:
                    self.function(dict(each))
            except BaseException:  # as the real guard: a function may exit
                return np.full(len(listed), self.lower << 16, dtype=np.int64)
            return values_of_records(self, listed)

        return caught

    patched(plant, RowStatistic, "values_of_records", make)


# ------------------------------------------------------------------------------------------------- beside the answers


def certified_with(plant, stated):
    """Add to the certificate what a function states of the private rows."""
    seen = []

    def make(open_room):
        def opened(private, *more, **settings):
            seen[:] = [private]
            return open_room(private, *more, **settings)

        return opened

    def make_certify(certify):
        def certified(*known, **more):
            found = certify(*known, **more)
            statement = Statement("expected_cell_noise", float(stated(seen[0])))
            return replace(found, accuracy=(*found.accuracy, statement))

        return certified

    patched(plant, front, "open_room", make)
    patched(plant, running, "certify", make_certify)


def misfits_certified(plant):
    """Tell in the certificate how many cells were outside of the schema, as a helpful sign of a bad one."""

    def misfits(private):
        return sum(
            int((codes == codes.max()).sum()) for chunk in private.chunks() for codes in chunk.values() if codes.size
        )

    certified_with(plant, misfits)


def as_many_rows_as_the_table(plant):
    """Release as many rows as the table has, by default."""
    seen = []

    def make(open_room):
        def opened(private, *more, **settings):
            seen[:] = [private]
            return open_room(private, *more, **settings)

        return opened

    def make_finished(finished_model):
        return lambda model, *more: finished_model(replace(model, rows=seen[0].rows), *more)

    patched(plant, front, "open_room", make)
    patched(plant, running, "finished_model", make_finished)


def rows_per_unit_as_observed(plant):
    """Calibrate noise for the rows that units own on average in this table, where the schema allows more."""

    def make(open_room):
        def opened(private, schema, terms, *more, **settings):
            owned = max(1, -(-private.rows // max(1, private.units)))
            return open_room(private, schema, replace(terms, max_rows=min(terms.max_rows, owned)), *more, **settings)

        return opened

    patched(plant, front, "open_room", make)


def rows_of(private):
    """Return how many rows there are, as whoever can count tables can tell."""
    return int(private.tables.count([()])[0][0])


def rows_in_a_debug_line(plant):
    """Log at DEBUG how many rows are counted."""

    def make(answer):
        def logged(questions, private, *more):
            logging.getLogger("lapwing.curator").debug("%d tables over %d rows", len(questions), rows_of(private))
            return answer(questions, private, *more)

        return logged

    swapped(plant, "MarginalCounts", make)


def small_tables_warned_of(plant):
    """Warn that answers are mostly noise where there are few rows."""

    def make(answer):
        def warned(questions, private, *more):
            if rows_of(private) < 10:
                warnings.warn("few rows: the answers are mostly noise", stacklevel=2)
            return answer(questions, private, *more)

        return warned

    swapped(plant, "MarginalCounts", make)


def empty_tables_refused(plant):
    """Refuse a table whose rows were all taken out, before anything is counted."""

    def make(answer):
        def refused(questions, private, *more):
            if not rows_of(private):
                raise DataError("the table has no rows; give one that has")
            return answer(questions, private, *more)

        return refused

    swapped(plant, "MarginalCounts", make)
