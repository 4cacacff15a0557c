"""All that a source of coded rows answers, in a form that does not hang on the order of rows."""

from collections import Counter
from itertools import pairwise

import numpy as np

from lapwing.rows.counting import KeyedColumn
from lapwing.schema.groupings.grouping import evenly, identity, interval_grouping, prefix_grouping


def answers(source, schema):
    """Return everything that a source says of its rows, but for texts.

    Returns
    -------
    dict
        Rows, units, dtypes and codes of all rows, the counts of every shape of table, and the counts of keys.
    """
    found = {"rows": source.rows, "units": source.units, "columns": source.columns}
    return found | code_answers(source) | count_answers(source, schema) | key_answers(source, schema)


def code_answers(source):
    """Return the codes of all rows, as multisets with misfits as missing and apart, and their dtypes."""
    found = {"codes": Counter(), "apart": Counter()}
    dtypes = set()
    for kind, rows in found.items():
        for chunk in source.chunks(apart=kind == "apart"):
            assert tuple(chunk) == source.columns
            assert len({len(codes) for codes in chunk.values()}) == 1
            dtypes |= {(name, codes.dtype.str) for name, codes in chunk.items()}
            rows.update(zip(*(codes.tolist() for codes in chunk.values()), strict=True))
    return found | {"dtypes": dtypes if found["codes"] else None}


def count_answers(source, schema):
    """Return tables of no, one, two and three columns, of several kinds of groups, all asked for at once."""
    counts = source.count(tables_of(schema))
    assert all(count.dtype == np.int64 for count in counts)
    return {("count", place): count.tolist() for place, count in enumerate(counts)}


def key_answers(source, schema):
    """Return the distinct keys of one word and of two, where some rows have no key and some keys have the top bit."""
    found = {}
    for words in (1, 2):
        keys, counts = source.count_keys(keyed_columns(schema, words))
        assert (keys.dtype, counts.dtype, len(keys)) == (np.uint64, np.int64, words)
        found["keys", words] = (keys.tolist(), counts.tolist())
    return found


def text_answers(source, names):
    """Return the texts of opened columns, as multisets."""
    return {("texts", name): Counter(text for part in source.texts(name) for text in part.to_list()) for name in names}


def tables_of(schema):
    """Return the tables to ask for."""
    coarse = {field.name: evenly(field.domain, 5) for field in schema.columns}
    tables = [(), *(((name, grouping),) for name, grouping in coarse.items())]
    for field in schema.columns:
        domain = field.domain
        tables.append(((field.name, prefix_grouping(domain, max(0, int(domain.values).bit_length() - 3))),))
        if domain.values > 2:
            tables.append(((field.name, interval_grouping(domain, [1, domain.values - 1])),))
        if domain.values < 500:
            tables.append(((field.name, identity(domain)),))
    names = tuple(coarse)
    joint = [*pairwise(names), *zip(names, names[1:], names[2:], strict=False)]
    return [*tables, *(tuple((name, coarse[name]) for name in each) for each in joint)]


def keyed_columns(schema, words):
    """Return columns with keys in the topmost bits, and none for the reserved groups of every other column."""
    found = []
    for place, field in enumerate(schema.columns[:8]):
        grouping = evenly(field.domain, 5)
        covered = grouping.regular if place % 2 else grouping.groups
        keys = np.zeros((covered, words), dtype=np.uint64)
        keys[:, place % words] = (255 - np.arange(covered, dtype=np.uint64)) << np.uint64(56 - 8 * (place // words))
        found.append(KeyedColumn(field.name, grouping, keys))
    return found
