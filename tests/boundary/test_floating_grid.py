"""The floating-grid attack: every float that is released can be reached from both neighbours.

A textbook sampler adds ``b log(u)`` in floats. From different counts different sets of floats can be reached, so that
one released number may exclude a table for sure (Mironov, "On significance of the least significant bits for
differential privacy", CCS 2012). Here noise is added to whole numbers, and floats are computed from the answers alone.
"""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
import pytest
from polars import selectors

from helpers.asked_questions import asked, released, runs
from helpers.kept import Kept
from lapwing.api.running import run_release
from lapwing.extras.audit.mechanism_pairs import settings_for
from lapwing.extras.audit.pairs import neighbour_pair
from lapwing.kernel.noise.bits import SystemBits
from lapwing.mechanisms.independent.mechanism import Independent
from lapwing.release.release import Release
from lapwing.rows.source import code_table
from lapwing.schema.schemas import Schema

SCALE = 2.0
NEAR = 16
"""Uniform numbers on either side of the one that a float asks for that are tried: rounding moves it by fewer."""


def textbook(count, uniform, sign):
    """Return a count with Laplace noise, as textbooks have it."""
    return count + sign * SCALE * np.log(uniform)


def textbook_draws(count, rng, size):
    """Return independent draws of textbook noise around a count."""
    return textbook(count, 1 - rng.random(size), rng.choice([-1.0, 1.0], size))


def is_reachable(values, count):
    """Return which floats some uniform number of 53 bits takes a count to: what the attack asks."""
    found = np.zeros(len(values), dtype=bool)
    wanted = np.exp(-np.abs(values - count) / SCALE) * 2.0**53
    for step in range(-NEAR, NEAR + 1):
        uniform = np.clip(np.rint(wanted) + step, 1, 2.0**53) * 2.0**-53
        for sign in (-1.0, 1.0):
            found |= textbook(count, uniform, sign) == values
    return found


def test_the_attack_wins_against_textbook_noise():
    rng = np.random.default_rng(1)
    values = textbook_draws(0.0, rng, 4000)

    own, other = is_reachable(values, 0.0), is_reachable(values, 1.0)

    assert own.all()
    assert np.mean(~other) > 0.3  # each of these tells for sure that the count was not 1


# ------------------------------------------------------------------------------------------------- everything released


def floats_in(values, name=""):
    """Yield a name and the float of every float in plain JSON values."""
    if isinstance(values, float):
        yield name, values
    elif isinstance(values, dict):
        for key, each in values.items():
            yield from floats_in(each, f"{name}.{key}")
    elif isinstance(values, list | tuple):
        for place, each in enumerate(values):
            yield from floats_in(each, f"{name}.{place}")


def floats_of_frame(frame, name):
    """Yield a name and the floats of every float column."""
    for column in frame.select(selectors.float()).columns:
        yield f"{name}.{column}", frame[column].to_numpy()


def saved_arrays(made):
    """Return the bytes of the saved release, which hold the floats of its laws and of its log-linear parts."""
    if not isinstance(made, Release):
        return {}
    with TemporaryDirectory() as folder:
        made.save(Path(folder) / "release.lapwing")
        return {"saved": (Path(folder) / "release.lapwing").read_bytes()}


def floats_of(made):
    """Return all floats that a run gives, as bytes by their names."""
    if not isinstance(made, Release):
        return {name: np.float64(each).tobytes() for name, each in floats_in(made.to_dict(), "bought")}
    column = made.schema.columns[0].name
    found = [("weights", made.model.weights)]
    found += [*floats_of_frame(made.answers, "answers"), *floats_of_frame(made.query(column), "query")]
    for number, (_, table) in enumerate(made.answer_tables()):
        found += floats_of_frame(table, f"table {number}")
    found += floats_of_frame(made.sample(30, seed=5), "rows")
    found += floats_in(made.certificate.to_dict(), "certificate")
    for name, each in (("accuracy", made.accuracy()), ("accuracy of a table", made.accuracy(column))):
        found += floats_in(each.to_dict(), name)
    if made.certificate.mechanism == "LinearStatistics":
        found += floats_of_frame(made.certified_errors(), "certified errors")
    return {name: np.asarray(each, dtype=np.float64).tobytes() for name, each in found}


