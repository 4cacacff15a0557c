"""Find floating point in Python source, as far as syntax tells, and in arrays, when they are computed."""

import ast
from collections.abc import Iterator

import numpy as np

EXACT_MATH = {"comb", "factorial", "gcd", "isqrt", "lcm", "perm", "prod"}
INEXACT_NAMES = {"float", "complex", "Decimal", "statistics", "cmath", "numexpr", "scipy"}
INEXACT_DTYPES = {
    "float16", "float32", "float64", "float96", "float128", "half", "single", "double", "longdouble", "floating",
    "inexact", "complex64", "complex128", "complex256", "csingle", "cdouble", "clongdouble", "complexfloating",
}  # fmt: skip
INEXACT_FUNCTIONS = {
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "divide", "true_divide", "mean", "average",
    "std", "var", "median", "quantile", "percentile", "linspace", "logspace", "geomspace", "interp", "float_power",
    "sin", "cos", "tan", "tanh", "random", "from_float", "__truediv__", "truediv", "fsum", "cumulative_trapezoid",
}  # fmt: skip
UNTYPED_MAKERS = {"empty", "zeros", "ones", "full", "frombuffer", "fromiter", "eye", "identity"}
DTYPE_LETTERS = set("efdgFDG")


def floats_in(source: str) -> list[str]:
    """Return one sentence for every place that names, writes or makes a floating-point number."""
    tree = ast.parse(source)
    return [f"line {node.lineno}: {why}" for node in ast.walk(tree) for why in _faults(node)]


def _faults(node: ast.AST) -> Iterator[str]:
    yield from _written(node)
    yield from _operated(node)
    yield from _named(node)
    yield from _imported(node)


def _written(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Constant(value=float() | complex()):
            yield "a floating-point literal"
        case ast.Constant(value=str() as text) if _is_float_dtype(text):
            yield "the name of a floating-point type"


def _operated(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.BinOp(left=left, op=ast.Div(), right=right) if not (_is_fraction(left) or _is_fraction(right)):
            yield "a division that is none of Fractions"
        case ast.AugAssign(op=ast.Div()):
            yield "a division that is none of Fractions"
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.UnaryOp(op=ast.USub())) if not _is_fraction(left):
            yield "a negative power of what is no Fraction"


def _named(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name) if name in INEXACT_NAMES:
            yield f"the name {name}"
        case ast.Attribute(value=ast.Name(id="math"), attr=name) if name not in EXACT_MATH:
            yield f"math.{name}"
        case ast.Attribute(attr=name) if name in INEXACT_DTYPES | INEXACT_FUNCTIONS:
            yield f"the name {name}"
        case ast.Call(func=ast.Attribute(value=ast.Name(id="np"), attr=name)) if name in UNTYPED_MAKERS:
            # np.empty_like and np.arange keep their argument's type; these make doubles unless told otherwise.
            if not any(keyword.arg == "dtype" for keyword in node.keywords):
                yield f"np.{name} without a dtype"


def _imported(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.ImportFrom(module="math", names=names) if {alias.name for alias in names} - EXACT_MATH:
            yield "an inexact function of math"
        case ast.ImportFrom(names=names) if {alias.name for alias in names} & (INEXACT_DTYPES | INEXACT_NAMES):
            yield "an import of a floating-point type"
        case ast.Import(names=names) | ast.ImportFrom(names=names) if _imports_inexact(node, names):
            yield "an import of an inexact library"


def _imports_inexact(node: ast.Import | ast.ImportFrom, names: list[ast.alias]) -> bool:
    modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in names]
    return any(module.split(".")[0] in {"scipy", "decimal", "statistics", "cmath", "numexpr"} for module in modules)


def _is_fraction(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Fraction"


def _is_float_dtype(text: str) -> bool:
    bare = text.lstrip("<>=|")
    return bare in INEXACT_DTYPES | {"float"} or bare in DTYPE_LETTERS or bare in {"f2", "f4", "f8", "f16", "c8", "c16"}


class IntegersOnly(np.ndarray):
    """An array that fails when NumPy turns it, or anything computed from it, into floating point."""

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **settings):
        plain = [np.asarray(item) if isinstance(item, IntegersOnly) else item for item in inputs]
        targets = None if out is None else tuple(np.asarray(item) for item in out)
        result = getattr(ufunc, method)(*plain, **({"out": targets} if targets else {}), **settings)
        assert np.asarray(result).dtype.kind not in "fc", f"{ufunc.__name__} made floating point"
        if out is not None:
            return out[0]
        return result.view(IntegersOnly) if isinstance(result, np.ndarray) else result
