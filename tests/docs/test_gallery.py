"""The notebooks of the gallery run, show what they were committed with, and are pages of the site."""

import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell, new_notebook

from helpers.notebooks import GALLERY, executed, kernel
from helpers.source_tree import ROOT

ROWS = {"census": 6000, "fairness": 2000}
"""Of the bundled table, for notebooks that show the same with fewer rows, in a third of the time."""

NOTEBOOKS = pytest.mark.needs("notebooks")


def shown(notebook: nbformat.NotebookNode) -> list[list[tuple[str, ...]]]:
    """Return for each cell the forms of its outputs; their figures, and what they warn of, differ as noise does."""
    cells = [
        [each for each in cell.outputs if each.get("name") != "stderr"] for cell in notebook.cells if "outputs" in cell
    ]
    return [[tuple(sorted(each.get("data", {each.get("name", ""): ""}))) for each in outputs] for outputs in cells]


def written(path: Path, *sources: str) -> Path:
    nbformat.write(new_notebook(cells=[new_code_cell(each) for each in sources]), path)
    return path


@pytest.fixture(scope="module")
def client() -> Iterator[NotebookClient]:
    """Return one kernel for all notebooks: a kernel and the imports in it take longer than most of them."""
    with kernel() as started:
        yield started


@NOTEBOOKS
@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_was_committed_with(path: Path, client: NotebookClient) -> None:
    assert shown(executed(path, client, ROWS.get(path.stem))) == shown(nbformat.read(path, as_version=4))


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


@NOTEBOOKS
def test_a_cell_that_fails_is_noticed(tmp_path: Path, client: NotebookClient) -> None:
    for source in ("1 / 0", "%%sh\nlapwing nothing"):
        with pytest.raises(CellExecutionError):
            executed(written(tmp_path / "one.ipynb", source), client)


@NOTEBOOKS
def test_what_a_cell_no_longer_shows_is_noticed(tmp_path: Path, client: NotebookClient) -> None:
    before = executed(written(tmp_path / "before.ipynb", "1 + 1"), client)
    after = executed(written(tmp_path / "after.ipynb", "two = 1 + 1"), client)

    assert shown(before) != shown(after)


@NOTEBOOKS
def test_a_notebook_has_no_name_of_the_one_before(tmp_path: Path, client: NotebookClient) -> None:
    executed(written(tmp_path / "first.ipynb", "import json\nopen('left', 'w').close()"), client)
    alone = "import pathlib\nassert not pathlib.Path('left').exists()"
    executed(written(tmp_path / "second.ipynb", alone), client)

    with pytest.raises(CellExecutionError, match="NameError"):
        executed(written(tmp_path / "third.ipynb", "json"), client)
