import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from lapwing.errors import DataError, ParameterError
from lapwing.rows.out.outputs import whole_files


def test_files_appear_together_and_only_when_the_block_ends(tmp_path):
    targets = [tmp_path / "m.lapwing", tmp_path / "rows.csv", tmp_path / "c.json"]

    with whole_files(targets) as places:
        for place in places:
            place.write_text("new")
        seen_inside = [target.exists() for target in targets]

    assert seen_inside == [False] * 3
    assert [target.read_text() for target in targets] == ["new"] * 3
    assert sorted(tmp_path.iterdir()) == sorted(targets)


def test_temporary_files_are_hidden_private_and_of_the_target_s_kind(tmp_path):
    with whole_files([tmp_path / "rows.csv"]) as (place,):
        folder, mode = place.parent.name, stat.S_IMODE(place.parent.stat().st_mode)

    assert folder.startswith(".")
    assert place.suffix == ".csv"
    assert mode == 0o700


def test_finished_files_have_the_mode_of_normal_files(tmp_path):
    normal = tmp_path / "normal"
    normal.touch()

    with whole_files([tmp_path / "rows.csv"]):
        pass

    assert (tmp_path / "rows.csv").stat().st_mode == normal.stat().st_mode


def test_a_failure_leaves_earlier_versions_and_nothing_else(tmp_path):
    rows, certificate = tmp_path / "rows.csv", tmp_path / "c.json"
    rows.write_text("old")
    certificate.write_text("old")

    def fail():
        with whole_files([rows, certificate]) as places:
            places[0].write_text("new")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()

    assert sorted(tmp_path.iterdir()) == [certificate, rows]
    assert rows.read_text() == certificate.read_text() == "old"


@pytest.mark.parametrize("broken", [0, 1])
def test_a_set_that_a_failed_rename_cut_short_has_no_certificate_or_all_of_the_old_one(tmp_path, broken):
    targets = [tmp_path / "rows.csv", tmp_path / "x.json", tmp_path / "c.json"]
    for target in targets:
        target.write_text("old")

    def write_while_a_folder_takes_a_target_s_place():
        with whole_files(targets) as places:
            for place in places:
                place.write_text("new")
            targets[broken].unlink()
            targets[broken].mkdir()

    with pytest.raises(DataError, match="cannot be written"):
        write_while_a_folder_takes_a_target_s_place()

    is_untouched = broken == 0
    assert targets[2].exists() is is_untouched
    assert sorted(tmp_path.iterdir()) == sorted(targets[: 3 if is_untouched else 2])


def test_one_file_named_twice_is_refused_by_whatever_name(tmp_path):
    rows = tmp_path / "rows.csv"
    link = tmp_path / "link.csv"
    link.symlink_to(rows)

    for other in (rows, tmp_path / "x" / ".." / "rows.csv", link):
        with pytest.raises(ParameterError, match="written by the same command"), whole_files([rows, other]):
            pass
    assert list(tmp_path.iterdir()) == [link]


def test_an_input_is_never_a_target(tmp_path):
    data = tmp_path / "data.csv"
    data.write_text("private")
    hard = tmp_path / "hard.csv"
    os.link(data, hard)

    for target in (data, hard):
        with pytest.raises(ParameterError, match="read by the same command"), whole_files([target], [data]):
            pass
    assert data.read_text() == "private"


def test_a_symbolic_link_is_followed_and_stays(tmp_path):
    (tmp_path / "there").mkdir()
    link = tmp_path / "rows.csv"
    link.symlink_to(tmp_path / "there" / "real.csv")

    with whole_files([link]) as (place,):
        place.write_text("new")

    assert link.is_symlink()
    assert (tmp_path / "there" / "real.csv").read_text() == "new"


@pytest.mark.parametrize("target", ["file/rows.csv", "folder", "pipe"])
def test_places_that_cannot_hold_a_file_are_refused_before_the_work(tmp_path, target):
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    before = sorted(tmp_path.rglob("*"))

    with pytest.raises(DataError, match="cannot be written"), whole_files([tmp_path / "first.csv", tmp_path / target]):
        pytest.fail("the work began")

    assert sorted(tmp_path.rglob("*")) == before


def test_devices_are_never_replaced():
    with pytest.raises(DataError, match="not a regular file"), whole_files([Path("/dev/null")]):
        pass

    assert Path("/dev/null").is_char_device()


def test_a_full_disk_is_one_sentence_and_leaves_nothing(tmp_path):
    resource = pytest.importorskip("resource")
    script = f"""
import resource
from pathlib import Path
from lapwing.errors import DataError
from lapwing.rows.out.outputs import whole_files
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    with whole_files([Path({str(tmp_path / "rows.csv")!r})]) as (place,):
        place.write_bytes(bytes(5000))
except DataError as error:
    print(error)
"""

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert resource is not None
    assert done.stdout.count("\n") == 1
    assert "rows.csv cannot be written (File too large)" in done.stdout
    assert list(tmp_path.iterdir()) == []


def whole_folder(target):
    """Write a folder that does not exist yet, or is empty."""
    return whole_files([target], folders=[target], replaces=lambda _: False)


def test_a_folder_appears_whole(tmp_path):
    target = tmp_path / "answers"

    with whole_folder(target) as (place,):
        (place / "index.csv").write_text("a")
        is_there_early = target.exists()

    assert not is_there_early
    assert [file.name for file in target.iterdir()] == ["index.csv"]
    assert list(tmp_path.iterdir()) == [target]


def test_an_empty_folder_may_be_filled_and_a_full_one_is_left_alone(tmp_path):
    empty, full = tmp_path / "empty", tmp_path / "full"
    empty.mkdir()
    full.mkdir()
    (full / "mine").touch()

    with whole_folder(empty) as (place,):
        (place / "index.csv").touch()
    with pytest.raises(ParameterError, match="is there already"), whole_folder(full):
        pass

    assert (empty / "index.csv").exists()
    assert [file.name for file in full.iterdir()] == ["mine"]


def test_a_folder_that_fails_half_way_leaves_nothing(tmp_path):
    def fail():
        with whole_folder(tmp_path / "answers") as (place,):
            (place / "index.csv").touch()
            raise OSError(28, "No space left on device")

    with pytest.raises(DataError, match="No space left"):
        fail()

    assert list(tmp_path.iterdir()) == []
