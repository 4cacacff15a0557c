"""Numbers that code of the kernel and of rows compares something with, where that decides how it goes on."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

from helpers.source_tree import PACKAGE, python_files, syntax

FOLDERS = ("kernel/noise", "kernel/questions", "rows", "extras/connect/tables", "extras/spark")
_CALLS = ("min", "max", "range", "islice")
_SMALL = 2


def thresholds(folder: Path = PACKAGE) -> dict[tuple[str, str], float]:
    """Return the value of each threshold, by the file and the name or number there; refusals are none."""
    found = {}
    for part in FOLDERS:
        for path in python_files(folder / part):
            name = path.relative_to(folder)
            for side in _compared(syntax(path)):
                found |= {(name.as_posix(), word): value for word, value in _numbers(side, name)}
    return found


def _compared(tree: ast.Module) -> Iterator[ast.expr]:
    """Yield what is compared, or given to a function that takes the smaller or the next of some."""
    refusals = {
        id(each)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise)
        for each in ast.walk(node.test)
    }
    for node in ast.walk(tree):
        if id(node) in refusals:
            continue
        if isinstance(node, ast.Compare):
            yield from (node.left, *node.comparators)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CALLS:
            yield from node.args
        if isinstance(node, ast.Slice):
            yield from (each for each in (node.lower, node.upper) if each is not None)


def _numbers(side: ast.expr, path: Path) -> Iterator[tuple[str, float]]:
    """Yield the constants and numbers in an expression that are above 2, the largest expression of each."""
    if isinstance(side, ast.Name) and side.id.strip("_").isupper():
        value = getattr(importlib.import_module(f"lapwing.{'.'.join(path.with_suffix('').parts)}"), side.id, None)
    else:
        value = _folded(side)
    if isinstance(value, int | float) and not isinstance(value, bool):
        if abs(value) > _SMALL:
            yield ast.unparse(side), value
        return
    for child in ast.iter_child_nodes(side):
        if isinstance(child, ast.expr):
            yield from _numbers(child, path)


def _folded(side: ast.expr) -> object:
    """Return the value of an expression of numbers alone, or None."""
    if isinstance(side, ast.Constant):
        return side.value
    if isinstance(side, ast.UnaryOp) and isinstance(side.op, ast.USub):
        value = _folded(side.operand)
        return -value if isinstance(value, int | float) else None
    if not isinstance(side, ast.BinOp):
        return None
    left, right = _folded(side.left), _folded(side.right)
    if not all(type(each) in (int, float) for each in (left, right)):
        return None
    work = {ast.Pow: pow, ast.LShift: int.__lshift__, ast.Mult: lambda a, b: a * b, ast.Sub: lambda a, b: a - b}
    known = work.get(type(side.op))
    return None if known is None else known(left, right)
