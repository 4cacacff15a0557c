"""Model files: a release in one ``.lapwing`` file, safe to load from strangers.

The file is a zip of ``manifest.json``, ``schema.json``, ``certificate.json``, ``model.json``, ``answers.json`` and NPY
arrays. It holds public settings and released numbers only. Of several tables model and answers are lists, one entry a
table, and schema and certificate are those of all.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeVar

import numpy as np

from lapwing.atomic import whole_file
from lapwing.errors import CapacityError, DataError, LapwingError, ParameterError
from lapwing.kernel.codec import Codec
from lapwing.kernel.noise_law import NoiseLaw
from lapwing.kernel.plain import check_format, read_exact, read_key, read_keys, read_list
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts
from lapwing.kernel.questions.questions import RECORDS, Answer
from lapwing.kernel.questions.registered import answer_from_dict, question_from_dict
from lapwing.kernel.questions.select_worst.question import SelectWorst
from lapwing.kernel.questions.tree_counts.question import NoisyTree, TreeCounts
from lapwing.kernel.room.container import MALFORMED, read_container, write_container
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.laws import Laws
from lapwing.model.model import Bernoulli, ColumnLaw, Indexed, LogLinear, ReleasedModel, Spans, check_groupings
from lapwing.schema.files import fingerprint_of, is_of_several
from lapwing.schema.groupings.grouping import Grouping
from lapwing.schema.named_files import open_public_file
from lapwing.schema.schemas import Schema

T = TypeVar("T")

Named = tuple[str, ColumnLaw]
"""A column and its law."""

_LAWS: Final[dict[str, type[ColumnLaw]]] = {law.law: law for law in (Indexed, Spans, Bernoulli)}

_LONG_LIST = 64
_MAX_LISTED = 2**25
MOST_TABLES, MOST_TABLES_PER_COLUMN = 2**12, 2**7
"""A log-linear part has at most so many tables, and so many more for each column.

