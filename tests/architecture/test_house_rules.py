"""Rules of STYLE that no linter knows: each holds on the tree, and each is broken by planted code."""

from pathlib import Path

import pytest

from helpers import house_rules
from helpers.source_tree import PACKAGE, ROOT, lines_of_code, planted, python_files


def test_the_tree_catches_all_exceptions_in_five_files_only() -> None:
    found = house_rules.broad_handlers(PACKAGE)

    # The guard has one around each call on private rows, and one around each call of a row function;
    # progress has one around the caller's own function, which is told of public steps; the studio has one around each
    # request and one around each thread, whose exceptions a server's log would print.
    assert found == {
        "rows/guard.py": 2,
        "cli/main.py": 1,
        "release/runs/watching.py": 1,
        "extras/studio/guard.py": 1,
        "extras/studio/works.py": 1,
    }


@pytest.mark.parametrize(
    "code",
    [
        "try:\n    pass\nexcept Exception:\n    pass\n",
        "try:\n    pass\nexcept (ValueError, BaseException) as error:\n    pass\n",
        "try:\n    pass\nexcept:\n    pass\n",
        "try:\n    pass\nexcept* Exception:\n    pass\n",
        "import contextlib\nwith contextlib.suppress(Exception):\n    pass\n",
        "import builtins\ntry:\n    pass\nexcept builtins.Exception:\n    pass\n",
    ],
)
def test_a_planted_broad_handler_is_counted(tmp_path: Path, code: str) -> None:
    planted(tmp_path, "release/runs/planted.py", code)

    assert house_rules.broad_handlers(tmp_path) == {"release/runs/planted.py": 1}


@pytest.mark.parametrize("folder", ["src", "tests", "tools"])
def test_no_file_is_longer_than_400_lines(folder: str) -> None:
    assert house_rules.long_files(ROOT / folder) == []


def test_a_planted_long_file_is_named(tmp_path: Path) -> None:
    planted(tmp_path, "short.py", "x = 1\n" * house_rules.MAX_FILE_LINES)
    planted(tmp_path, "long.py", "x = 1\n" * (house_rules.MAX_FILE_LINES + 1))

    assert house_rules.long_files(tmp_path) == ["long.py"]


def test_the_kernel_stays_small() -> None:
    assert house_rules.oversized_kernel(PACKAGE) == []


def test_a_kernel_that_grew_is_named(tmp_path: Path) -> None:
    planted(tmp_path, "kernel/room/one.py", "x = 1\n" * (house_rules.MAX_ROOM_FILE_LINES + 1))
    planted(tmp_path, "kernel/budget.py", "x = 1\n" * house_rules.MAX_KERNEL_LINES)

    assert house_rules.oversized_kernel(tmp_path) == ["kernel/room/one.py", "kernel"]


def test_lines_of_code_leave_out_what_explains_them(tmp_path: Path) -> None:
    explained = '"""One\n\ntwo."""\n\n# three\n'
    text = 'X = """\nfour\n"""\n\n\n'
    function = 'def f():\n    """Five."""\n    return (\n        6  # six\n    )\n'
    path = planted(tmp_path, "planted.py", explained + text + function)

    assert lines_of_code(path) == 3 + 4


def test_every_primitive_names_its_guarantee() -> None:
    assert house_rules.primitives(PACKAGE)
    assert house_rules.without_guarantee(PACKAGE) == []


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("kernel/questions/planted/answer.py", 'def answer(question, source: CodedSource):\n    """Answer."""\n'),
        ("kernel/room/planted.py", 'class Room:\n    """Answer."""\n    def ask(self):\n        pass\n'),
        ("mechanisms/planted.py", 'class Planted:\n    """Release."""\n    def run(self):\n        pass\n'),
    ],
)
def test_a_planted_primitive_without_guarantee_is_named(tmp_path: Path, name: str, code: str) -> None:
    planted(tmp_path, name, code)

    assert len(house_rules.without_guarantee(tmp_path)) == 1


def test_noise_that_others_use_needs_a_guarantee_however_short_its_docstring(tmp_path: Path) -> None:
    planted(
        tmp_path,
        "kernel/noise/planted.py",
        'def draw(bits: BitSource):\n    """Draw."""\n\ndef step(bits: BitSource): ...\n',
    )
    planted(tmp_path, "kernel/room/planted.py", "from lapwing.kernel.noise.planted import draw\n")

    assert house_rules.without_guarantee(tmp_path) == ["kernel/noise/planted.py:draw"]


