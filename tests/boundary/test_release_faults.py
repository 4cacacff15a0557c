"""A full, broken or read-only disk at any call of a release, and several processes on the same files.

Whatever fails, there is one clear line, nothing that was paid is lost, and no file is torn or left behind.
"""

import errno
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from helpers.killed_releases import TARGETS, Scene, Server, faults, new_scene
from helpers.syscalls import Call

ERRORS = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT, errno.ENOLCK)


def file_calls(server: Server, folder: Path, before: dict[str, bytes], plant: str | None = None) -> list[Call]:
    """Return the calls of a release that change a file."""
    calls = server.calls(new_scene(folder / "looked-at", before).synthesize(), plant)
    return [call for call in calls if call.changes and call.is_of_file]


def failed_at(server: Server, folder: Path, call: Call, number: int, error: int, before: dict[str, bytes]) -> list[str]:
    """Let one call fail, and return what is wrong with what is said and left."""
    scene = new_scene(folder / "scene", before)
    stop = {"number": number, "among": "files", "act": "error", "error": error}
    done = server.run(scene.synthesize(), traced=True, stop=stop)
    is_kept = call.name in ("unlink", "unlinkat", "rmdir")  # what cannot be removed stays
    found = said_faults(done, scene) + ([] if is_kept else hidden(scene)) + faults(scene, server)
    shutil.rmtree(scene.folder)
    return [f"{number} {call.name} {Path(call.path).name} {errno.errorcode[error]}: {each}" for each in found]


def said_faults(done: dict[str, Any], scene: Scene) -> list[str]:
    """Return what is wrong with the line that a release which failed has said."""
    said = done["said"]
    if done["status"] == 0:
        return [] if set(scene.files()) == set(TARGETS) else ["a success without files"]
    is_resumable = scene.debits() > 0
    way_out = "a new one is debited anew" if scene.is_over() else f"lapwing resume {scene.transcript}"
    rules = {
        "no status of a failure": done["status"] != 1,
        "no single line": said.count("\n") != 1 or not said.startswith("lapwing: "),
        "unexpected": "unexpected" in said,
        "no way out of a paid release": is_resumable and way_out not in said,
        "a way out of an unpaid release": not scene.transcript.exists() and "resume" in said,
    }
    return [f"{what}: {said}" for what, is_wrong in rules.items() if is_wrong]


def hidden(scene: Scene) -> list[str]:
    """Return the hidden files that a release left."""
    return [f"left {path.name}" for path in scene.folder.iterdir() if path.name.startswith(".")]


def is_like_the_last(calls: list[Call], number: int) -> bool:
    """Return whether a call is in the middle of a row of equal ones, or one of SQLite's many locks."""
    keys = [(call.name, call.path) for call in calls[max(0, number - 2) : number + 1]]
    return calls[number - 1].name == "fcntl" or calls[number - 1].path.endswith("-shm") or len(set(keys)) == 1


def test_a_disk_that_fails_at_some_call_loses_nothing_and_names_the_way_out(
    tracer: Server, earlier: dict[str, bytes], tmp_path: Path
) -> None:
    calls = file_calls(tracer, tmp_path, earlier)
    numbers = [number for number in range(1, len(calls) + 1) if not is_like_the_last(calls, number)][::24]

    found = []
    for place, number in enumerate(numbers):
        found += failed_at(tracer, tmp_path, calls[number - 1], number, ERRORS[place % len(ERRORS)], earlier)

    assert len(numbers) > 3
    assert found == []


@pytest.mark.full
@pytest.mark.parametrize("error", [pytest.param(error, id=errno.errorcode[error]) for error in ERRORS])
def test_a_disk_that_fails_at_any_call_loses_nothing_and_names_the_way_out(
    tracer: Server, earlier: dict[str, bytes], tmp_path: Path, error: int
) -> None:
    calls = file_calls(tracer, tmp_path, earlier)
    # Of SQLite's many locks, each fails in one of the ways.
    shares = [(number, is_like_the_last(calls, number)) for number in range(1, len(calls) + 1)]
    numbers = [number for number, is_alike in shares if not is_alike or ERRORS[number % len(ERRORS)] == error]

    found = []
    for number in numbers:
        found += failed_at(tracer, tmp_path, calls[number - 1], number, error, earlier)

    assert len(numbers) > 200
    assert found == []


@pytest.mark.parametrize("name", ["budget.db.transcripts", "t.jsonl", "out.csv"])
def test_a_failure_that_is_not_caught_is_seen(tracer: Server, tmp_path: Path, name: str) -> None:
    scene = new_scene(tmp_path / "scene")
    (scene.folder / name).write_text("")

    done = {"status": 1, "said": f"lapwing: unexpected OSError at {name}; please report it\n"}

    assert any(each.startswith("unexpected") for each in said_faults(done, scene))