A sweep looks at all of them. Adaptive writes at most 2 and 100 (of 1000 rounds) for each column, 1000 of rules, and 100
public ones.
"""

MOST_CELLS = 2**26
"""Most cells of these tables together, shared ones each time: half of what a file could hold."""
_MESSAGE_LENGTH = 300


_KIND: Final = "lapwing release"
_FORMAT: Final = 1
_WITH_ARRAYS: Final = ("model.json", "answers.json")
_DOCUMENTS: Final = ("manifest.json", "schema.json", "certificate.json", *_WITH_ARRAYS)


@dataclass(frozen=True, slots=True, eq=False)
class SavedRelease:
    """Hold what a model file holds of one table."""

    schema: Schema
    model: ReleasedModel
    certificate: Certificate
    answers: tuple[Answer, ...]

    def __post_init__(self) -> None:
        self.model.validate(self.schema)
        names = {field.name for field in self.schema.columns}
        for question in (answer.question for answer in self.answers):
            # A selection that is read back has columns only.
            if not isinstance(question, SelectWorst) or question.levels:
                check_groupings(self.schema, question.columns, question.groupings)
            elif not set(question.columns) <= names:
                raise ParameterError(
                    "a selection names a column that is no modelled column of the schema", code="LW643"
                )


def save_release(certificate: Certificate, parts: Mapping[str, SavedRelease], path: Path) -> None:
    """Write a model file of one table or of several, which appears whole or not at all."""
    if certificate.linked is None:
        (saved,) = parts.values()
        write_documents(path, certificate.lapwing, documents_of(saved))
        return
    each = [documents_of(part) for part in parts.values()]
    documents: dict[str, Any] = {
        "schema.json": certificate.linked.to_dict(),
        "certificate.json": certificate.to_dict(),
        **{name: [documents[name] for documents in each] for name in _WITH_ARRAYS},
    }
    write_documents(path, certificate.lapwing, documents)


def documents_of(saved: SavedRelease) -> dict[str, Any]:
    """Return the documents of a release of one table, but for the manifest, as trees of JSON values and arrays."""
    documents: dict[str, Any] = {
        "schema.json": saved.schema.to_dict(),
        "certificate.json": saved.certificate.to_dict(),
        "model.json": _model_to_tree(saved.model),
        "answers.json": [_answer_to_tree(answer) for answer in saved.answers],
    }
    _check_listed([answer["question"] for answer in documents["answers.json"]])
    return documents


def write_documents(path: Path, version: str, documents: Mapping[str, Any]) -> None:
    """Write a model file of these documents, which appears whole or not at all; a DataError where it cannot be."""
    manifest = {"kind": _KIND, "format": _FORMAT, "lapwing": version}
    with whole_file(path) as file:
        write_container(file, {"manifest.json": manifest, **documents})


def is_model(path: Path) -> bool:
    """Return whether a file may be a model file: a zip archive that is no workbook."""
    if path.suffix.lower() == ".xlsx" or not path.is_file():
        return False
    with open(path, "rb") as file:
        return file.read(2) == b"PK"


def what_is_certified(path: Path) -> tuple[object, str]:
    """Return the certificate in a model file, as plain JSON values, and the fingerprint of the schema."""
    return read_documents(path, lambda trees: (trees["certificate.json"], fingerprint_of(trees["schema.json"])))


def load_tables(path: Path) -> tuple[Certificate, dict[str, SavedRelease]]:
    """Read a model file that anybody may have written; one table by itself has no name."""
    return read_documents(path, _tables_of)


def load_release(path: Path) -> SavedRelease:
    """Read a model file of one table that anybody may have written."""
    return read_documents(path, saved_of)


def read_documents(path: Path, read: Callable[[Mapping[str, Any]], T]) -> T:
    """Read the documents of a model file."""
    try:
        with open_public_file(path, f"the model file {path}") as (file, _):
            return _read(file, path, read)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a usable path"
    raise DataError(f"the model file {path} cannot be read ({reason}); check the path", code="LW602")


def saved_of(trees: Mapping[str, Any]) -> SavedRelease:
    """Read back what `documents_of` made."""
    if is_of_several(trees["schema.json"]):
        said = "holds linked tables, not one by itself; this takes a release of one table"
        raise ParameterError(said, code="LW603")
    entries = read_list(trees, "answers.json", dict)
    _check_listed([read_key(entry, "question", dict) for entry in entries])
    return SavedRelease(
        Schema.from_dict(trees["schema.json"]),
        _model_from_tree(trees["model.json"]),
        Certificate.from_dict(trees["certificate.json"]),
        tuple(_answer_from_tree(entry) for entry in entries),
    )


def _tables_of(trees: Mapping[str, Any]) -> tuple[Certificate, dict[str, SavedRelease]]:
    """Read back all tables."""
    if not is_of_several(trees["schema.json"]):
        saved = saved_of(trees)
        return saved.certificate, {"": saved}
    certificate = Certificate.from_dict(trees["certificate.json"])
    models, answers = read_list(trees, "model.json", dict), read_list(trees, "answers.json", list)
    if not len(models) == len(answers) == len(certificate.parts):
        raise ParameterError("it must have a model, and answers, for each table", code="LW621")
    linked = certificate.linked
    if linked is None or Schema.from_dict(trees["schema.json"]) != Schema(linked=linked):
        raise ParameterError("its schema and its certificate must be of the same linked tables", code="LW621")
    return certificate, {
        name: saved_of(
            {
                "schema.json": linked.coded[name].to_dict(),
                "certificate.json": part.to_dict(),
                "model.json": model,
                "answers.json": answer,
            }
        )
        for (name, part), model, answer in zip(certificate.parts.items(), models, answers, strict=True)
    }


def _read(file: BinaryIO, path: Path, read: Callable[[Mapping[str, Any]], T]) -> T:
    """Read an open model file; whatever is wrong with it becomes one sentence."""
    try:
        trees = read_container(file, _DOCUMENTS, _WITH_ARRAYS)
        manifest = trees["manifest.json"]
        if read_key(manifest, "kind", str) != _KIND:
            raise ParameterError("it is of another kind", code="LW601")
        check_format(manifest, _FORMAT, "the model")
        found = read(trees)
    except MALFORMED as error:
        # Words of ours may quote the file: no control character of it reaches a terminal.
        text = str(error) if isinstance(error, LapwingError) else f"its contents are damaged ({type(error).__name__})"
        code = error.code if isinstance(error, LapwingError) and error.code in ("LW603", "LW604") else "LW601"
        what = "".join(letter if letter.isprintable() else "?" for letter in text[:_MESSAGE_LENGTH])
    else:
        return found
    said = {"LW603": f"{path} {what}", "LW604": f"{path}: {what}"}
    raise DataError(said.get(code, f"{path} is not a Lapwing model file: {what}"), code=code)


def _model_to_tree(model: ReleasedModel) -> dict[str, object]:
    """Return a model as JSON values and arrays."""
    part = model.log_linear
    written = None if part is None else _written(part, model.laws)
    return _ARRAYS.write(_Model(model.rows, model.weights, tuple(model.laws.items()), written))


def _written(part: LogLinear, laws: Mapping[str, ColumnLaw]) -> "_LogLinear":
    """Return a log-linear part as it is written; laws: of the model, which the part's atoms mostly have."""
    _check_tables(part.thetas, len(part.base))
    tables = map(_Counted, part.tables, part.groupings, part.thetas)
    # Where rules hold, the model has other laws in some columns than theta is to explain.
    own = tuple((name, law) for name, law in part.atoms.items() if laws[name] is not law)
    return _LogLinear(tuple(tables), tuple(map(_Base, part.base, part.base.values())), part.free, own)


