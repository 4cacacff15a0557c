import errno
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from lapwing.errors import BudgetError, DataError, LapwingWarning, ParameterError
from lapwing.release.runs.records import resumable
from lapwing.rows.out import staging
from lapwing.rows.out.outputs import whole_files
from lapwing.rows.out.staging import alone_in, staging_folder

OLD = time.time() - 2 * staging.LEFT_SECONDS


def left_behind(folder, *, age=OLD):
    """Make a hidden folder as a process that was killed leaves it."""
    left = folder / ".lapwing-abcdefgh.unfinished"
    left.mkdir(mode=0o700)
    (left / ".x.csv").write_text("half of")
    os.utime(left, (age, age))
    return left


@pytest.mark.parametrize(("age", "stays"), [(OLD, False), (time.time() - 3600, True)], ids=["old", "young"])
def test_an_old_hidden_folder_of_no_process_is_cleared_away(age, stays, tmp_path):
    left = left_behind(tmp_path, age=age)

    with staging_folder(tmp_path):
        assert left.exists() == stays


WRITER = """
import sys
from pathlib import Path
from lapwing.rows.out.outputs import whole_files

with whole_files([Path(each) for each in sys.argv[1:]]) as places:
    for place in places:
        place.write_text("of another run")
    print("written", flush=True)
    sys.stdin.readline()
"""


def writer(*targets):
    """Start a process that has written its files, and gives them their names when it reads a line."""
    command = [sys.executable, "-c", WRITER, *map(str, targets)]
    started = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert started.stdout.readline() == "written\n"
    return started


def test_what_a_killed_process_left_is_cleared_by_the_next_one_and_what_a_living_one_holds_is_not(tmp_path):
    with writer(tmp_path / "a.csv") as killed, writer(tmp_path / "b.csv") as living:
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        (left,) = [each for each in tmp_path.iterdir() if any(each.iterdir()) and is_free(each)]

        with whole_files([tmp_path / "c.csv"]) as (place,):
            place.write_text("c")
            assert not left.exists()
        living.communicate("\n")

    assert living.returncode == 0
    assert sorted(each.name for each in tmp_path.iterdir()) == ["b.csv", "c.csv"]