# ------------------------------------------------------------------------------------------------- several processes


def sets_of(server: Server, scene: Scene, names: tuple[str, ...]) -> list[dict[str, bytes]]:
    """Return the files that each of the transcripts stands for, written elsewhere."""
    found = []
    for name in names:
        copy = Scene(scene.folder / f"alone-{name}")
        copy.folder.mkdir()
        command = ["resume", str(scene.folder / name), str(scene.folder / "data.csv"), *copy.outputs]
        done = server.run(command)
        assert done["status"] == 0, done["said"]
        found.append(copy.files())
    return found


def mixed(files: dict[str, bytes], sets: list[dict[str, bytes]]) -> list[str]:
    """Return what is wrong with files of several sets: with a certificate they are one whole set."""
    if TARGETS[-1] in files and files not in sets:
        return [f"a certificate beside files of {[[files.get(n) == s[n] for n in TARGETS] for s in sets]}"]
    return []


def test_two_releases_into_the_same_files_leave_one_whole_set(server: Server, tmp_path: Path) -> None:
    for each in range(2):
        scene = new_scene(tmp_path / f"scene-{each}")

        done = server.run(scene.synthesize("a.jsonl"), scene.synthesize("b.jsonl"))

        assert done["statuses"] == [0, 0], done["said"]
        assert scene.debits() == 2
        assert "another run wrote" in done["said"]
        assert scene.files() in sets_of(server, scene, ("a.jsonl", "b.jsonl"))


def interleaved(server: Server, folder: Path, number: int, plant: str | None = None) -> list[str]:
    """Pause a release at one call, let another one run meanwhile, and return what is wrong at the end."""
    scene = new_scene(folder / "scene")
    stop = {"number": number, "since": TARGETS[0], "among": "files", "act": "pause"}
    other = scene.synthesize("b.jsonl")
    done = server.run(scene.synthesize("a.jsonl"), traced=True, stop=stop, meanwhile=other, plant=plant)
    if (done["status"], done["others"]) == (0, [0]):
        found = mixed(scene.files(), sets_of(server, scene, ("a.jsonl", "b.jsonl"))) + hidden(scene)
    else:
        found = [f"statuses {done['status']} and {done['others']}: {done['said']}"]
    shutil.rmtree(scene.folder)
    return found


def naming(server: Server, folder: Path, plant: str | None = None) -> range:
    """Return the calls from the first name that a release gives to the last, and some more."""
    names = [Path(call.path).name for call in file_calls(server, folder, {}, plant)]
    last = max(place for place, name in enumerate(names) if name in TARGETS)
    return range(1, last + 4 - names.index(TARGETS[0]))


@pytest.mark.parametrize("step", [2, pytest.param(1, marks=pytest.mark.full)])
def test_a_release_that_runs_while_another_names_its_files_mixes_nothing(
    tracer: Server, tmp_path: Path, step: int
) -> None:
    numbers = naming(tracer, tmp_path)[::step]

    found = [wrong for number in numbers for wrong in interleaved(tracer, tmp_path, number)]

    assert len(numbers) > 5 / step
    assert found == []


def test_files_that_are_named_without_waiting_are_seen_to_mix(tracer: Server, tmp_path: Path) -> None:
    numbers = naming(tracer, tmp_path, "no_waiting")

    found: list[str] = []
    for number in reversed(numbers):
        found += interleaved(tracer, tmp_path, number, "no_waiting")
        if any("a certificate beside files" in each for each in found):
            break

    assert any("a certificate beside files" in each for each in found), found


# ------------------------------------------------------------------------------------------------------- what is left


def killed_while_writing(tracer: Server, scene: Scene) -> Path:
    """Kill a release when it gives its first file a name, and return the hidden folder that it leaves."""
    stopped = tracer.run(scene.synthesize(), traced=True, stop={"number": 1, "since": TARGETS[0], "among": "files"})
    assert stopped["status"] == -signal.SIGKILL
    (left,) = scene.folder.glob(".lapwing-*")
    return left


def test_the_next_release_clears_away_what_a_killed_one_left(tracer: Server, tmp_path: Path) -> None:
    scene = new_scene(tmp_path / "scene")
    left = killed_while_writing(tracer, scene)
    files = list(left.iterdir())

    assert tracer.run(scene.resume())["status"] == 0

    assert len(files) == len(TARGETS)
    assert hidden(scene) == []


def test_what_is_left_after_an_interrupted_release_is_nothing(server: Server, tmp_path: Path) -> None:
    for each in range(5):
        scene = new_scene(tmp_path / f"scene-{each}")

        done = server.run(scene.synthesize(), after=0.015 * each, signal=signal.SIGINT)

        assert done["status"] in (0, 130), done["said"]
        assert hidden(scene) == []
