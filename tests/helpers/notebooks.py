"""Run the notebooks of docs/gallery, and write what they show into them: ``make gallery``."""

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

import nbformat
from nbclient import NotebookClient

from helpers.source_tree import ROOT

GALLERY: Final = sorted((ROOT / "docs" / "gallery").glob("*.ipynb"))
EXAMPLES: Final = ROOT / "src" / "lapwing" / "examples"


def executed(path: Path) -> nbformat.NotebookNode:
    """Return a notebook as a fresh kernel ran it in a folder with the bundled sample; a cell that fails raises."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        cell.metadata.clear()
    with tempfile.TemporaryDirectory() as scratch:
        work, settings = Path(scratch, "work"), Path(scratch, "ipython")
        shutil.copytree(EXAMPLES, work, ignore=shutil.ignore_patterns("__pycache__", "*.py"))
        commands = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        environ = {**os.environ, "PATH": commands, "IPYTHONDIR": str(settings), "OMP_NUM_THREADS": "1"}
        client = NotebookClient(
            notebook, timeout=300, coalesce_streams=True, resources={"metadata": {"path": str(work)}}
        )
        client.execute(env=environ)
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
            nbformat.write(executed(path), path)
            print(path.relative_to(ROOT))


if __name__ == "__main__":
    main(sys.argv[1:])
