"""Show the notebooks of docs/gallery as pages of the site, with their outputs: a hook of MkDocs (mkdocs.yml)."""

import base64
import html
import json
import re
from pathlib import PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

_TERMINAL = re.compile(r"\x1b\[[0-9;]*m")


def page_of(notebook: dict[str, Any], name: str) -> str:
    """Return a notebook as Markdown; below its first heading is a link to the notebook itself."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        is_shell, language = source.startswith("%%sh\n"), "python"
        if is_shell:
            source, language = source.removeprefix("%%sh\n"), "sh"
        parts.append(f"```{language}\n{source}\n```")
        parts += [_shown(output) for output in cell["outputs"]]
    first, _, rest = "\n\n".join(parts).partition("\n")
    return f'{first}\n\n<a href="{name}" download>This page as a notebook</a>\n{rest}\n'


def _shown(output: dict[str, Any]) -> str:
    """Return one output in the richest form that needs no script."""
    data = output.get("data", {"text/plain": output.get("text", "")})
    kinds = {kind: "".join(value) for kind, value in data.items() if isinstance(value, str | list)}
    if "image/svg+xml" in kinds:
        # As a picture, so that the ids and styles of two charts never meet.
        coded = base64.b64encode(kinds["image/svg+xml"].encode()).decode()
        return f'<img alt="The chart that this cell draws" src="data:image/svg+xml;base64,{coded}">'
    if "text/html" in kinds:
        lines = "\n".join(filter(str.strip, kinds["text/html"].splitlines()))
        return f'<div class="cell-output">\n{lines}\n</div>'
    text = html.escape(_TERMINAL.sub("", kinds["text/plain"]).rstrip("\n"), quote=False)
    return f'<pre class="cell-output">{text.replace(chr(10), "&#10;")}</pre>'


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for each notebook."""
    for file in list(files):
        if file.src_uri.startswith("gallery/") and file.src_uri.endswith(".ipynb"):
            page = page_of(json.loads(file.content_string), PurePosixPath(file.src_uri).name)
            files.append(File.generated(config, file.src_uri.replace(".ipynb", ".md"), content=page))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - MkDocs names them
    """Lead links to notebooks, which work where the repository is shown, to their pages."""
    return re.sub(r"\]\(([\w/.-]+)\.ipynb(#[\w-]+)?\)", r"](\1.md\2)", markdown)
