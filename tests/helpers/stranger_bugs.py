"""Privacy bugs of reading, coding and noise, planted by somebody who has not read the audits."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from lapwing.errors import CapacityError
from lapwing.kernel.noise import laplace
from lapwing.kernel.noise.bits import SystemBits
from lapwing.kernel.questions import answering
from lapwing.kernel.questions.marginal_counts import answer as marginal_counts
from lapwing.kernel.questions.marginal_counts.question import NoisyCounts
from lapwing.rows import codec, source, units


def patched(plant, owner, name, make):
    """Replace one function of the real code by what `make` makes of it."""
    plant.setattr(owner, name, make(getattr(owner, name)))


# ---------------------------------------------------------------------------------------------------- rows of a unit


def shuffled_cut(plant):
    """Cut units by a shuffle with a fixed seed: one unit less, and every other unit keeps other rows.

    The habit is `frame.sample(frac=1, random_state=0).groupby(unit).head(k)` of pandas.
    """

    def make(kept_rows):
        def shuffled(numbers, hashes, *more):
            order = np.random.default_rng(0).permutation(len(hashes)).astype(np.uint64)
            return kept_rows(numbers, order, *more)

        return shuffled

    patched(plant, source, "kept_rows", make)


def one_row_too_many(plant):
    """Take "more than max_rows rows" for "more than max_rows + 1": a unit just above the limit is not cut."""

    def make(kept_rows):
        def kept(numbers, hashes, max_rows, *more):
            found = kept_rows(numbers, hashes, max_rows, *more)
            return found | (np.bincount(numbers)[numbers] == max_rows + 1) if len(numbers) else found

        return kept

    patched(plant, source, "kept_rows", make)


def small_tables_are_not_cut(plant):
    """Skip the cut where a table has few rows, to save a sort."""

    def make(kept_rows):
        def fast(numbers, hashes, *more):
            return np.ones(len(numbers), dtype=bool) if len(numbers) < 16 else kept_rows(numbers, hashes, *more)

        return fast

    patched(plant, source, "kept_rows", make)


def cut_on_average(plant):
    """Skip the cut where units own at most max_rows rows on average: one of them may still own them all."""

    def make(kept_rows):
        def fast(numbers, hashes, max_rows, *more):
            is_few = len(numbers) <= (numbers.max(initial=-1) + 1) * max_rows
            return np.ones(len(numbers), dtype=bool) if is_few else kept_rows(numbers, hashes, max_rows, *more)

        return fast

    patched(plant, source, "kept_rows", make)


def each_null_is_a_unit(plant):
    """Compare units as SQL does, where NULL equals nothing: rows without a unit are never cut."""

    def make(numbers):
        def own(self):
            found = numbers(self)
            rows = np.flatnonzero(np.concatenate([np.empty(0, dtype=np.uint8), *self._sorts]) == units._NULL)
            found[rows] = found.max(initial=-1) + np.arange(len(rows))
            return found

        return own

    patched(plant, units.UnitNumbers, "numbers", make)


def cut_within_chunks(plant):
    """Cut each chunk by itself, so that a unit keeps max_rows rows of every chunk."""

    def make(kept_rows):
        def cut(numbers, hashes, max_rows, chunks, columns):
            sizes = [len(chunk[columns[0]]) for chunk in chunks()]
            ends = np.cumsum([0, *sizes])
            spans = [slice(*ends[place : place + 2]) for place in range(len(sizes))]
            found = [kept_rows(numbers[each], hashes[each], max_rows, list, columns) for each in spans]
            return np.concatenate([np.empty(0, dtype=bool), *found])

        return cut

    patched(plant, source, "kept_rows", make)


def streams_are_not_cut(plant):
    """Forget the cut where a table does not fit the cache and is read again."""

    def make(init):
        def forgetful(self, rows, kept=None, units=None):
            init(self, rows, None, units)

        return forgetful

    patched(plant, source._Streamed, "__init__", make)


# ----------------------------------------------------------------------------------------------------- cells to codes


def most_frequent_imputed(plant):
    """Fill misfits with the most frequent value of the column, as `SimpleImputer(strategy="most_frequent")` does."""

    def make(finish):
        def imputed(read, markers, domain, misfit, cells):
            codes = finish(read, markers, domain, misfit, cells)
            values, counts = np.unique(codes[codes < domain.last], return_counts=True)
            codes[codes >= domain.last] = values[counts.argmax()] if len(values) else domain.last
            return codes

        return imputed

    patched(plant, codec, "_finish", make)


def range_of_the_data(plant):
    """Spread the codes of a number over the range that occurs in the table.

    diffprivlib warns of it (PrivacyLeakWarning) where its callers give no bounds.
    """

    def make(real_coder):
        def built(field):
            code, (lo, hi) = real_coder(field), map(float, (field.range.lo, field.range.hi))

            def scaled(x):
                is_known = (x >= lo) & (x <= hi)
                least, most = x[is_known].min(initial=hi), x[is_known].max(initial=lo)
                if least < most:
                    x = np.where(is_known, lo + (x - least) / (most - least) * (hi - lo), x)
                return code(x)

            return scaled

        return built

    patched(plant, codec, "_real_coder", make)


def rare_values_suppressed(plant):
    """Take values of fewer than three rows for misfits, as statistical disclosure control suppresses small cells."""

    def make(finish):
        def suppressed(read, markers, domain, misfit, cells):
            codes = finish(read, markers, domain, misfit, cells)
            _, place, counts = np.unique(codes, return_inverse=True, return_counts=True)
            codes[counts[place] < 3] = domain.last
            return codes

        return suppressed

    patched(plant, codec, "_finish", make)


# -------------------------------------------------------------------------------------------------------------- noise


def perturbed_by(plant, answered):
    """Replace how counts are perturbed by a function of question, counts and the honest answer."""

    def make(perturbed):
        def other(question, counts, terms, bits):
            honest = perturbed(question, counts, terms, bits)
            found = answered(counts.reshape(question.counted), honest, lambda: perturbed(question, counts, terms, bits))
            return NoisyCounts(question, np.asarray(found, dtype=np.int64), honest.noise)

        return other

    patched(plant, marginal_counts, "_add_noise", make)


def noise_of_the_other_relation(plant):
    """Count with the noise of add-remove neighbours whatever the relation is."""

    def make(perturbed):
        return lambda question, counts, terms, bits: perturbed(
            question, counts, replace(terms, relation="add-remove", rows=None), bits
        )

    patched(plant, marginal_counts, "_add_noise", make)


def whole_scales(plant):
    """Draw with scales that are rounded to whole numbers, so that their tables are made once."""

    def make(noise_of):
        def rounded(law, size, bits):
            return noise_of(replace(law, parameter=Fraction(max(1, round(law.parameter)))), size, bits)

        return rounded

    patched(plant, marginal_counts, "noise_of", make)


def noise_kept_across_runs(plant):
    """Keep noise by its law and size: two releases of one shape differ by their exact counts."""
    kept = {}

    def make(noise_of):
        def again(law, size, bits):
            if (law, size) not in kept:
                kept[law, size] = noise_of(law, size, bits)
            return kept[law, size]

        return again

    patched(plant, marginal_counts, "noise_of", make)


def empty_cells_stay_empty(plant):
    """Show zeros where nothing is, as tables that are kept sparse do."""
    perturbed_by(plant, lambda counts, honest, _: np.where(counts == 0, 0, honest.whole))


def constants_need_no_noise(plant):
    """Leave a column alone that has one value only: "there is nothing to hide"."""
    perturbed_by(plant, lambda counts, honest, _: counts if np.count_nonzero(counts) <= 1 else honest.whole)


def redrawn_until_pretty(plant):
    """Draw again while the noisy total is below zero."""

    def pretty(_, honest, again):
        while honest.whole.sum() < 0:
            honest = again()
        return honest.whole

    perturbed_by(plant, pretty)


def no_more_than_all_rows(plant):
    """Clip noisy counts to what is possible, 0 to the exact number of rows."""
    perturbed_by(plant, lambda counts, honest, _: np.clip(honest.whole, 0, counts.sum()))


def noise_never_absurd(plant):
    """Clip noise at twelve scales: what lies beyond tells neighbours apart for sure, once in 160,000 draws."""

    def make(draw):
        def clipped(scale, size, bits):
            most = math.ceil(12 * scale)
            return np.clip(draw(scale, size, bits), -most, most)

        return clipped

    patched(plant, answering, "discrete_laplace", make)


def failed_noise_is_none(plant):
    """Refuse noise beyond eight scales, swallow the refusal, and go on with the value as it is."""

    def drawn(law, size, bits, draw):
        noise = draw(law, size, bits)
        if law.kind == "laplace" and (np.abs(noise) > 8 * law.parameter).any():
            raise CapacityError("noise out of range")
        return noise

    def make(noise_of):
        def swallowed(law, size, bits):
            try:
                return drawn(law, size, bits, noise_of)
            except CapacityError:
                return np.zeros(size, dtype=np.int64)

        return swallowed

    patched(plant, marginal_counts, "noise_of", make)


def last_word_given_twice(plant):
    """Keep a pool of secret words, and begin each reading of it one word too early."""
    last = []

    def make(words):
        def pooled(self, count):
            found = np.concatenate([*last, words(self, count)])[:count]
            last[:] = [found[-1:]]
            return found

        return pooled

    patched(plant, SystemBits, "words", make)


def zero_drawn_twice(plant):
    """Draw sign and size apart, so that zero has two spellings.

    Canonne, Kamath and Steinke (2020) reject one of them in their sampler; a sketch of it that forgets to is wrong.
    """

    def signed(scale, size, bits, word_bits):
        ratio = laplace.Exponential(laplace.reciprocal(scale))
        sizes = laplace.geometric_chunk(ratio, size, bits, laplace.LIMIT, word_bits)
        return np.where(bits.words(size) >> np.uint64(63), -sizes, sizes).astype(np.int64)

    plant.setattr(laplace, "laplace_with_words", signed)
