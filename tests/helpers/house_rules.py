"""Rules of STYLE and DESIGN as functions from a source folder to what breaks them."""

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

from helpers.source_tree import lines_of_code, python_files, syntax

MAX_FILE_LINES = 800
MAX_ROOM_FILE_LINES = 200
MAX_KERNEL_LINES = 6200
BROAD = {"Exception", "BaseException"}
BANNED_MODULES = {"importlib", "pickle", "random", "secrets"}
BANNED_CALLS = {"__import__", "eval", "exec"}
NARROW = {f"{kind}{bits}" for kind in ("int", "uint", "float") for bits in (8, 16, 32)} | {"float16", "half", "single"}
COUNTED = (
    "kernel/room/",
    "kernel/questions/*/answer.py",
    "rows/counting.py",
    "rows/compiled.py",
    "rows/exact_tables.py",
    "extras/spark/distributed.py",
)
"""Where counts and sums of rows are made: half of 64 bits would wrap, or round, on large tables alone."""
OF_ROWS = (
    "rows/",
    "kernel/room/",
    "kernel/questions/",
    "extras/connect/tables/",
    "extras/spark/",
    "extras/evaluate/internal/",
    "anonymous/",
)
OF_FILES = {f"rows/out/{name}.py" for name in ("writers", "outputs", "staging", "databases")} | {"rows/cache.py"}
"""Files of rows out are written there, under the names that the user gave, and codes in the folder that they named."""
WRITING = {
    *("tempfile", "shutil", "mmap", "memmap", "save", "savez", "savez_compressed", "savetxt", "tofile", "dump"),
    *("whole_file", "write_whole"),
    *(f"write_{kind}" for kind in ("avro", "bytes", "csv", "feather", "ipc", "json", "ndjson", "parquet", "text")),
}
MAY_LOAD = (
    "__init__.py",
    "api/",
    "cli/",
    "extras/",
    "kernel/budget/store.py",
    "mechanisms/registry.py",  # mechanisms alone: tests/unit/test_mechanisms.py
    "on_demand.py",
    "release/",
    "rows/",
)
MAY_USE = {
    "release/runs/generators.py": {"numpy.random.default_rng", "numpy.random.SeedSequence"},
    "on_demand.py": {"importlib.import_module"},
}


def broad_handlers(package: Path) -> dict[str, int]:
    """Count, per file, the places that catch every exception."""
    found = {str(path.relative_to(package)): _broad_handlers_in(syntax(path)) for path in python_files(package)}
    return {name: count for name, count in found.items() if count}


def _broad_handlers_in(tree: ast.Module) -> int:
    handlers = [node for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)]
    bare = sum(handler.type is None for handler in handlers)
    caught = [node for handler in handlers if handler.type for node in _members(handler.type)]
    suppressed = [
        argument
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and _last_name(node.func) == "suppress"
        for argument in node.args
    ]
    return bare + sum(_last_name(node) in BROAD for node in caught + suppressed)


def _members(node: ast.expr) -> list[ast.expr]:
    return list(node.elts) if isinstance(node, ast.Tuple) else [node]


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def long_files(folder: Path) -> list[str]:
    """Return the files that are longer than the limit."""
    return [
        str(path.relative_to(folder))
        for path in python_files(folder)
        if len(path.read_text(encoding="utf-8").splitlines()) > MAX_FILE_LINES
    ]


def oversized_kernel(package: Path) -> list[str]:
    """Return the answering files of the kernel that are too long, and the kernel when all together are."""
    lines = {str(path.relative_to(package)): lines_of_code(path) for path in python_files(package / "kernel")}
    answering = [name for name in lines if name.startswith("kernel/room/") or name.endswith("/answer.py")]
    found = [name for name in answering if lines[name] > MAX_ROOM_FILE_LINES]
    return [*found, "kernel"] if sum(lines.values()) > MAX_KERNEL_LINES else found


def primitives(package: Path) -> dict[str, str]:
    """Return the docstring of everything public that protects people: samplers, the room, mechanisms."""
    samplers = _noise_used_outside(package)
    return {
        f"{path.relative_to(package)}:{node.name}": ast.get_docstring(node) or ""
        for folder in ("kernel/noise", "kernel/room", "kernel/questions", "mechanisms")
        for path in python_files(package / folder)
        for node in syntax(path).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and _is_primitive(node, folder, samplers)
    }


def _noise_used_outside(package: Path) -> set[str]:
    """Return what other packages import from the modules of ``kernel.noise``."""
    return {
        alias.name
        for path in python_files(package)
        if path.relative_to(package).parts[:2] != ("kernel", "noise")
        for node in ast.walk(syntax(path))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lapwing.kernel.noise.")
        for alias in node.names
    }


