"""How far a noisy number of rows may be off: said where it is told, and true."""

import polars as pl
import pytest

import lapwing as lw
from lapwing.model.certificate.certificate import Certificate

ROWS = 400
TABLE = pl.DataFrame({"x": [n % 20 for n in range(ROWS)], "y": [n % 7 < 3 for n in range(ROWS)]})
SCHEMA = {
    "fields": [
        {"name": "x", "type": "integer", "constraints": {"minimum": 0, "maximum": 19}, "provenance": "public"},
        {"name": "y", "type": "boolean", "provenance": "public"},
    ]
}


def certificate(mechanism="Independent", **settings):
    return lw.synthesize(TABLE, SCHEMA, epsilon=1, mechanism=mechanism, **settings).certificate


@pytest.mark.parametrize("mechanism", ["Independent", "PMM", "LinearStatistics", "Grid"])
def test_most_releases_are_as_near_as_they_say(mechanism):
    found = [certificate(mechanism) for _ in range(20)]

    near = [abs(each.released_rows - ROWS) <= each.rows_within for each in found]
    assert sum(near) >= 12  # of 0.95 each: fewer in one run of 5,000,000


def test_it_is_the_tail_of_the_noise_on_the_total_and_how_far_the_number_is_from_that():
    release = lw.synthesize(TABLE.select("x"), {"fields": SCHEMA["fields"][:1]}, rho=0.02, mechanism="Independent")
    (table,) = release.noisy

    moved = abs(release.certificate.released_rows - int(table.counts.sum()))
    tail = release.certificate.rows_within - moved
    assert tail == pytest.approx(1.96 * table.noise.sd * table.counts.size**0.5, rel=0.05)


def test_the_text_says_it_beside_the_number_and_a_file_keeps_it():
    found = certificate()

    told = f"The model stands for {found.released_rows} rows, a noisy number, within {found.rows_within:.0f} in 95 %"
    assert told in found.text()
    assert 0 < found.rows_within < 100
    assert Certificate.from_dict(found.to_dict()).rows_within == found.rows_within


def test_nothing_is_said_of_a_public_number():
    found = certificate(neighbours="replace-one")

    assert found.rows_within is None
    assert f"The model stands for {ROWS} rows, a public number." in found.text()


def test_accuracy_and_report_tell_the_same_number_once():
    release = lw.synthesize(TABLE, SCHEMA, epsilon=1, mechanism="Adaptive")

    (said,) = (each for each in release.accuracy().statements if each.key == "number_of_rows")
    assert said.value == release.certificate.rows_within
