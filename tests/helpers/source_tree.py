"""The project's own source as syntax trees, and copies of it to plant violations in."""

import ast
import functools
import shutil
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "lapwing"


def python_files(folder: Path) -> list[Path]:
    """Return every Python file below a folder, in order of its path."""
    return sorted(folder.rglob("*.py"))


def syntax(path: Path) -> ast.Module:
    """Return the syntax tree of a file, which nobody changes: texts that are asked for again are parsed once."""
    return _parsed(path.read_text(encoding="utf-8"))


@functools.lru_cache(maxsize=2048)
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


def copied_package(target: Path) -> Path:
    """Copy the package's Python files to ``target/src/lapwing`` and return that folder."""
    package = target / "src" / "lapwing"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__", "*.parquet"))
    return package


def planted(package: Path, name: str, code: str) -> Path:
    """Write a module into a copied package, whatever stood there before."""
    path = package / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(code, encoding="utf-8")
    return path


def lines_of_code(path: Path) -> int:
    """Count the lines that hold code: no blank lines, comments or docstrings."""
    silent = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    silent |= {tokenize.ENCODING, tokenize.ENDMARKER}
    with path.open("rb") as file:
        tokens = [token for token in tokenize.tokenize(file.readline) if token.type not in silent]
    lines = {line for token in tokens for line in range(token.start[0], token.end[0] + 1)}
    return len(lines - set(_docstring_lines(syntax(path))))


def _docstring_lines(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        match node:
            case (
                ast.Module(body=[ast.Expr(value=ast.Constant(value=str())) as text, *_])
                | ast.ClassDef(body=[ast.Expr(value=ast.Constant(value=str())) as text, *_])
                | ast.FunctionDef(body=[ast.Expr(value=ast.Constant(value=str())) as text, *_])
            ):
                yield from range(text.lineno, (text.end_lineno or text.lineno) + 1)