def _is_primitive(node: ast.FunctionDef | ast.ClassDef, folder: str, samplers: set[str]) -> bool:
    """Say whether a definition is one; the steps that a sampler of ``noise`` is made of are not."""
    if node.name.startswith("_"):
        return False
    if isinstance(node, ast.ClassDef):
        methods = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
        is_protocol = any(_last_name(base) == "Protocol" for base in node.bases)
        return bool(methods & {"ask", "run"}) and not is_protocol
    parameters = node.args.posonlyargs + node.args.args + node.args.kwonlyargs
    types = {_last_name(each.annotation) for each in parameters if each.annotation}
    if folder == "kernel/noise":
        return "BitSource" in types and node.name in samplers
    return folder.startswith("kernel/") and "CodedSource" in types


def without_guarantee(package: Path) -> list[str]:
    """Return the primitives whose docstring does not say what they guarantee."""
    return [name for name, text in primitives(package).items() if "Guarantee:" not in text]


def without_proof(package: Path) -> list[str]:
    """Return the files of the room that answer a question and have no proof note beside them."""
    answering = [
        path
        for path in (package / "kernel" / "questions").rglob("answer.py")
        if any(isinstance(node, ast.FunctionDef) and node.name.startswith("answer_") for node in syntax(path).body)
    ]
    return [str(path.relative_to(package)) for path in answering if not path.with_name("proof.md").is_file()]


def banned_names(package: Path) -> list[str]:
    """Return ``file:line: name`` for every name that is banned from the package."""
    found = []
    for path in python_files(package):
        name = str(path.relative_to(package))
        allowed = MAY_USE.get(name, set())
        uses = sorted(_banned_in(syntax(path)))
        found += [f"{name}:{line}: {banned}" for line, banned in uses if banned not in allowed]
    return found


def _banned_in(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        for name in _mentions(node):
            if name.split(".")[0] in BANNED_MODULES | BANNED_CALLS or _is_numpy_random(name):
                yield node.lineno, name  # type: ignore[attr-defined]


def _mentions(node: ast.AST) -> list[str]:
    """Return the dotted names that a node imports, calls or reads from numpy."""
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=str() as module, names=names):
            return [f"{module}.{alias.name}" for alias in names]
        case ast.Call(func=ast.Name(id=name)):
            return [name]
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id="np" | "numpy"), attr="random"), attr=name):
            return [f"numpy.random.{name}"]
    return []


def narrow_numbers(package: Path) -> list[str]:
    """Return ``file:line: name`` for every number type of less than 64 bits that is named where rows are counted."""
    files = [
        path
        for path in python_files(package)
        if any(fnmatch(path.relative_to(package).as_posix(), each + "*") for each in COUNTED)
    ]
    named = [
        (path, node.lineno, node.attr if isinstance(node, ast.Attribute) else str(node.value))
        for path in files
        for node in ast.walk(syntax(path))
        if isinstance(node, ast.Attribute | ast.Constant)
    ]
    return [f"{path.relative_to(package)}:{line}: {name}" for path, line, name in named if name in NARROW]


def writing_readers(package: Path) -> list[str]:
    """Return ``file:line: name`` for everything that writes files and is named where private rows pass."""
    found = []
    for path in python_files(package):
        name = path.relative_to(package).as_posix()
        if name.startswith(OF_ROWS) and name not in OF_FILES:
            uses = {(node.lineno, each) for node in ast.walk(syntax(path)) for each in _writers_in(node)}
            found += [f"{name}:{line}: {each}" for line, each in sorted(uses)]
    return found


def _writers_in(node: ast.AST) -> list[str]:
    """Return the names of a node that write files, or make some."""
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names if alias.name in WRITING]
        case ast.ImportFrom(module=str() as module, names=names):
            return [each for each in (module, *(alias.name for alias in names)) if each in WRITING]
        case ast.Attribute(attr=name):
            return [name] if name in WRITING or name.startswith(("sink_", "to_parquet", "to_csv")) else []
        case ast.Call(func=ast.Name(id="open"), args=[_, ast.Constant(value=str() as mode)]):
            return ["open"] if set(mode) & set("wax+") else []
    return []


def _is_numpy_random(name: str) -> bool:
    return (name + ".").startswith("numpy.random.") and name != "numpy.random.Generator"


def busy_package_files(package: Path) -> list[str]:
    """Return the ``__init__.py`` files that hold more than a docstring; two are names for users."""
    public = (package, package / "theorems")
    files = [path for path in python_files(package) if path.name == "__init__.py" and path.parent not in public]
    return [str(path.relative_to(package)) for path in files if not _is_docstring_only(syntax(path))]


def _is_docstring_only(tree: ast.Module) -> bool:
    return len(tree.body) == 1 and ast.get_docstring(tree) is not None


def root_imports(package: Path) -> list[str]:
    """Return ``file:line`` where a module imports the root package, whose lazy names hide what is imported."""
    modules = {path.stem for path in package.glob("*.py")} | {path.name for path in package.iterdir() if path.is_dir()}
    return [
        f"{path.relative_to(package)}:{node.lineno}"
        for path in python_files(package)
        for node in ast.walk(syntax(path))
        if _imports_root(node, modules) and isinstance(node, ast.stmt)
    ]


def _imports_root(node: ast.AST, modules: set[str]) -> bool:
    match node:
        case ast.Import(names=names):
            return any(alias.name == "lapwing" for alias in names)
        case ast.ImportFrom(module="lapwing", names=names):
            return any(alias.name not in modules | {"__version__"} for alias in names)
    return False


