"""What a release shows beside its numbers: how many secret words it draws, and how large its files are."""

import json
import sqlite3
from collections import defaultdict
from functools import partial

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers.asked_questions import asked, shown, words_drawn
from helpers.bits import SeededBits
from helpers.kept import Kept
from helpers.private_draws import cube_schema
from lapwing.extras.audit.pairs import neighbour_pair
from lapwing.kernel.budget.ledger import Ledger
from lapwing.kernel.questions.marginal_counts import answer as marginal_counts
from lapwing.rows.source import code_table

FULL = pytest.mark.full

BY_DATA = {
    "SelectWorst": "attempts end with the first that is accepted, whose odds depend on the scores",
    "SplitDecisions": "cells that hold rows are decided one by one, empty ones by the gaps between those that split",
    "SparseCounts": "cells that hold rows are drawn one by one, empty ones by the gaps between those that are kept",
    "CategorySelection": "one draw for each text that occurs",
}
"""Questions whose answer takes more or fewer secret words by the rows, and why: as docs/threat-model.md says."""

SAME = {
    "MarginalCounts", "TreeCounts", "SecondMoment", "CellSums", "LinearStatistics", "TableDistances", "PrivateDraw",
    "MisfitRows",
}  # fmt: skip


def words_by_kind(seeds, *, notions=(True, False)):
    """Return the numbers of words that each question takes on several tables, the words being the same, by its kind.

    The tables: neighbours, none of their rows, all of them three times, and one row 300 times.
    """
    found = defaultdict(list)
    for seed in seeds:
        rng = np.random.default_rng([seed, 12])
        pair = neighbour_pair(rng, "add-remove", int(rng.choice([1, 3])))
        tables = [pair.data, pair.neighbour, pair.data.clear(), pl.concat([pair.data] * 3)]
        tables += [pl.concat([pair.data.head(1)] * 300)]
        for is_pure in notions:
            every = asked(pair.data, pair.schema, "add-remove", pure=is_pure, times=int(rng.choice([1, 100])))
            _count(every, tables, seed, found)
    return found


def _count(every, tables, seed, found):
    for run in every:
        sources = [code_table(table, run.schema) for table in tables]
        for question in run.questions:
            words = [words_drawn(question, source, run.settings, SeededBits(seed)) for source in sources]
            found[question.kind, question.cost.notion].append(words)


def check_words(found):
    """Compare the words of every question with what is said of its kind."""
    for (kind, notion), counted in found.items():
        differing = [words for words in counted if len(set(words)) > 1]
        assert kind in BY_DATA or not differing, (kind, notion, differing[:1])
        assert min(map(min, counted)) > 0 or kind in BY_DATA, (kind, notion)


def check_kinds(found):
    """Compare the kinds that were met, and those whose words differ, with what is said."""
    assert {kind for kind, _ in found} == (SAME | set(BY_DATA)) - {"PrivateDraw"}
    differing = {kind for (kind, _), counted in found.items() if any(len(set(words)) > 1 for words in counted)}
    assert differing >= set(BY_DATA) - {"SelectWorst"}


def test_vectors_take_as_many_secret_words_whatever_the_rows():
    found = words_by_kind([14])

    check_words(found)
    check_kinds(found)


@pytest.mark.full
def test_vectors_take_as_many_secret_words_whatever_the_rows_of_many_tables():
    found = words_by_kind(range(20))

    check_words(found)
    check_kinds(found)
    assert any(len(set(words)) > 1 for notion in ("pure", "zcdp") for words in found["SelectWorst", notion])


def test_a_private_draw_takes_one_secret_word_for_each_drawn_row():
    schema = cube_schema(3)
    rng = np.random.default_rng(4)
    tables = [pl.DataFrame({f"x{place}": rng.random(60) < odds for place in range(3)}) for odds in (0.0, 0.1, 0.5)]
    (run,) = [run for run in asked(tables[0], schema, "replace-one") if run.name == "PrivateSampling"]

    for question in run.questions:
        words = [words_drawn(question, code_table(each, schema), run.settings, SeededBits(2)) for each in tables]

        assert set(words) == {question.draws}


def no_noise_where_nothing_is(law, size, bits, *, honest, counts):
    """Draw noise for cells that hold rows only."""
    noise = np.zeros(size, dtype=np.int64)
    noise[counts > 0] = honest(law, int(np.count_nonzero(counts > 0)), bits)
    return noise


def test_noise_that_is_left_out_in_empty_cells_is_noticed(monkeypatch):
    honest = marginal_counts._add_noise

    def skipping(question, counts, terms, bits):
        draw = partial(no_noise_where_nothing_is, honest=noise_of, counts=counts.reshape(-1))
        monkeypatch.setattr(marginal_counts, "noise_of", draw)
        return honest(question, counts, terms, bits)

    noise_of = marginal_counts.noise_of
    monkeypatch.setattr(marginal_counts, "_add_noise", skipping)

    with pytest.raises(AssertionError, match="MarginalCounts"):
        check_words(words_by_kind([14], notions=(True,)))


