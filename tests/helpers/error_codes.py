"""Codes of errors: those that the source raises, and those that the page explains."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import lapwing.errors
from helpers.source_tree import python_files, syntax

PAGE = Path(lapwing.errors.__file__).with_name("cli") / "errors.md"
ERRORS = {name for name, kind in vars(lapwing.errors).items() if isinstance(kind, type)} - {"LapwingWarning"}
CODE = re.compile(r"LW[1-9]\d\d")


def explained() -> dict[str, str]:
    """Return the text of each code of the page."""
    parts = re.split(r"^#+ ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {part[:5]: part for part in parts if CODE.match(part)}


def without_code(package: Path) -> list[str]:
    """Return the places where an error is made without a code, by its class, a factory or another error's class."""
    return [
        f"{path.relative_to(package)}:{call.lineno}"
        for path in python_files(package)
        for call in _makers(syntax(path))
        if not any(each.arg == "code" and _is_code(each.value) for each in call.keywords)
    ]


def _makers(tree: ast.Module) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        is_partial = _name(node.func) == "partial" and bool(node.args) and _name(node.args[0]) in ERRORS
        is_copy = isinstance(node.func, ast.Call) and ast.unparse(node.func) in ("type(failure)", "type(error)")
        if _name(node.func) in {*ERRORS, "misuse", "BadParameter"} or is_partial or is_copy:
            yield node


def _name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _is_code(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=str(text)):
            return CODE.fullmatch(text) is not None
        case ast.Name(id="code") | ast.Attribute(attr="code"):
            return True  # handed on from another error, or chosen from constants a few lines above
    return False


def codes_in(package: Path) -> set[str]:
    """Return all codes that stand in the source as constants."""
    return {
        node.value
        for path in python_files(package)
        for node in ast.walk(syntax(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and CODE.fullmatch(node.value)
    }
