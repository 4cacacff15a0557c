"""Lists of texts of any length, counted again from what was written."""

from fractions import Fraction

import numpy as np
import polars as pl

from helpers.grown_checks import asked
from lapwing.extras.audit.rechecks import noise_flags
from lapwing.kernel.questions.category_selection.question import CategorySelection
from lapwing.kernel.terms import Terms
from lapwing.rows.source import code_table
from lapwing.schema.fields import Field
from lapwing.schema.schemas import Schema

SCHEMA = Schema(fields=(Field(name="town", type="string", open=True),))


def text_flags(texts, rows_of_each, most, cost, relation="add-remove", max_rows=1):
    """Return what is wrong with lists of so many texts, of about so many rows each, of which so many are shown.

    Rows differ by a few from text to text, so that exact counts, which may not choose, and noisy ones, which do, have
    other orders; the last row is of a text of its own.
    """
    counts = {f"t{place:06}": rows_of_each + (place * 7) % 5 * (rows_of_each > 1) for place in range(texts)} | {"~": 1}
    column = np.repeat(list(counts), list(counts.values()))
    source = code_table(pl.DataFrame({"town": column}), SCHEMA)
    terms = Terms(relation=relation, max_rows=max_rows)
    question = CategorySelection(column="town", prefix=None, cost=cost, delta=Fraction(1, 10**12), most=most)
    answers, bits = asked(source, SCHEMA, terms, [[question, question], [question]], cost)
    return noise_flags(answers, [[counts]] * len(answers), terms, bits.playback())
