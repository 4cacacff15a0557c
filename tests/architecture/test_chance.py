"""What a test draws is repeated by the seed of the run."""

import os
import subprocess
import sys
from pathlib import Path

from lapwing.kernel.noise.bits import SystemBits

TESTS = Path(__file__).resolve().parents[1]
DRAWN = """
import os, pytest
from lapwing.kernel.noise.bits import SystemBits

@pytest.fixture(scope="module")
def shared():
    return SystemBits().words(1)[0]

def say(*words):
    with open("drawn.txt", "a") as file:
        print(*words, file=file)

@pytest.mark.parametrize("place", range(2))
def test_draws(place, shared):
    say(place, SystemBits().words(2), os.urandom(4), shared)

def test_alone():
    say("alone", SystemBits().words(2))
"""


def drawn(place: Path, *options: str) -> list[str]:
    """Run the tests above in a folder of their own; return what they drew, sorted."""
    (place / "drawn.txt").unlink(missing_ok=True)
    (place / "test_drawn.py").write_text(DRAWN)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "helpers.chance", "-p", "no:cacheprovider", *options]
    environment = os.environ | {"PYTHONPATH": str(TESTS)}
    subprocess.run(command, cwd=place, env=environment, check=True, capture_output=True)
    return sorted((place / "drawn.txt").read_text().splitlines())


def test_a_seed_repeats_what_tests_and_their_shared_fixtures_draw_in_any_choice_of_tests(tmp_path):
    first = drawn(tmp_path, "--randomly-seed=5")
    assert len(set(first)) == 3
    assert drawn(tmp_path, "--randomly-seed=5") == first
    assert drawn(tmp_path, "--randomly-seed=5", "test_drawn.py::test_draws[1]") == first[1:2]
    assert not set(drawn(tmp_path, "--randomly-seed=6")) & set(first)


def test_a_child_of_a_fork_draws_other_bits():
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        os.write(writer, SystemBits().words(4).tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 32) != SystemBits().words(4).tobytes()
