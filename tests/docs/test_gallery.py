"""The notebooks of the gallery run, show what they were committed with, and are pages of the site."""

import re
from pathlib import Path

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell, new_notebook

from helpers.notebooks import GALLERY, executed
from helpers.source_tree import ROOT


def shown(notebook: nbformat.NotebookNode) -> list[list[tuple[str, ...]]]:
    """Return for each cell the forms of its outputs; their figures, and what they warn of, differ as noise does."""
    cells = [
        [each for each in cell.outputs if each.get("name") != "stderr"] for cell in notebook.cells if "outputs" in cell
    ]
    return [[tuple(sorted(each.get("data", {each.get("name", ""): ""}))) for each in outputs] for outputs in cells]


def written(path: Path, *sources: str) -> Path:
    nbformat.write(new_notebook(cells=[new_code_cell(each) for each in sources]), path)
    return path


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_was_committed_with(path: Path) -> None:
    assert shown(executed(path)) == shown(nbformat.read(path, as_version=4))


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_a_committed_notebook_has_run_from_top_to_bottom_on_no_machine_in_particular(path: Path) -> None:
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    text = path.read_text(encoding="utf-8")

    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    assert sum(bool(cell.outputs) for cell in cells) >= len(cells) // 2
    assert '"output_type": "error"' not in text
    assert re.findall(r"/tmp/|/home/|/root/|/work/", text) == []


def test_there_are_eight_notebooks_and_each_is_in_the_table_of_contents() -> None:
    contents = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")

    assert len(GALLERY) == 8
    assert [path.stem for path in GALLERY if f": gallery/{path.stem}.md\n" not in contents] == []


def test_a_cell_that_fails_is_noticed(tmp_path: Path) -> None:
    with pytest.raises(CellExecutionError):
        executed(written(tmp_path / "python.ipynb", "1 / 0"))
    with pytest.raises(CellExecutionError):
        executed(written(tmp_path / "shell.ipynb", "%%sh\nlapwing nothing"))


def test_what_a_cell_no_longer_shows_is_noticed(tmp_path: Path) -> None:
    before = executed(written(tmp_path / "before.ipynb", "1 + 1"))
    after = executed(written(tmp_path / "after.ipynb", "two = 1 + 1"))

    assert shown(before) != shown(after)