def excluded(run, settings, data, neighbour):
    """Return the floats of a release of one table that the same noise cannot have given on its neighbour.

    The attack on ours: the answers, less the neighbour's exact ones, are noise of positive probability, being whole
    numbers; so the floats are reachable if those answers give the same floats there, to the last bit.
    """
    sink = Kept()
    here, there = (code_table(table, settings.schema) for table in (data, neighbour))
    one = released(here, settings, run, SystemBits(), sink=sink)
    other = released(there, settings, run, SystemBits(), recorded=sink.answers)
    first, second = (floats_of(made) | saved_arrays(made) for made in (one, other))
    assert all(issubclass(table.counts.dtype.type, np.integer) for each in sink.answers for table in each.tables)
    return list(first), [name for name in first if first[name] != second.get(name)]


KINDS = {"weights", "answers", "query", "table", "rows", "certificate", "accuracy", "certified", "bought", "saved"}


def attacked(seeds):
    """Return the kinds of floats that were attacked and how many there were of each, and which were excluded."""
    numbers, found = Counter(), []
    for seed in seeds:
        rng = np.random.default_rng([seed, 77])
        relation = ("add-remove", "replace-one")[seed % 2]
        pair = neighbour_pair(rng, relation, int(rng.choice([1, 3])))
        names = {run.name for run in asked(pair.data, pair.schema, relation)}
        for name, settings, run in runs(pair.schema, relation, pure=bool(seed % 3), times=int(rng.choice([1, 100]))):
            if name in names and name != "sums":
                floats, lost = excluded(run, settings, pair.data, pair.neighbour)
                numbers.update(each.partition(".")[0].partition(" ")[0] for each in floats)
                found += [(seed, name, each) for each in lost]
    return numbers, found


def test_no_float_of_a_release_excludes_the_neighbour():
    numbers, found = attacked(range(3))

    assert set(numbers) == KINDS
    assert found == []


@pytest.mark.full
def test_no_float_of_many_releases_excludes_the_neighbour():
    numbers, found = attacked(range(30))

    assert numbers.total() > 10_000
    assert found == []


def with_textbook_noise(source, settings, *places, **more):
    """Release, and write the number of rows with textbook noise into the certificate."""
    made = run_release(source, settings, *places, **more)
    (first, *rest) = made.certificate.accuracy
    noisy = replace(first, value=float(textbook_draws(float(source.rows), np.random.default_rng(), 1)[0]))
    return Release.of_one(replace(made.parts[""], certificate=replace(made.certificate, accuracy=(noisy, *rest))))


def test_textbook_noise_in_a_release_is_noticed():
    pair = neighbour_pair(np.random.default_rng(3), "add-remove", 1)
    settings = settings_for(Independent.small(), pair.schema, "add-remove", pure=True)

    _, lost = excluded(with_textbook_noise, settings, pair.data, pair.neighbour)

    assert "certificate.accuracy.0.value" in lost
    assert "saved" in lost


# ------------------------------------------------------------------------------------------------------ sets of values


FLAG = Schema.from_dict({"fields": [{"name": "flag", "type": "boolean", "constraints": {"required": True}}]})


def values_of(rows, runs, make=run_release):
    """Return, for each float that releases of so many rows give, the list of its values in so many runs."""
    source = code_table(pl.DataFrame({"flag": [True] * rows}), FLAG)
    settings = settings_for(Independent.small(), FLAG, "add-remove", pure=True)
    found = {}
    for _ in range(runs):
        for name, each in floats_of(released(source, settings, make, SystemBits())).items():
            found.setdefault(name, []).append(each)
    return found


def share_met(seen, others):
    """Return the smallest share, over all floats that most releases have, of values that the other table gave too."""
    most = max(map(len, seen.values()))
    usual = {name: values for name, values in seen.items() if 2 * len(values) > most}
    return min(np.mean([each in set(others.get(name, ())) for each in values]) for name, values in usual.items())


def check_sets(runs, least):
    """Compare the values that releases of two neighbours give, ours and those of textbook noise."""
    ours = [values_of(rows, runs) for rows in (4, 5)]
    textbooks = [values_of(rows, runs // 5, with_textbook_noise) for rows in (4, 5)]

    assert any(len(set(values)) > 2 for values in ours[0].values())
    assert min(share_met(*ours), share_met(*ours[::-1])) > least
    assert share_met(*textbooks) == 0


def test_both_neighbours_give_the_same_floats():
    check_sets(100, 0.5)


@pytest.mark.full
def test_both_neighbours_give_the_same_floats_in_many_runs():
    check_sets(1000, 0.9)