def _answer_to_tree(answer: Answer) -> dict[str, object]:
    """Return one answer as JSON values and arrays."""
    whole = answer.to_dict()
    if isinstance(answer, NoisyCounts | NoisyTree):
        tables = [_ARRAYS.write(_Table(table.noise, table.counts)) for table in answer.tables]
        return {"question": _lifted(whole["question"]), "tables": tables}
    return {"question": _lifted(whole["question"]), "answer": whole["answer"]}


def _model_from_tree(tree: object) -> ReleasedModel:
    """Read back a model."""
    part = read_key(tree, "log_linear", object)
    tables = () if part is None else read_list(part, "tables", dict)
    _check_listed([read_key(table, "groupings", list) for table in tables])
    model = _ARRAYS.read(_Model, tree)
    laws = _by_name(model.columns)
    log_linear = None if model.log_linear is None else _log_linear(model.log_linear, laws)
    return ReleasedModel(weights=model.weights, rows=model.rows, laws=laws, log_linear=log_linear)


def _log_linear(part: "_LogLinear", laws: Mapping[str, ColumnLaw]) -> LogLinear:
    """Return a log-linear part; laws: of the model's atoms, which its free tables are to explain."""
    thetas = tuple(table.theta for table in part.tables)
    _check_tables(thetas, len(part.base))
    atoms = {**laws, **_by_name(part.atoms)} if part.free else {}
    return LogLinear(
        tables=tuple(table.columns for table in part.tables),
        groupings=tuple(table.groupings for table in part.tables),
        thetas=thetas,
        base=_by_name([(each.name, each.laws) for each in part.base]),
        free=part.free,
        atoms={name: law for name, law in atoms.items() if isinstance(law, Indexed)},
    )


def _by_name(pairs: Sequence[tuple[str, T]]) -> dict[str, T]:
    """Return what is said of each column, once."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ParameterError("a column of the model occurs twice", code="LW643")
    return found


def _law_to_tree(named: Named) -> dict[str, object]:
    """Return a column's name, and its law beside it."""
    return {"name": named[0], **_ARRAYS.write(named[1])}


def _law_from_tree(tree: Any) -> Named:  # noqa: ANN401 - checked here
    """Read back a column's name, and its law beside it."""
    name, kind = (read_key(tree, key, str) for key in ("name", "law"))
    if kind not in _LAWS:
        raise ParameterError(f"a column has the unknown law {kind!r}", code="LW643")
    return name, _ARRAYS.read(_LAWS[kind], {key: value for key, value in tree.items() if key != "name"})


