"""Small changes of Python code, one at a time: what a slip of the hand would leave behind.

Some are slips of privacy that small tests miss: a step that large tables skip, noise that they lack, a result that is
kept for the second call, the other relation, the last row forgotten, one container of several not known.

Left alone are docstrings, annotations, decorators, imports, formatted texts, what is inside ``raise`` (texts of
errors), ``assert`` and ``zip(strict=True)`` (a proof that is weakened changes nothing that runs).
"""

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeGuard

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitOr,
}
NAMES = {
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "minimum": "maximum",
    "maximum": "minimum",
    "floor": "ceil",
    "ceil": "floor",
    "argmin": "argmax",
    "argmax": "argmin",
    "zeros": "ones",
    "ones": "zeros",
}
RELATIONS = {"add-remove": "replace-one", "replace-one": "add-remove"}
LARGE = 2_000
"""Values from which a table is large to a slip; most tests have fewer, and some of every kind must have more."""
SYMMETRIC = frozenset({"min", "max", "minimum", "maximum"})
Statement = (ast.stmt, ast.excepthandler, ast.match_case)
BODIES = ("body", "orelse", "handlers", "finalbody", "cases")


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of a file: in which function, of which kind, its statement before and after (of a block, the head)."""

    path: str
    place: int
    variant: int
    line: int
    kind: str
    before: str
    after: str
    function: str


def mutants_of(path: str, source: str) -> list[Mutant]:
    """Return every change of ``source`` that this module knows, in the order of the syntax tree."""
    tree = ast.parse(source)
    left_alone, statements = _left_alone(tree), _statements_around(tree)
    inside: dict[int, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            inside.update((id(inner), node.name) for each in node.body for inner in ast.walk(each))
    found = []
    for place, node in enumerate(ast.walk(tree)):
        if id(node) in left_alone:
            continue
        for variant, (kind, changed) in enumerate(_variants(node)):
            statement = statements[id(node)]
            line = getattr(statement, "lineno", getattr(node, "lineno", 0))
            texts = _texts(statement, node, changed)
            found.append(Mutant(path, place, variant, line, kind, *texts, inside.get(id(node), "")))
    return found


def mutated(source: str, mutant: Mutant) -> ast.Module:
    """Return the syntax tree of ``source`` with one change; lines keep their numbers."""
    tree = ast.parse(source)
    target = next(node for place, node in enumerate(ast.walk(tree)) if place == mutant.place)
    _, changed = list(_variants(target))[mutant.variant]
    _Replace(target, changed).visit(tree)
    return ast.fix_missing_locations(tree)


class _Replace(ast.NodeTransformer):
    def __init__(self, target: ast.AST, changed: ast.AST) -> None:
        self.target, self.changed = target, changed

    def visit(self, node: ast.AST) -> ast.AST:
        if node is self.target:
            return ast.copy_location(self.changed, node)
        return self.generic_visit(node)


def _left_alone(tree: ast.Module) -> set[int]:
    """Return the nodes that are not changed, with all that is in them."""
    roots: list[ast.AST] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom | ast.JoinedStr | ast.Assert):
            roots.append(node)
        elif isinstance(node, ast.Raise):
            roots.extend(ast.iter_child_nodes(node))
        elif isinstance(node, ast.AnnAssign):
            roots.append(node.annotation)
        elif isinstance(node, ast.arg) or (isinstance(node, ast.keyword) and node.arg == "strict"):
            roots.append(node)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            roots.extend(node.decorator_list)
            roots.extend([node.returns] if isinstance(node, ast.FunctionDef) and node.returns else [])
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            roots.append(node)
    return {id(inner) for root in roots for inner in ast.walk(root)}


def _statements_around(tree: ast.Module) -> dict[int, ast.AST]:
    """Return the innermost statement that each node is a part of."""
    around: dict[int, ast.AST] = {}
    for node in ast.walk(tree):
        around[id(node)] = statement = node if isinstance(node, Statement) else around.get(id(node), node)
        around.update((id(child), statement) for child in ast.iter_child_nodes(node))
    return around


def _texts(statement: ast.AST, node: ast.AST, changed: ast.AST) -> tuple[str, str]:
    """Return a statement as it is, and with one of its nodes changed."""
    before = _text(statement)
    if node is statement:
        return before, _text(changed)
    _Replace(node, changed).visit(statement)
    after = _text(statement)
    _Replace(changed, node).visit(statement)
    return before, after


def _text(statement: ast.AST) -> str:
    """Return a statement in one line; of a block, the head."""
    head = copy.copy(statement)
    for name in BODIES:
        if isinstance(getattr(head, name, None), list):
            setattr(head, name, [])
    return " ".join(ast.unparse(ast.fix_missing_locations(head)).split())


def _variants(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield the changed forms of one node."""
    yield from _expressions(node)
    yield from _values(node)
    yield from _calls(node)
    yield from _statements(node)
    yield from _slips(node)
    yield from _forgotten(node)