# ------------------------------------------------------------------------------------------------------------- files


SCHEMA = {
    "privacyUnit": {"field": "who", "maxRows": 2},
    "fields": [
        {"name": "who", "type": "integer", "role": "identifier"},
        {"name": "kind", "type": "string", "categories": ["a", "b", "c"]},
        {"name": "size", "type": "number", "constraints": {"minimum": 0, "maximum": 1}},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 90}},
    ],
}


def people(rows):
    """Return a table of people with about three rows each."""
    rng = np.random.default_rng(rows)
    return pl.DataFrame(
        {
            "who": rng.integers(0, max(1, rows // 3), rows),
            "kind": rng.choice(["a", "b", "c", "?"], rows),
            "size": rng.random(rows),
            "age": rng.integers(-5, 120, rows),
        }
    )


NAMES = ("r.lapwing", "rows.csv", "rows.parquet", "certificate.json", "report.html", "transcript.jsonl", "all.db")


def files_of(folder, release, transcript, ledger):
    """Write everything that a release can be written to; return the size of each file."""
    folder.mkdir()
    release.save(folder / "r.lapwing")
    rows = release.sample(seed=3)
    rows.write_csv(folder / "rows.csv")
    rows.write_parquet(folder / "rows.parquet")
    (folder / "certificate.json").write_text(release.certificate.to_json())
    release.to_html(folder / "report.html")
    (folder / "transcript.jsonl").write_bytes(transcript.read_bytes())
    (folder / "all.db").write_bytes(ledger.read_bytes())
    return {name: (folder / name).stat().st_size for name in NAMES}


def new_ledger(path):
    terms = {"relation": "add-remove", "privacy_unit": "who:2"}
    Ledger.create_or_open(path).init("people", unit="pure", limit=10, **terms)
    return path


@pytest.mark.parametrize(
    "mechanism",
    ["adaptive", "kdtree", pytest.param("independent", marks=FULL), pytest.param("microaggregation", marks=FULL)],
)
def test_files_of_the_same_answers_are_the_same_on_any_table(mechanism, tmp_path):
    transcript, ledger = tmp_path / "t.jsonl", new_ledger(tmp_path / "ledger.db")
    asked_for = {"epsilon": 1, "seed": 1, "mechanism": mechanism, "ledger": ledger, "dataset": "people"}
    first = lw.synthesize(people(300), SCHEMA, transcript=transcript, misfits=1, **asked_for)
    sizes = files_of(tmp_path / "first", first, transcript, ledger)

    for rows in (0, 299, 3000):
        again = lw.resume(transcript, people(rows))

        assert files_of(tmp_path / str(rows), again, transcript, ledger) == sizes
        for name in set(NAMES) - {"rows.parquet"}:
            assert (tmp_path / str(rows) / name).read_bytes() == (tmp_path / "first" / name).read_bytes()


def test_a_ledger_is_as_large_and_as_long_whatever_the_rows(tmp_path):
    found = []
    for rows in (0, 300, 3000):
        ledger = new_ledger(tmp_path / f"{rows}.db")
        asked_for = {"epsilon": 1, "seed": 1, "mechanism": "independent", "dataset": "people"}
        lw.synthesize(
            people(rows), SCHEMA, ledger=ledger, transcript=tmp_path / f"{rows}.jsonl", misfits=1, **asked_for
        )
        with sqlite3.connect(ledger) as opened:
            lines = [len(line) for line in "\n".join(opened.iterdump()).replace(str(ledger), "").splitlines()]
        opened.close()
        found.append((ledger.stat().st_size, tuple(lines)))

    assert len(set(found)) == 1


def test_a_transcript_says_of_the_table_only_what_was_answered(tmp_path):
    found = []
    for rows in (0, 300):
        path = tmp_path / f"{rows}.jsonl"
        lw.synthesize(people(rows), SCHEMA, epsilon=1, seed=1, mechanism="independent", transcript=path, misfits=1)
        header, *answers = map(json.loads, path.read_text().splitlines())
        header["records"].pop("release_id")
        found.append((header, [(answer["question"], answer["answer"]["noise"]) for answer in answers]))

    assert found[0] == found[1]


def test_what_every_run_gives_is_as_large_on_both_neighbours():
    rng = np.random.default_rng(7)
    for relation in ("add-remove", "replace-one"):
        pair = neighbour_pair(rng, relation, 3)
        for run in asked(pair.data, pair.schema, relation):
            sink = Kept()
            first = shown(run, pair.data, sink=sink)
            second = shown(run, pair.neighbour, sink.answers)
            assert first == second, run.name