def _check_tables(thetas: Sequence[np.ndarray], columns: int) -> None:
    """Refuse more tables of a log-linear part, or more cells, than rows can be drawn from in bounded time."""
    most = MOST_TABLES + MOST_TABLES_PER_COLUMN * columns
    if len(thetas) > most or sum(theta.size for theta in thetas) > MOST_CELLS:
        raise CapacityError(
            f"the log-linear part has more than {most} tables, or {MOST_CELLS} cells; coarsen them", code="LW510"
        )


def _answer_from_tree(entry: object) -> Answer:
    """Read back one answer."""
    if isinstance(entry, dict) and "answer" in entry:
        return answer_from_dict({**entry, "question": _lowered(read_key(entry, "question", dict))})
    asked, _ = read_keys(entry, "question", "tables")
    question = question_from_dict(_lowered(asked))
    tables = [_ARRAYS.read(_Table, table) for table in read_list(entry, "tables", dict)]
    if isinstance(question, TreeCounts):
        return NoisyTree.of(question, [each.counts for each in tables], [each.noise for each in tables])
    if len(tables) != 1 or not isinstance(question, MarginalCounts):
        raise ParameterError(f"a table over {question.columns} must have one answer, got {len(tables)}", code="LW643")
    return NoisyCounts(question, tables[0].counts, tables[0].noise)


def _lifted(tree: object) -> object:
    """Return a tree of JSON values with arrays in place of its long lists of whole numbers."""
    if isinstance(tree, dict):
        return {key: _lifted(value) for key, value in tree.items()}
    if not isinstance(tree, list):
        return tree
    if len(tree) > _LONG_LIST and set(map(type, tree)) == {int}:
        return np.array(tree, dtype=np.int64)
    return [_lifted(value) for value in tree]


def _lowered(tree: object) -> object:
    """Return a tree with lists in place of its arrays."""
    if isinstance(tree, dict):
        return {key: _lowered(value) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_lowered(value) for value in tree]
    return tree.tolist() if isinstance(tree, np.ndarray) else tree


def _check_listed(trees: Sequence[object]) -> None:
    """Refuse trees whose arrays would make too many list entries; one array may stand in many places."""
    if sum(map(_listed, trees)) > _MAX_LISTED:
        raise CapacityError(
            f"the groupings of a release list more than {_MAX_LISTED} numbers; coarsen them", code="LW510"
        )


def _listed(tree: object) -> int:
    """Return how many list entries the arrays of a tree stand for."""
    if isinstance(tree, dict | list):
        return sum(map(_listed, tree.values() if isinstance(tree, dict) else tree))
    return tree.size if isinstance(tree, np.ndarray) else 0


# -- What stands in ``model.json`` and ``answers.json``.


@dataclass(frozen=True, slots=True)
class _Table:
    """A noisy table of an answer."""

    noise: NoiseLaw
    counts: np.ndarray


@dataclass(frozen=True, slots=True)
class _Counted:
    """A table of a log-linear part."""

    columns: tuple[str, ...]
    groupings: tuple[Grouping, ...]
    theta: np.ndarray


@dataclass(frozen=True, slots=True)
class _Base:
    """The base law of a column."""

    name: str
    laws: Laws


@dataclass(frozen=True, slots=True)
class _LogLinear:
    """A log-linear part; atoms: laws of its atoms that are not those of the model."""

    tables: tuple[_Counted, ...]
    base: tuple[_Base, ...]
    free: tuple[int, ...]
    atoms: tuple[Named, ...]


@dataclass(frozen=True, slots=True)
class _Model:
    """A model."""

    rows: int
    weights: np.ndarray
    columns: tuple[Named, ...]
    log_linear: _LogLinear | None


_ARRAYS: Final = Codec(
    {
        Fraction: (str, read_exact),
        Grouping: (lambda each: _lifted(RECORDS.write(each)), lambda tree: RECORDS.read(Grouping, _lowered(tree))),
        Named: (_law_to_tree, _law_from_tree),
    }
)
"""How these are written: arrays as they are, for a container."""