def test_every_answering_file_of_the_room_has_its_proof_beside_it() -> None:
    assert house_rules.without_proof(PACKAGE) == []


def test_a_planted_answer_without_proof_is_named(tmp_path: Path) -> None:
    planted(tmp_path, "kernel/questions/planted/answer.py", "def answer_planted(question, source):\n    pass\n")

    assert house_rules.without_proof(tmp_path) == ["kernel/questions/planted/answer.py"]


def test_the_tree_uses_no_banned_name() -> None:
    assert house_rules.banned_names(PACKAGE) == []


@pytest.mark.parametrize(
    "code",
    [
        "import pickle\n",
        "import importlib.util\n",
        "from random import random\n",
        "def f():\n    from secrets import token_bytes\n",
        "import numpy as np\nnp.random.normal()\n",
        "import numpy as np\nrng = np.random.default_rng(1)\n",
        "import numpy\nnumpy.random.seed(1)\n",
        "from numpy.random import default_rng\n",
        "from numpy import random\n",
        "__import__('os')\n",
        "eval('1')\n",
        "exec('1')\n",
    ],
)
def test_a_planted_banned_name_is_found(tmp_path: Path, code: str) -> None:
    planted(tmp_path, "model/planted.py", code)

    assert len(house_rules.banned_names(tmp_path)) == 1


def test_rows_are_counted_and_summed_in_64_bits() -> None:
    assert house_rules.narrow_numbers(PACKAGE) == []


@pytest.mark.parametrize("name", ["kernel/room/planted.py", "rows/counting.py"])
@pytest.mark.parametrize("code", ["np.zeros(3, dtype=np.int32)\n", "sums.astype('float32')\n", "np.single(3)\n"])
def test_a_planted_narrow_number_is_named(tmp_path: Path, name: str, code: str) -> None:
    planted(tmp_path, name, code)

    assert len(house_rules.narrow_numbers(tmp_path)) == 1


def test_nothing_that_meets_private_rows_writes_a_file() -> None:
    assert house_rules.writing_readers(PACKAGE) == []


@pytest.mark.parametrize(
    "code",
    [
        "import tempfile\n",
        "from shutil import copyfile\n",
        "np.savez(place, **codes)\n",
        "frame.write_ipc(place)\n",
        "query.sink_parquet(place)\n",
        "open(place, 'wb')\n",
        "json.dump(rows, file)\n",
        "from lapwing.atomic import whole_file\n",
    ],
)
@pytest.mark.parametrize("name", ["rows/planted.py", "kernel/room/planted.py"])
def test_a_planted_reader_that_writes_is_named(tmp_path: Path, name: str, code: str) -> None:
    planted(tmp_path, name, code)

    assert len(house_rules.writing_readers(tmp_path)) == 1


def test_the_entry_alone_asks_what_data_is() -> None:
    assert house_rules.asking_what_data_is(PACKAGE) == []


@pytest.mark.parametrize(
    "code",
    [
        "def verb(data):\n    return isinstance(data, str)\n",
        "def verb(real):\n    return hasattr(real, 'columns')\n",
        "def verb(X):\n    return type(X).__module__\n",
        "def verb(rows):\n    return hasattr(rows, '__arrow_c_stream__')\n",
        "from lapwing.rows.files import find_files\n",
        "from lapwing.rows.elsewhere import Query, addresses\n",
    ],
)
def test_a_planted_question_what_data_is_is_named(tmp_path: Path, code: str) -> None:
    planted(tmp_path, "release/planted.py", code)
    planted(tmp_path, "rows/entry.py", code)

    assert len(house_rules.asking_what_data_is(tmp_path)) == 1


def test_only_the_front_door_may_make_a_generator(tmp_path: Path) -> None:
    code = "import numpy as np\nrng = np.random.default_rng(np.random.SeedSequence(1))\n"
    planted(tmp_path, "release/runs/generators.py", code)
    planted(tmp_path, "extras/audit/planted.py", code)

    found = house_rules.banned_names(tmp_path)

    assert [line.split(":")[0] for line in found] == ["extras/audit/planted.py", "extras/audit/planted.py"]


def test_a_generator_may_be_named_as_a_type(tmp_path: Path) -> None:
    planted(tmp_path, "model/planted.py", "import numpy as np\ndef f(rng: np.random.Generator) -> None: ...\n")
    planted(tmp_path, "model/other.py", "from numpy.random import Generator\n")

    assert house_rules.banned_names(tmp_path) == []


