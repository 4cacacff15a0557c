"""Run the notebooks of docs/gallery, and write what they show into them: ``make gallery``."""

import contextlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import nbformat
import polars as pl
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from helpers.source_tree import ROOT

GALLERY: Final = sorted((ROOT / "docs" / "gallery").glob("*.ipynb"))
EXAMPLES: Final = ROOT / "src" / "lapwing" / "examples"


@contextlib.contextmanager
def kernel() -> Iterator[NotebookClient]:
    """Start a kernel which finds the commands of this Python, and give what runs notebooks in it."""
    with tempfile.TemporaryDirectory() as settings:
        commands = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environ = {**os.environ, "PATH": commands, "IPYTHONDIR": settings, "OMP_NUM_THREADS": "1"}
        client = NotebookClient(new_notebook(), timeout=300, coalesce_streams=True)
        with client.setup_kernel(env=environ):
            yield client


def executed(path: Path, client: NotebookClient, rows: int | None = None) -> nbformat.NotebookNode:
    """Return a notebook as it ran, with no names but its own, in a folder with the bundled sample or some of its rows.

    A cell that fails raises.
    """
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        cell.metadata.clear()
    with tempfile.TemporaryDirectory() as scratch:
        work = shutil.copytree(EXAMPLES, Path(scratch, "work"), ignore=shutil.ignore_patterns("__pycache__", "*.py"))
        if rows is not None:
            pl.read_parquet(EXAMPLES / "adult.parquet").sample(rows, seed=1).write_parquet(work / "adult.parquet")
        client.nb = new_notebook(cells=[new_code_cell(f"%cd -q {work}\n%reset -f")])
        client.execute(cleanup_kc=False)
        client.nb = notebook
        client.execute(cleanup_kc=False)
    for cell in notebook.cells:
        cell.metadata.clear()  # when each cell ran
        for output in cell.get("outputs", ()):
            if "text" in output:
                output["text"] = re.sub(r"\S*/ipykernel_\d+/\d+\.py:\d+", "notebook", output["text"])
        if "outputs" in cell:  # the line that told how far a release was is empty when it is done
            cell.outputs = [
                each for each in cell.outputs if each.get("data", {"text/plain": "x"}) != {"text/plain": ""}
            ]
    return notebook


def main(names: list[str]) -> None:
    """Run the named notebooks, or all of them, in place."""
    for path in GALLERY:
        if not names or path.stem in names:
            with kernel() as fresh:
                nbformat.write(executed(path, fresh), path)
            print(path.relative_to(ROOT))


if __name__ == "__main__":
    main(sys.argv[1:])