def is_free(folder):
    """Return whether no process holds a hidden folder."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(handle)
    return True


@pytest.mark.parametrize("names", [("rows.csv",), ("rows.csv", "c.json")])
def test_the_later_of_two_runs_into_the_same_files_says_that_it_replaces_the_other(names, tmp_path):
    targets = [tmp_path / name for name in names]
    with writer(*targets) as other:
        written = whole_files(targets)
        for place in written.__enter__():
            place.write_text("mine")
        other.communicate("\n")

    with pytest.warns(LapwingWarning, match=f"another run wrote .*{names[-1]} while this one ran"):
        written.__exit__(None, None, None)
    assert other.returncode == 0
    assert [target.read_text() for target in targets] == ["mine"] * len(targets)


def test_a_run_that_replaces_what_was_there_when_it_began_says_nothing(tmp_path, recwarn):
    for text in ("first", "second"):
        with whole_files([tmp_path / "rows.csv"]) as (place,):
            place.write_text(text)

    assert not recwarn.list


def test_an_old_hidden_folder_of_a_process_that_lives_stays(tmp_path):
    with staging_folder(tmp_path) as held:
        os.utime(held, (OLD, OLD))
        with staging_folder(tmp_path):
            assert held.exists()


def test_what_only_looks_like_a_hidden_folder_stays(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine").touch()
    (tmp_path / "targets").mkdir()
    link, file = (tmp_path / "targets" / f".lapwing-{name}.unfinished" for name in ("link", "file"))
    link.symlink_to(elsewhere)
    file.touch()
    own = left_behind(tmp_path / "targets").rename(tmp_path / "targets" / ".lapwing-settings")
    os.utime(own, (OLD, OLD))
    os.utime(elsewhere, (OLD, OLD))
    os.utime(file, (OLD, OLD))

    with staging_folder(tmp_path / "targets"):
        pass

    assert link.is_symlink()
    assert file.exists()
    assert own.exists()
    assert (elsewhere / "mine").exists()


def test_a_link_that_is_named_like_the_lock_makes_no_file_where_it_leads(tmp_path):
    (tmp_path / ".lapwing.lock").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(OSError, match="symbolic links"), alone_in(tmp_path):
        pass

    assert not (tmp_path / "elsewhere").exists()


def test_a_pipe_that_is_named_like_the_lock_blocks_nobody(tmp_path):
    os.mkfifo(tmp_path / ".lapwing.lock")
    ended = threading.Event()

    def use():
        with alone_in(tmp_path):
            ended.set()

    threading.Thread(target=use, daemon=True).start()

    assert ended.wait(10)


def test_two_wait_for_each_other_to_name_their_files(tmp_path):
    order = []

    def second():
        with alone_in(tmp_path):
            order.append("second")

    with alone_in(tmp_path):
        thread = threading.Thread(target=second)
        thread.start()
        time.sleep(0.1)
        order.append("first")
    thread.join()

    assert order == ["first", "second"]
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_never_ends_naming_its_files_is_not_waited_for_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(staging, "PATIENCE_SECONDS", 0.05)
    written = whole_files([tmp_path / "rows.csv", tmp_path / "c.json"])
    written.__enter__()

    with alone_in(tmp_path), pytest.raises(DataError, match=r"another process is putting its files in place"):
        written.__exit__(None, None, None)

    assert list(tmp_path.iterdir()) == []


def test_where_there_are_no_locks_files_are_written_and_nothing_is_cleared_away(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    left = left_behind(tmp_path)
    targets = [tmp_path / "rows.csv", tmp_path / "c.json"]

    with whole_files(targets) as places:
        for place in places:
            place.write_text("new")

    assert [target.read_text() for target in targets] == ["new", "new"]
    assert sorted(tmp_path.iterdir()) == sorted([*targets, left])


def test_a_folder_that_may_be_written_but_not_read_takes_files(tmp_path, monkeypatch):
    opened = os.open

    def refuse(path, flags, *mode):
        if Path(path) == tmp_path:
            raise PermissionError(errno.EACCES, "Permission denied")
        return opened(path, flags, *mode)

    monkeypatch.setattr(os, "open", refuse)

    with whole_files([tmp_path / "rows.csv"]) as (place,):
        place.write_text("new")

    assert (tmp_path / "rows.csv").read_text() == "new"


def test_a_folder_whose_names_do_not_reach_the_disk_is_a_failure(tmp_path, monkeypatch):
    synced = os.fsync

    def fail(handle):
        if os.path.isdir(f"/proc/self/fd/{handle}"):
            raise OSError(errno.EIO, "Input/output error")
        synced(handle)

    monkeypatch.setattr(os, "fsync", fail)

    with pytest.raises(DataError, match="Input/output error"), whole_files([tmp_path / "rows.csv"]) as (place,):
        place.write_text("new")


def failing(error):
    """Return work that fails."""

    def work():
        raise error

    return work


@pytest.mark.parametrize("kind", [BudgetError, DataError])
def test_a_failure_of_a_release_that_is_kept_says_how_it_goes_on(tmp_path, kind):
    kept = tmp_path / "t.jsonl"
    kept.touch()

    with pytest.raises(kind, match=r"^the disk is full; lw.resume\('\S+t.jsonl', data\) goes on") as caught:
        resumable(kept, failing(kind("the disk is full")))
    with pytest.raises(kind, match=r"(?m)^the disk is full$"):
        resumable(tmp_path / "gone.jsonl", failing(kind("the disk is full")))
    with pytest.raises(ParameterError, match=r"(?m)^rows must be at least 1$"):
        resumable(kept, failing(ParameterError("rows must be at least 1")))

    assert caught.value.__context__ is None


def test_a_folder_of_transcripts_that_cannot_be_made_is_one_sentence(tmp_path):
    import lapwing as lw
    from lapwing.kernel.budget.ledger import Ledger

    ledger = Ledger.create_or_open(tmp_path / "b.db")
    ledger.init("d", unit="pure", limit=1, relation="add-remove", privacy_unit="row")
    (tmp_path / "b.db.transcripts").write_text("in the way")
    (tmp_path / "rows.csv").write_text("flag\ntrue\n")
    schema = {"fields": [{"name": "flag", "type": "boolean"}]}

    with pytest.raises(DataError, match=r"the folder \S+b.db.transcripts cannot be made"):
        lw.synthesize(tmp_path / "rows.csv", schema, epsilon=1, ledger=ledger.path, dataset="d")

    assert ledger.balance("d").spent == 0


@pytest.mark.parametrize("step", ["mkdir", "open", "_is_still"])
def test_an_interrupt_at_any_step_leaves_no_hidden_folder(tmp_path, monkeypatch, step):
    place = {"mkdir": (Path, "mkdir"), "open": (staging.os, "open"), "_is_still": (staging, "_is_still")}[step]
    real = getattr(*place)

    def interrupted(*arguments, **settings):
        monkeypatch.undo()
        real(*arguments, **settings)
        raise KeyboardInterrupt

    monkeypatch.setattr(*place, interrupted)
    with pytest.raises(KeyboardInterrupt), staging.staging_folder(tmp_path):
        pass

    assert list(tmp_path.iterdir()) == []
