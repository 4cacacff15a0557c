"""Fragments become a section of the changelog, and are gone afterwards."""

from pathlib import Path
from types import ModuleType

import pytest

from helpers.source_tree import ROOT


@pytest.fixture
def changelog(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import changelog

    return changelog


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "changelog.d").mkdir()
    for name, text in (("b.added", "Two\nlines."), ("a.added", "One."), ("c.privacy", "Noise."), ("README", "How.")):
        (tmp_path / "changelog.d" / f"{name}.md").write_text(text + "\n")
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\nNewest first.\n\n## 0.1.0 (2026-01-01)\n\n- Old.\n")
    return tmp_path


def test_a_version_gets_its_fragments_by_kind_above_the_older_ones(changelog: ModuleType, tree: Path) -> None:
    assert changelog.fold("0.2.0", "2027-01-31", tree) == 3

    assert (tree / "CHANGELOG.md").read_text() == (
        "# Changelog\n\nNewest first.\n\n## 0.2.0 (2027-01-31)\n\n### Privacy\n\n- Noise.\n\n"
        "### Added\n\n- One.\n- Two lines.\n\n## 0.1.0 (2026-01-01)\n\n- Old.\n"
    )
    assert [path.name for path in (tree / "changelog.d").iterdir()] == ["README.md"]


@pytest.mark.parametrize("version", ["0.1.0", "next", "1.2"])
def test_a_version_that_is_there_or_is_none_is_refused(changelog: ModuleType, tree: Path, version: str) -> None:
    before = (tree / "CHANGELOG.md").read_text()

    with pytest.raises(SystemExit, match="version must be new"):
        changelog.fold(version, "2027-01-31", tree)

    assert (tree / "CHANGELOG.md").read_text() == before
    assert len(list((tree / "changelog.d").iterdir())) == 4


def test_a_fragment_of_no_kind_is_refused_before_anything_is_written(changelog: ModuleType, tree: Path) -> None:
    (tree / "changelog.d" / "d.nothing.md").touch()

    with pytest.raises(SystemExit, match="has no kind"):
        changelog.fold("0.2.0", "2027-01-31", tree)

    assert len(list((tree / "changelog.d").iterdir())) == 5


def test_all_fragments_of_the_tree_can_be_folded(changelog: ModuleType) -> None:
    text = changelog.section("9.9.9", "2099-01-01", ROOT / "changelog.d")

    assert text.startswith("## 9.9.9 (2099-01-01)\n\n")
