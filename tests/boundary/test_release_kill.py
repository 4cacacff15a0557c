"""Kill a whole `lapwing synthesize` at its system calls and at random moments: nothing unpaid, nothing torn.

Each release has a ledger, a transcript, a model, rows and a certificate. After each kill the ledger holds, each file
is absent, the earlier one or whole, no certificate stands beside what it does not describe, and `lapwing resume`
gives all files without a second debit and without other answers, or says each time that noise was drawn and not
recorded. Wrong orders that are planted on purpose are caught
by the same checks.
"""

import shutil
import signal
from pathlib import Path

import numpy as np
import pytest

from helpers.killed_releases import TARGETS, Scene, Server, durable_numbers, faults, new_scene
from lapwing.kernel.budget.ledger import Ledger


def killed_at(
    server: Server,
    folder: Path,
    number: int,
    before: dict[str, bytes],
    *,
    among: str = "changes",
    since: str = "",
    plant: str | None = None,
) -> tuple[int, list[str]]:
    """Kill a release at one call; return how it ended, and what is wrong afterwards."""
    scene = new_scene(folder / "scene", before)
    stop = {"number": number, "since": since, "among": among}
    status = server.run(scene.synthesize(), traced=True, stop=stop, plant=plant)["status"]
    found = faults(scene, server)
    shutil.rmtree(scene.folder)
    return status, found


def numbers_of(server: Server, folder: Path, before: dict[str, bytes]) -> list[int]:
    """Return the changing calls of a release that are worth a kill."""
    return durable_numbers(server.calls(new_scene(folder / "looked-at", before).synthesize()))


def numbers_about(
    server: Server, folder: Path, before: dict[str, bytes], names: tuple[str, ...], plant: str | None = None
) -> tuple[str, list[int]]:
    """Return which file of these is changed first, and from there on which calls change these, or follow on them."""
    calls = server.calls(new_scene(folder / "looked-at", before).synthesize(), plant)
    changing = [call for call in calls if call.changes and call.is_of_file]
    found = [number for number, call in enumerate(changing) if Path(call.path).name in names]
    since = Path(changing[found[0]].path).name
    first = next(number for number, call in enumerate(changing) if Path(call.path).name == since)
    near = {each for number in found for each in (number, number + 1) if each < len(changing)}
    return since, sorted(each - first + 1 for each in near)


def test_a_release_left_in_peace_has_all_its_files_and_is_given_again_bit_for_bit(
    server: Server, tmp_path: Path
) -> None:
    scene = new_scene(tmp_path / "scene")

    status = server.run(scene.synthesize())["status"]

    assert status == 0
    assert set(scene.files()) == set(TARGETS)
    assert faults(scene, server) == []


@pytest.mark.parametrize("is_new", [True, False])
def test_a_kill_at_calls_that_change_something_loses_nothing(
    tracer: Server, earlier: dict[str, bytes], tmp_path: Path, is_new: bool
) -> None:
    before = {} if is_new else earlier
    numbers = numbers_of(tracer, tmp_path, before)[16 * is_new :: 32]  # the two take turns

    found = [killed_at(tracer, tmp_path, number, before) for number in numbers]

    assert len(numbers) > 3
    assert found == [(-signal.SIGKILL, [])] * len(numbers)


@pytest.mark.parametrize("is_new", [True, False])
def test_a_kill_while_files_get_their_names_loses_nothing(
    tracer: Server, earlier: dict[str, bytes], tmp_path: Path, is_new: bool
) -> None:
    before = {} if is_new else earlier
    since, (*_, last) = numbers_about(tracer, tmp_path, before, TARGETS)
    numbers = range(1, last + 1)  # from the earlier certificate's leaving, if there is one

    found = [killed_at(tracer, tmp_path, number, before, among="files", since=since) for number in numbers]

    assert len(numbers) > len(TARGETS)
    assert found == [(-signal.SIGKILL, [])] * len(found)


@pytest.mark.full
@pytest.mark.parametrize("is_new", [True, False])
def test_a_kill_at_every_call_that_changes_something_loses_nothing(
    tracer: Server, earlier: dict[str, bytes], tmp_path: Path, is_new: bool
) -> None:
    before = {} if is_new else earlier
    calls = tracer.calls(new_scene(tmp_path / "scene-0", before).synthesize())
    changing = sum(call.changes for call in calls)

    found = [killed_at(tracer, tmp_path, number, before) for number in range(1, changing + 1)]

    # Noise takes a few random reads more or fewer each time, so that the last kills may come too late.
    assert sum(status == -signal.SIGKILL for status, _ in found) > max(500, changing - 20)
    assert [wrong for _, wrong in found if wrong] == []


@pytest.mark.full
def test_a_kill_at_every_call_whatever_it_is_loses_nothing(
    tracer: Server, earlier: dict[str, bytes], tmp_path: Path
) -> None:
    scene = new_scene(tmp_path / "scene-0", earlier)
    never = {"number": 10**9, "among": "all"}
    made = tracer.run(scene.synthesize(), traced=True, stop=never)["made"]

    # Threads that wait for each other make a few calls more or fewer each time.
    found = [killed_at(tracer, tmp_path, number, earlier, among="all") for number in range(1, made + 1)]

    assert sum(status == -signal.SIGKILL for status, _ in found) > max(1000, made - 50)
    assert [wrong for _, wrong in found if wrong] == []