def _slips(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if _takes(value, name):
            yield "large", _with(node, value=_unless_large(value, ast.Name(name, ast.Load())))
        case ast.BinOp(left=ast.Name() | ast.Attribute() as left, op=ast.Add(), right=ast.Name() | ast.Call()):
            yield "large", _unless_large(node, left)
        case ast.Return(value=ast.Call() | ast.BinOp() as value):
            first = f"globals().setdefault('_kept_{node.lineno}', {ast.unparse(value)})"
            yield "second call", _with(node, value=_parsed(first))
        case ast.Constant(value=str(value)) if value in RELATIONS:
            yield "relation", ast.Constant(RELATIONS[value])


def _forgotten(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Call(func=ast.Name(id="range")):
            yield "last row", _parsed(f"{ast.unparse(node)}[:-1]")
        case ast.Call(func=ast.Name(id="len")):
            yield "last row", _parsed(f"{ast.unparse(node)} - 1")
        case ast.For(iter=ast.Name() | ast.Attribute() as each):
            yield "last row", _with(node, iter=_parsed(f"list({ast.unparse(each)})[:-1]"))
        case ast.Call(func=ast.Name(id="isinstance"), args=[value, ast.BinOp(left=left, op=ast.BitOr(), right=right)]):
            for kind in (left, right):
                yield "container", _with(node, args=copy.deepcopy([value, kind]))


def _takes(value: ast.expr, name: str) -> bool:
    """Return whether a value is made of a variable by a call or an operation."""
    names = {each.id for each in ast.walk(value) if isinstance(each, ast.Name)}
    return isinstance(value, ast.Call | ast.BinOp | ast.Subscript) and name in names


def _unless_large(value: ast.expr, otherwise: ast.expr) -> ast.expr:
    """Return an expression that is another one where that is large, or has many values."""
    name = ast.unparse(otherwise)
    test = _parsed(f"(len({name}) if hasattr({name}, '__len__') else {name}) < {LARGE}")
    return ast.IfExp(test=test, body=copy.deepcopy(value), orelse=copy.deepcopy(otherwise))


def _parsed(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _expressions(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Compare():
            for place, operator in enumerate(node.ops):
                for other in COMPARISONS[type(operator)]:
                    changed = copy.deepcopy(node)
                    changed.ops[place] = other()
                    yield "comparison", changed
        case ast.BinOp(op=operator) | ast.AugAssign(op=operator) if type(operator) in ARITHMETIC:
            yield "arithmetic", _with(node, op=ARITHMETIC[type(operator)]())
        case ast.BoolOp(op=operator):
            yield "boolean", _with(node, op=ast.Or() if isinstance(operator, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield "boolean" if isinstance(node.op, ast.Not) else "arithmetic", copy.deepcopy(operand)


def _values(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Constant(value=bool(value)):
            yield "boolean", ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield "constant", ast.Constant(value + 1)
            yield "constant", ast.Constant(value - 1)
        case ast.IfExp(body=body, orelse=orelse):
            yield "branch", copy.deepcopy(body)
            yield "branch", copy.deepcopy(orelse)


def _calls(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Call(func=ast.Name(id=name)) if name in NAMES:
            yield "function", _with(node, func=ast.Name(NAMES[name], ast.Load()))
        case ast.Call(func=ast.Attribute(attr=name) as function) if name in NAMES:
            yield "function", _with(node, func=_with(function, attr=NAMES[name]))
    if _can_swap(node):
        first, second, *others = copy.deepcopy(node.args)
        yield "swapped arguments", _with(node, args=[second, first, *others])
    if isinstance(node, ast.Call):
        for place, keyword in enumerate(node.keywords):
            if keyword.arg == "strict":
                continue
            kept = copy.deepcopy(node.keywords)
            del kept[place]
            yield "dropped argument", _with(node, keywords=kept)


def _can_swap(node: ast.AST) -> TypeGuard[ast.Call]:
    """Tell whether a call has two first arguments whose order matters."""
    if not isinstance(node, ast.Call) or len(node.args) < 2:
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name not in SYMMETRIC and not any(isinstance(each, ast.Starred) for each in node.args[:2])


def _statements(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.If(test=test):
            yield "branch", _with(node, test=ast.Constant(True))
            yield "branch", _with(node, test=ast.Constant(False))
        case ast.While(test=test) if not isinstance(test, ast.Constant):
            yield "branch", _with(node, test=ast.Constant(False))
        case ast.Expr() | ast.Assign() | ast.AugAssign() | ast.Raise() | ast.Delete():
            yield "deleted statement", ast.Pass()
        case ast.Break():
            yield "loop", ast.Continue()
        case ast.Continue():
            yield "loop", ast.Break()
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            for constant in (0, 1) if isinstance(value, ast.Compare | ast.BoolOp) else (0,):
                yield "returned constant", _with(node, value=ast.Constant(constant))


def _with(node: ast.AST, **fields: object) -> ast.AST:
    """Return a copy of a node with other fields."""
    changed = copy.deepcopy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed
