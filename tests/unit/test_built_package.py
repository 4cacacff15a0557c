"""What `make package` compares: the lists of files in the wheel and the source archive, and git's."""

import io
import tarfile
import zipfile
from pathlib import Path

from helpers.built_package import differences, expected_in_sdist, expected_in_wheel, in_sdist, in_wheel

TRACKED = {
    "src/lapwing/__init__.py",
    "src/lapwing/py.typed",
    "man/lapwing.1",
    "docs/index.md",
    ".ci/notes",
    "README.md",
}
WHEEL = {"packages": ["src/lapwing"], "shared-data": {"man/lapwing.1": "share/man/man1/lapwing.1"}}


def test_the_wheel_should_hold_the_package_and_what_is_shared(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as archive:
        for name in ("lapwing/__init__.py", "lapwing/notes.txt", "lapwing-1.dist-info/METADATA"):
            archive.writestr(name, "")
        archive.writestr("lapwing-1.data/data/share/man/man1/lapwing.1", "")

    told = differences("the wheel", expected_in_wheel(TRACKED, WHEEL), in_wheel(tmp_path / "a.whl"))

    assert told == ["the wheel lacks lapwing/py.typed", "the wheel has lapwing/notes.txt, which is not in git"]


def test_the_source_archive_should_hold_what_is_named(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        for name in ("docs/index.md", "docs/draft.md", "PKG-INFO"):
            archive.addfile(tarfile.TarInfo(f"lapwing-1/{name}"), io.BytesIO())

    told = differences("it", expected_in_sdist(TRACKED, ["docs", "README.md"]), in_sdist(tmp_path / "a.tar.gz"))

    assert told == ["it lacks README.md", "it has docs/draft.md, which is not in git"]
