"""Model files: what is saved comes back, the same bytes every time."""

import zipfile
from pathlib import Path

import numpy as np
import pytest

from helpers.saved import save, small_saved
from lapwing.errors import CapacityError, DataError, ParameterError
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.questions.registered import same_question
from lapwing.kernel.room import container
from lapwing.model import files
from lapwing.model.files import SavedRelease, load_release
from lapwing.model.laws import laws_from_probabilities
from lapwing.model.model import Indexed, ReleasedModel, Spans
from lapwing.schema.groupings.grouping import interval_grouping
from lapwing.schema.schemas import Schema


def _arrays(model: ReleasedModel) -> list[np.ndarray]:
    found = [model.weights]
    for law in model.laws.values():
        if isinstance(law, Indexed):
            found += [law.index, law.laws.offsets, law.laws.starts, law.laws.stops, law.laws.probabilities]
        elif isinstance(law, Spans):
            found += [law.starts, law.stops]
        else:
            found += [law.p]
    if model.log_linear is not None:
        found += [*model.log_linear.thetas, *(laws.probabilities for laws in model.log_linear.base.values())]
    return found


def _wide(atoms: int, seed: int = 0) -> SavedRelease:
    """Return a release of 2^32-cell columns with a long list of cuts."""
    schema = Schema.from_dict(
        {"fields": [{"name": f"x{i}", "type": "number", "constraints": {"minimum": 0, "maximum": 1}} for i in range(5)]}
    )
    rng = np.random.default_rng(seed)
    edges = np.arange(17) * 2**28
    laws = {
        f"x{i}": Indexed(
            ((np.arange(atoms) >> (4 * i)) & 15).astype(np.uint8),
            laws_from_probabilities(edges[:-1], edges[1:], np.eye(16)),
        )
        for i in range(5)
    }
    small = small_saved()
    domain = schema.field("x0").domain
    question = MarginalCounts(
        columns=("x0",), groupings=(interval_grouping(domain, np.arange(1, 1001) * 4_000_000),), cost=Budget.zcdp(1)
    )
    answer = NoisyCounts(question, rng.integers(0, 9, question.shape), question.noise("add-remove", 1))
    model = ReleasedModel(weights=rng.random(atoms), rows=10**7, laws=laws)
    return SavedRelease(schema, model, small.certificate, (answer,))


def test_a_release_comes_back_as_it_was(tmp_path: Path):
    saved = small_saved()

    save(saved, tmp_path / "a.lapwing")
    back = load_release(tmp_path / "a.lapwing")

    assert back.schema == saved.schema
    assert back.certificate == saved.certificate
    assert back.model.rows == saved.model.rows
    assert list(back.model.laws) == list(saved.model.laws)
    for one, other in zip(_arrays(back.model), _arrays(saved.model), strict=True):
        assert one.dtype == other.dtype
        assert np.array_equal(one, other)
        assert not one.flags.writeable
    assert back.model.log_linear.tables == saved.model.log_linear.tables
    assert back.model.log_linear.groupings == saved.model.log_linear.groupings
    for one, other in zip(back.answers, saved.answers, strict=True):
        assert same_question(one.question, other.question)
        assert one.to_dict() == other.to_dict()


def test_the_answer_to_a_question_about_the_row_count_comes_back(tmp_path: Path):
    saved = small_saved()
    question = MarginalCounts(columns=(), groupings=(), cost=Budget.zcdp("0.1"))
    answer = NoisyCounts(question, np.array(42), question.noise("add-remove", 1))

    save(SavedRelease(saved.schema, saved.model, saved.certificate, (answer,)), tmp_path / "a.lapwing")
    back = load_release(tmp_path / "a.lapwing")

    assert back.answers[0].counts.shape == ()
    assert int(back.answers[0].counts) == 42


def test_equal_releases_give_equal_bytes(tmp_path: Path):
    save(small_saved(), tmp_path / "a.lapwing")
    save(small_saved(), tmp_path / "b.lapwing")
    save(load_release(tmp_path / "a.lapwing"), tmp_path / "c.lapwing")

    content = (tmp_path / "a.lapwing").read_bytes()
    assert (tmp_path / "b.lapwing").read_bytes() == content
    assert (tmp_path / "c.lapwing").read_bytes() == content


def test_a_place_that_cannot_be_written_gives_one_sentence(tmp_path: Path):
    with pytest.raises(DataError, match=r"cannot be written \(No such file or directory\)"):
        save(small_saved(), tmp_path / "missing" / "a.lapwing")


def test_a_save_that_fails_half_way_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(container, "MAX_BYTES", 1000)

    with pytest.raises(CapacityError, match="more than a model file may hold"):
        save(small_saved(), tmp_path / "a.lapwing")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["missing.lapwing", ".", "nul\0.lapwing"])
def test_a_path_that_cannot_be_read_gives_one_sentence(tmp_path: Path, name: str):
    with pytest.raises(DataError, match="cannot be read"):
        load_release(tmp_path / name)


def test_a_model_of_another_schema_is_not_saved():
    saved = small_saved()

    with pytest.raises(ParameterError, match="does not fit a schema"):
        SavedRelease(_wide(16).schema, saved.model, saved.certificate, saved.answers)


def test_long_lists_and_equal_arrays_are_stored_once_as_arrays(tmp_path: Path):
    saved = _wide(64)

    save(saved, tmp_path / "a.lapwing")

    back = load_release(tmp_path / "a.lapwing")
    assert back.answers[0].question.groupings == saved.answers[0].question.groupings
    with zipfile.ZipFile(tmp_path / "a.lapwing") as archive:
        assert archive.getinfo("answers.json").file_size < 1000
        # Weights, cuts and counts; three different indices of atoms; the four arrays of the one table of laws.
        assert sum(name.endswith(".npy") for name in archive.namelist()) == 10


def test_groupings_that_list_too_much_are_not_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(files, "_MAX_LISTED", 999)

    with pytest.raises(CapacityError, match="list more than 999"):
        save(_wide(16), tmp_path / "a.lapwing")


def test_arrays_of_equal_entries_do_not_look_like_a_bomb_when_they_are_read(tmp_path: Path):
    saved = _wide(2**21)
    model = ReleasedModel(weights=np.ones(2**21), rows=0, laws=saved.model.laws)

    save(SavedRelease(saved.schema, model, saved.certificate, ()), tmp_path / "a.lapwing")

    assert load_release(tmp_path / "a.lapwing").model.atoms == 2**21
    with zipfile.ZipFile(tmp_path / "a.lapwing") as archive:
        assert archive.getinfo("a00000.npy").compress_type == zipfile.ZIP_STORED


def test_saving_replaces_the_file_and_leaves_nothing_else_behind(tmp_path: Path):
    path = tmp_path / "a.lapwing"
    path.write_text("old")

    save(small_saved(), path)

    assert load_release(path).model.rows == 100
    assert [each.name for each in tmp_path.iterdir()] == ["a.lapwing"]