def signalled_releases(
    server: Server, folder: Path, before: dict[str, bytes], *, times: int, seed: int, number: int
) -> list[tuple[int, list[str]]]:
    """Send a signal to so many releases, each at a random moment of its life."""
    rng = np.random.default_rng(seed)
    found = []
    for each in range(times):
        scene = new_scene(folder / "scene", before if each % 2 else {})
        # Most releases take 40 to 80 ms here; on a slower machine, more of the kills fall on their first part.
        after = rng.uniform(0.0, 0.09)
        status = server.run(scene.synthesize(), after=after, signal=number)["status"]
        found.append((status, faults(scene, server)))
        shutil.rmtree(scene.folder)
    return found


def test_twelve_random_kills_lose_nothing(server: Server, earlier: dict[str, bytes], tmp_path: Path) -> None:
    found = signalled_releases(server, tmp_path, earlier, times=12, seed=1, number=signal.SIGKILL)

    assert sum(status == -signal.SIGKILL for status, _ in found) > 2
    assert [wrong for _, wrong in found if wrong] == []


@pytest.mark.full
def test_seven_hundred_and_fifty_random_kills_lose_nothing(
    server: Server, earlier: dict[str, bytes], tmp_path: Path
) -> None:
    found = signalled_releases(server, tmp_path, earlier, times=750, seed=2, number=signal.SIGKILL)

    assert sum(status == -signal.SIGKILL for status, _ in found) >= 500
    assert [wrong for _, wrong in found if wrong] == []


@pytest.mark.parametrize("times", [6, pytest.param(200, marks=pytest.mark.full)])
def test_ctrl_c_at_random_moments_loses_nothing(
    server: Server, earlier: dict[str, bytes], tmp_path: Path, times: int
) -> None:
    found = signalled_releases(server, tmp_path, earlier, times=times, seed=3, number=signal.SIGINT)

    assert any(status == 130 for status, _ in found)
    assert [each for each in found if each not in ((0, []), (130, []))] == []


def killed_resume(server: Server, scene: Scene, number: int) -> list[str]:
    """Kill the resuming of a release at one call, and return what is wrong afterwards."""
    status = server.run(scene.resume(), traced=True, stop={"number": number})["status"]
    assert status == -signal.SIGKILL
    return faults(scene, server)


@pytest.mark.parametrize("step", [60, pytest.param(1, marks=pytest.mark.full)])
def test_a_resumed_release_that_is_killed_again_loses_nothing(
    tracer: Server, earlier: dict[str, bytes], tmp_path: Path, step: int
) -> None:
    unfinished = new_scene(tmp_path / "unfinished", earlier)
    calls = [call for call in tracer.calls(new_scene(tmp_path / "other").synthesize()) if call.changes]
    (first_answer, *_) = [number for number, call in enumerate(calls, 1) if call.path.endswith("t.jsonl")][3:]
    assert tracer.run(unfinished.synthesize(), traced=True, stop={"number": first_answer})["status"] == -signal.SIGKILL
    assert unfinished.debits() == 1
    assert len(unfinished.answers()) < 2

    found = []
    numbers = durable_numbers(tracer.calls(copied(unfinished, tmp_path / "resumed").resume()))
    for number in numbers[::step]:
        found += killed_resume(tracer, copied(unfinished, tmp_path / f"at-{number}"), number)

    assert len(numbers) > 50
    assert found == []


def copied(scene: Scene, folder: Path) -> Scene:
    """Copy a folder with its unfinished release, whose transcript names the ledger by its path."""
    shutil.copytree(scene.folder, folder)
    copy = Scene(folder, scene.earlier)
    text = copy.transcript.read_text().replace(str(scene.ledger), str(copy.ledger))
    copy.transcript.write_text(text)
    return copy


CAUGHT_BY_KILLS = {
    "debit_at_the_end": (("t.jsonl",), "an answer that nobody paid"),
    "two_debits": (("t.jsonl",), "paid twice"),
    "answers_never_kept": (TARGETS, "files of answers that nobody kept"),
    "certificate_first": (TARGETS, "a certificate without what it describes"),
    "in_place": (TARGETS, "no whole"),
    "old_certificate_stays": (TARGETS, "an earlier certificate beside new files"),
}


@pytest.mark.parametrize("plant", CAUGHT_BY_KILLS)
def test_a_wrong_order_is_caught_by_the_same_kills(
    tracer: Server, earlier: dict[str, bytes], tmp_path: Path, plant: str
) -> None:
    names, wrong = CAUGHT_BY_KILLS[plant]
    before = earlier if plant == "old_certificate_stays" else {}
    since, numbers = numbers_about(tracer, tmp_path, before, names, plant)

    found: list[str] = []
    for number in reversed(numbers):
        found += killed_at(tracer, tmp_path, number, before, among="files", since=since, plant=plant)[1]
        if any(wrong in each for each in found):
            break

    assert any(wrong in each for each in found), found


def test_the_ledger_of_killed_releases_is_whole(tracer: Server, tmp_path: Path) -> None:
    scene = new_scene(tmp_path / "scene")
    numbers = numbers_of(tracer, tmp_path, {})

    for count, number in enumerate(numbers[5:-5:40]):
        command = scene.synthesize(f"t{count}.jsonl")
        assert tracer.run(command, traced=True, stop={"number": number})["status"] == -signal.SIGKILL
    paid = scene.debits()

    assert 0 < paid < count + 2
    assert Ledger.open(scene.ledger).verify() == 1 + paid
