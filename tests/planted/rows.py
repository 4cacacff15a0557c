"""Bugs of reading and coding rows."""

import logging

import numpy as np

from helpers.planted_audits import replay, replay_of_files
from helpers.planting import instead_of, seen_by
from lapwing.errors import DataError
from lapwing.extras.audit import replay as replaying
from lapwing.kernel.terms import Terms
from lapwing.mechanisms.independent.mechanism import Independent
from lapwing.mechanisms.trees.pmm.mechanism import PMM
from lapwing.rows import codec
from lapwing.rows.counting import count_keys

TABLES = replay(Independent.small())
FILES, FILES_OF_TREES = (replay_of_files(kind.small()) for kind in (Independent, PMM))


class Changed:
    """A source that counts wrongly; its chunks and its counts agree, as they would in a real bug."""

    def __init__(self, source, change):
        self.source, self.change = source, change
        self.columns, self.rows, self.units = source.columns, source.rows, source.units
        self.unmet = source.unmet

    def chunks(self, *, apart=False):
        return iter([self.change({name: np.concatenate(parts) for name, parts in self._whole(apart).items()})])

    def _whole(self, apart):
        chunks = list(self.source.chunks(apart=apart))
        return {name: [np.empty(0, dtype=np.int64), *(chunk[name] for chunk in chunks)] for name in self.columns}

    def count_keys(self, columns):
        return count_keys(self.chunks(apart=True), columns)

    def count(self, tables):
        codes = next(self.chunks(apart=True))
        rows = len(next(iter(codes.values())))
        counts = []
        for table in tables:
            cell = np.zeros(rows, dtype=np.int64)
            for name, grouping in table:
                cell = cell * grouping.groups + grouping.apply(codes[name])
            counts.append(np.bincount(cell, minlength=int(np.prod([g.groups for _, g in table], dtype=int))))
        return counts


def coding(change):
    """Change the codes of a whole column after the honest codec: ``change(codes, last)``."""

    @instead_of(codec, "_finish")
    def finish(honest, read, markers, domain, misfit, cells):
        return change(honest(read, markers, domain, misfit, cells), domain.last)

    return finish


@coding
def misfits_take_the_most_common_value(codes, last):
    """Fill them as `SimpleImputer(strategy="most_frequent")` does: one row can move all misfits."""
    values, counts = np.unique(codes[codes < last], return_counts=True)
    return np.where(codes >= last, values[counts.argmax()], codes).astype(codes.dtype) if len(values) else codes


@coding
def rare_values_are_suppressed(codes, last):
    """Take values of fewer than three rows for misfits, as statistical disclosure control suppresses small cells."""
    _, place, counts = np.unique(codes, return_inverse=True, return_counts=True)
    codes[counts[place] < 3] = last
    return codes


@coding
def codes_are_in_the_order_in_which_values_appear(codes, _):
    """Like ``pandas.factorize``: the first row names the first code."""
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse].astype(codes.dtype)


@coding
def a_log_line_counts_the_misfits(codes, last):
    """Write a helpful message at a level that hardly anybody shows."""
    logging.getLogger("lapwing.table").info("%d cells do not fit the schema", (codes >= last).sum())
    return codes


@coding
def a_strict_codec_refuses_misfits(codes, last):
    """Say only which rule of the schema was broken, and that is one bit about a row."""
    if (codes >= last).any():
        raise DataError("a cell does not fit the schema; clean the table")
    return codes


@instead_of(codec, "_real_coder")
def numbers_are_spread_over_the_range_of_the_data(honest, field):
    """Let codes fill the range that occurs; diffprivlib warns of it (PrivacyLeakWarning) where nobody gives bounds."""
    code, (lo, hi) = honest(field), map(float, (field.range.lo, field.range.hi))

    def scaled(x):
        is_known = (x >= lo) & (x <= hi)
        least, most = x[is_known].min(initial=hi), x[is_known].max(initial=lo)
        return code(np.where(is_known, lo + (x - least) / (most - least) * (hi - lo), x) if least < most else x)

    return scaled


@instead_of(replaying, "public_terms")
def the_private_number_of_rows_is_in_the_terms(honest, source, schema, relation, expected_rows):
    return Terms(relation=relation, max_rows=schema.max_rows, expected_rows=source.rows + 1)


@instead_of(replaying, "code_table")
def bounds_are_taken_from_the_data(honest, *given, **reading):
    def moved(codes):
        return {name: (each - (each.min() if len(each) else 0)).astype(each.dtype) for name, each in codes.items()}

    return Changed(honest(*given, **reading), moved)


@instead_of(replaying, "code_table")
def every_row_is_counted_twice(honest, *given, **reading):
    return Changed(honest(*given, **reading), lambda codes: {name: np.tile(each, 2) for name, each in codes.items()})


@instead_of(replaying, "code_table")
def rows_that_do_not_fit_are_dropped(honest, data, schema, **reading):
    """Drop rows instead of clamping and marking their cells: how many are left tells what they say."""

    def fitting(codes):
        fits = np.all([codes[field.name] != field.domain.last for field in schema.columns], axis=0)
        return {name: column[fits] for name, column in codes.items()}

    source = Changed(honest(data, schema, **reading), fitting)
    source.rows = len(next(source.chunks())[schema.columns[0].name])
    return source


USUAL = (TABLES,)
WITHIN = 64
BUGS = (
    *seen_by(TABLES, the_private_number_of_rows_is_in_the_terms, says="the public terms differ between"),
    *seen_by(TABLES, bounds_are_taken_from_the_data, every_row_is_counted_twice, says="the answers lose"),
    *seen_by(FILES, rows_that_do_not_fit_are_dropped, also=[FILES_OF_TREES], within=1200),
)