def test_package_files_hold_a_docstring_only() -> None:
    assert house_rules.busy_package_files(PACKAGE) == []


def test_a_planted_import_in_a_package_file_is_named(tmp_path: Path) -> None:
    planted(tmp_path, "__init__.py", '"""The root may load lazily."""\nimport os\n')
    planted(tmp_path, "rows/__init__.py", '"""Rows and codes."""\nimport os\n')
    planted(tmp_path, "schema/__init__.py", '"""Fields."""\n')

    assert house_rules.busy_package_files(tmp_path) == ["rows/__init__.py"]


def test_what_must_not_reach_rows_loads_nothing_by_name() -> None:
    assert house_rules.loaders(PACKAGE) == []


@pytest.mark.parametrize(
    "code",
    [
        "from lapwing.on_demand import extra\n",
        "def f():\n    from lapwing.on_demand import Displayable, load_object\n",
        "from lapwing import on_demand\n",
        "import lapwing.on_demand\n",
    ],
)
@pytest.mark.parametrize("name", ["mechanisms/planted.py", "model/planted.py", "kernel/room/planted.py"])
def test_a_planted_loader_is_named(tmp_path: Path, name: str, code: str) -> None:
    planted(tmp_path, name, code)
    planted(tmp_path, "model/cards.py", "from lapwing.on_demand import Displayable\n")

    assert house_rules.loaders(tmp_path) == [name]


def test_no_sentence_of_ours_is_read_back() -> None:
    assert house_rules.sentences_read(PACKAGE) == []


@pytest.mark.parametrize(
    "code",
    [
        'def f(line):\n    return line.startswith("Bounds and")\n',
        'def f(line):\n    return line.removeprefix("Cost: ")\n',
        'def f(paid):\n    return paid.text().split(".")\n',
        'def f(error):\n    return str(error).partition(";")[0]\n',
    ],
)
def test_a_planted_sentence_that_is_read_back_is_named(tmp_path: Path, code: str) -> None:
    planted(tmp_path, "release/planted.py", code)
    planted(tmp_path, "present/planted.py", code)

    assert house_rules.sentences_read(tmp_path) == ["release/planted.py:2"]


def test_words_of_reports_stand_in_files_of_words() -> None:
    assert house_rules.sentences_held(PACKAGE) == []


@pytest.mark.parametrize(
    "code",
    [
        'TITLE = "How far figures may be off"\n',
        'def f(rows):\n    return Text(f"The first {rows} of all rows are shown.")\n',
        'def f(found):\n    found.append("too few rows to tell")\n',
    ],
)
def test_a_planted_sentence_in_code_is_named(tmp_path: Path, code: str) -> None:
    planted(tmp_path, "extras/evaluate/report/planted.py", code)
    allowed = '"""What a page says of rows."""\nraise E("give more rows to it")\n'
    planted(tmp_path, "extras/evaluate/report/other.py", allowed)

    assert house_rules.sentences_held(tmp_path) == [f"extras/evaluate/report/planted.py:{code.count(chr(10))}"]


def test_no_module_imports_the_root_package() -> None:
    assert house_rules.root_imports(PACKAGE) == []


@pytest.mark.parametrize("code", ["import lapwing\n", "import lapwing as lw\n", "from lapwing import synthesize\n"])
def test_a_planted_import_of_the_root_is_named(tmp_path: Path, code: str) -> None:
    planted(tmp_path, "cli/planted.py", code)

    assert house_rules.root_imports(tmp_path) == ["cli/planted.py:1"]


def test_test_files_have_names_of_their_own() -> None:
    names = [path.name for path in python_files(ROOT / "tests") if path.name.startswith("test_")]

    assert len(names) == len(set(names))


def test_no_two_classes_have_one_name() -> None:
    # A mechanism, and the question that it asks: both names stand in files of releases.
    assert list(house_rules.shared_class_names(PACKAGE)) == ["LinearStatistics"]


def test_a_planted_class_of_a_name_that_is_there_is_named(tmp_path: Path) -> None:
    planted(tmp_path, "release/one.py", "class Terms:\n    pass\n")
    planted(tmp_path, "cli/other.py", "class Terms:\n    pass\n")

    assert house_rules.shared_class_names(tmp_path) == {"Terms": ["cli/other.py", "release/one.py"]}