def loaders(package: Path) -> list[str]:
    """Return the files that load by name, which no contract of imports sees, and are not those that may."""
    found = []
    for path in python_files(package):
        name = path.relative_to(package).as_posix()
        if not name.startswith(MAY_LOAD) and any(_loads(node) for node in ast.walk(syntax(path))):
            found.append(name)
    return found


def _loads(node: ast.AST) -> bool:
    match node:
        case ast.Import(names=names):
            return any(alias.name == "lapwing.on_demand" for alias in names)
        case ast.ImportFrom(module="lapwing", names=names):
            return any(alias.name == "on_demand" for alias in names)
        case ast.ImportFrom(module="lapwing.on_demand", names=names):
            return any(alias.name not in {"Describable", "Displayable", "LazyFunction"} for alias in names)
    return False


_CUTTING = {"startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition", "split", "replace"}
_TELLING = {"text", "lines", "summary"}
_PHRASE = re.compile(r"[A-Za-z]{2}\S* [A-Za-z]{2}|[A-Za-z]{2}: $")
_FOREIGN = {
    "cli/main.py",
    "rows/layouts.py",
    "rows/out/databases.py",
    "rows/out/writers.py",
}  # of click, databases, libraries


def sentences_read(package: Path) -> list[str]:
    """Return where code outside `present` takes one of our sentences apart: by its words, or as what was just told."""
    return [
        f"{name}:{node.lineno}"
        for path in python_files(package)
        if (name := str(path.relative_to(package))) not in _FOREIGN and not name.startswith("present/")
        for node in ast.walk(syntax(path))
        if _takes_apart(node)
    ]


def _takes_apart(node: ast.AST) -> bool:
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CUTTING):
        return False
    told = node.func.value
    is_told = isinstance(told, ast.Call) and _last_name(told.func) in _TELLING
    is_error = (
        isinstance(told, ast.Call) and _last_name(told.func) == "str" and node.func.attr not in {"split", "replace"}
    )
    is_error &= isinstance(told, ast.Call) and [_last_name(each) for each in told.args] in (["error"], ["failure"])
    words = [each.value for argument in node.args for each in ast.walk(argument) if isinstance(each, ast.Constant)]
    return is_told or is_error or any(isinstance(word, str) and _PHRASE.search(word) is not None for word in words)


_WORDLESS = "extras/evaluate/"
"""The folder whose words stand in a file of words."""
_SENTENCE = re.compile(r"(?<![^\s(\"'])(?:[A-Za-z][a-zA-Z'-]*[,;:.?!)]*\s+){3}[A-Za-z][a-zA-Z'-]*(?![\w=(]|\.\w)")


def sentences_held(package: Path) -> list[str]:
    """Return where code of this folder holds four words in a row, but in docstrings, errors, marks and ``--help``."""
    return [
        f"{name}:{node.lineno}"
        for path in python_files(package)
        if (name := str(path.relative_to(package))).startswith(_WORDLESS)
        for node in _told(syntax(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _SENTENCE.search(node.value)
    ]


def _told(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the parts of code that may be shown to somebody."""
    match node:
        case ast.Raise() | ast.Expr(value=ast.Constant()):
            return
        case ast.AnnAssign(target=ast.Name(id="NOTICE")):  # what programs know an internal file by
            return
        case ast.Call(func=called) if (_last_name(called) or "").endswith(
            ("Error", "refused", "guarded", "option", "argument")
        ):
            return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _told(child)


_GIVEN = {"data", "real", "test", "synthetic", "X"}
"""What parameters are called that take a table as a caller gives it."""
_ASKING = {"isinstance", "hasattr", "getattr", "type", "issubclass"}
_OF_ENTRY = {
    "find_files",
    "addresses",
    "is_typed",
    "files_of_dataset",
    "files_of_relation",
    "scanned_files",
    "query_rows",
    "empty_answer",
    "stored_reader",
}


def asking_what_data_is(package: Path) -> list[str]:
    """Return where code outside the entry asks what a table is that a caller gave, or does the entry's work."""
    return [
        f"{name}:{node.lineno}"
        for path in python_files(package)
        if (name := str(path.relative_to(package))) != "rows/entry.py"
        for node in ast.walk(syntax(path))
        if _asks_of_data(node)
    ]


def _asks_of_data(node: ast.AST) -> bool:
    match node:
        case ast.ImportFrom(names=names):
            return any(alias.name in _OF_ENTRY for alias in names)
        case ast.Call(func=ast.Name(id=called), args=[ast.Name(id=given), *_]):
            return called in _ASKING and given in _GIVEN
        case ast.Constant(value="__arrow_c_stream__"):
            return True
    return False


def shared_class_names(package: Path) -> dict[str, list[str]]:
    """Return the names that several public classes share, with the files that these are in."""
    found: dict[str, list[str]] = {}
    for path in python_files(package):
        for node in syntax(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(str(path.relative_to(package)))
    return {name: places for name, places in found.items() if len(places) > 1}
