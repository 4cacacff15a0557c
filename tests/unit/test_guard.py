"""What comes out of the guard says what went wrong, and nothing else."""

import errno
import inspect
import os
import subprocess
import sys
import threading
import warnings

import numpy as np
import polars as pl
import pytest

import lapwing as lw
from helpers import canary
from lapwing.errors import DataError, LapwingError, LapwingWarning, ParameterError, SchemaError, warn
from lapwing.rows.entry import private_boundary
from lapwing.rows.guard import ROWS, native_silence, run_guarded


def fail_like_a_library():
    raise ValueError(f"could not convert {canary.TEXT}")


def fail_like_us():
    secret = canary.TEXT
    assert secret
    raise SchemaError('field "age": has no bounds')


def test_the_result_of_guarded_work_is_returned():
    assert run_guarded("the table cannot be read", lambda: [1, 2]) == [1, 2]


def test_a_foreign_error_becomes_a_data_error_with_its_type_only():
    with pytest.raises(DataError) as caught:
        run_guarded("the table cannot be read", fail_like_a_library)

    assert str(caught.value) == "the table cannot be read (ValueError)"
    assert canary.leaks(caught.value) == []


@pytest.mark.parametrize(
    "error",
    [
        OSError(5, "CELL"), FileNotFoundError(2, "CELL", "CELL"), TimeoutError("CELL"), UnicodeError("CELL"),
        KeyError("CELL"), ArithmeticError("CELL"), RuntimeError("CELL"), AssertionError("CELL"), Exception("CELL"),
    ],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_no_word_of_a_foreign_error_is_told_whatever_its_type(error):
    def fail():
        raise error

    with pytest.raises(DataError) as caught:
        run_guarded("the table cannot be read", fail)

    assert "CELL" not in f"{caught.value} {caught.value!r} {caught.value.args}"


def test_our_own_error_passes_unchanged_without_its_traceback():
    with pytest.raises(SchemaError) as caught:
        run_guarded("the table cannot be read", fail_like_us)

    assert str(caught.value) == 'field "age": has no bounds'
    assert canary.leaks(caught.value) == []


def test_a_panic_of_polars_is_caught_though_it_is_no_exception():
    def panic():
        raise pl.exceptions.PanicException(canary.TEXT)

    with pytest.raises(DataError) as caught:
        run_guarded("the table cannot be read", panic)

    assert str(caught.value) == "the table cannot be read (PanicException)"


RUST = {
    "an error that Rust did not expect": "an `Err` value: PyErr { type: <class 'KeyboardInterrupt'>, value: .. }",
    "Polars' own word for Ctrl-C": "__POLARS_ABORT_KEYBOARD_INTERRUPT",
}


@pytest.mark.parametrize("said", RUST.values(), ids=RUST)
def test_ctrl_c_that_reaches_us_as_a_panic_is_ctrl_c(said):
    def panic():
        raise pl.exceptions.PanicException(f"{said} {canary.TEXT}")

    with pytest.raises(KeyboardInterrupt) as caught:
        run_guarded("the table cannot be read", panic)

    assert caught.value.args == ()
    assert canary.leaks(caught.value) == []


class Ended(BaseException):
    """No ``Exception``, as a panic of any library that is built on PyO3."""


def calls():
    return {
        "guarded": lambda work: run_guarded("the table cannot be read", work),
        "boundary": lambda work: public_call([canary.TEXT], work),
    }


def ending(kind):
    def end():
        raise kind(canary.TEXT)

    return end


@pytest.mark.parametrize("call", calls())
@pytest.mark.parametrize(("kind", "args"), [(KeyboardInterrupt, ()), (SystemExit, (1,))])
def test_what_ends_the_program_goes_on_as_a_new_one_that_leads_to_no_row(call, kind, args):
    with pytest.raises(kind) as caught:
        calls()[call](ending(kind))

    assert caught.value.args == args
    assert canary.leaks(caught.value) == []


@pytest.mark.parametrize("call", calls())
@pytest.mark.parametrize("kind", [Ended, GeneratorExit])
def test_what_else_is_no_exception_becomes_an_error_of_ours(call, kind):
    with pytest.raises(LapwingError, match=kind.__name__) as caught:
        calls()[call](ending(kind))

    assert canary.leaks(caught.value) == []


def test_what_guarded_work_prints_past_python_is_dropped_and_what_comes_after_is_not(capfd):
    run_guarded("the table cannot be read", lambda: os.write(2, canary.TEXT.encode()))
    with pytest.raises(DataError):
        run_guarded("the table cannot be read", lambda: os.write(2, canary.TEXT.encode()) / 0)
    os.write(2, b"after")

    assert capfd.readouterr() == ("", "after")


def test_silence_inside_of_silence_and_in_other_threads_ends_with_the_last(capfd):
    goes_on, is_silent = threading.Event(), threading.Event()

    def other():
        with native_silence():
            is_silent.set()
            goes_on.wait(10)

    thread = threading.Thread(target=other)
    with native_silence():
        thread.start()
        is_silent.wait(10)
        with native_silence():
            pass
        os.write(2, b"within one")
    os.write(2, b"within the other")
    goes_on.set()
    thread.join()
    os.write(2, b"after")

    assert capfd.readouterr() == ("", "after")


@pytest.mark.parametrize("refused", ["dup", "open"])
def test_where_silence_cannot_begin_nothing_runs_and_the_next_one_is_silent(capfd, monkeypatch, refused):
    def fail(*_):
        raise OSError(errno.EMFILE, "Too many open files")

    ran = []
    with monkeypatch.context() as full:
        full.setattr(os, refused, fail)
        with pytest.raises(OSError, match="Too many open files"):
            run_guarded("the table cannot be read", lambda: ran.append(1))
    with native_silence():
        os.write(2, canary.TEXT.encode())
    os.write(2, b"after")

    assert ran == []
    assert capfd.readouterr() == ("", "after")


def test_a_forgotten_silence_that_is_collected_while_another_begins_stops_nothing():
    code = """
import gc, os
from lapwing.rows import guard

def rows():
    with guard.native_silence():
        yield 1

class Holder:
    pass

gc.disable()
holder = Holder()
holder.me, holder.rows = holder, rows()
next(holder.rows)
del holder
with guard._SILENCE._lock:
    gc.collect()
os.write(2, b"after")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=True)

    assert done.stderr == b"after"


def test_a_closed_stderr_stays_closed():
    code = (
        "import os; from lapwing.rows.guard import run_guarded; os.close(2); "
        "print(run_guarded('it', lambda: 3), end=' ');\n"
        "try: os.fstat(2)\nexcept OSError: print('closed')"
    )

    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert found.stdout == "3 closed\n"


def test_warnings_of_guarded_work_are_not_shown():
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        run_guarded("the table cannot be read", lambda: warnings.warn(canary.TEXT, stacklevel=1))

    assert shown == []


@pytest.mark.parametrize("mode", ["raise", "warn", "print"])
def test_the_users_settings_of_numpy_do_not_reach_guarded_work(mode, capfd):
    tiny = np.array([5e-324])

    with np.errstate(all=mode):
        results = [
            run_guarded("the table cannot be read", lambda: tiny / 3),
            public_call(tiny, lambda: tiny / 3, wrap=True),
        ]
        results.append(public_call(tiny, lambda: tiny / 3))
        after = np.geterr()["under"]

    assert results == [0.0, 0.0, 0.0]
    assert capfd.readouterr() == ("", "")
    assert after == mode


def test_an_error_that_is_raised_while_another_is_handled_has_no_context():
    try:
        fail_like_a_library()
    except ValueError:
        with pytest.raises(DataError) as caught:
            run_guarded("the table cannot be read", fail_like_a_library)

    assert canary.leaks(caught.value) == []


@private_boundary
def public_call(rows, work, *, wrap=None):
    """Do some work."""
    table = list(rows)
    assert table
    return run_guarded("the table cannot be read", work) if wrap else work()


def test_the_boundary_returns_results_and_keeps_name_and_documentation():
    assert public_call([canary.TEXT], lambda: 3) == 3
    assert public_call.__name__ == "public_call"
    assert public_call.__doc__ == "Do some work."


def test_the_boundary_names_type_and_line_of_an_unexpected_error():
    with pytest.raises(LapwingError) as caught:
        public_call([canary.TEXT], fail_like_a_library)

    assert type(caught.value) is LapwingError
    assert str(caught.value).startswith("unexpected ValueError at lapwing/rows/guard.py:")
    assert str(caught.value).endswith("; please report it")
    assert canary.leaks(caught.value) == []


@pytest.mark.parametrize("wrap", [None, True])
def test_the_boundary_strips_the_frames_of_our_own_errors(wrap):
    with pytest.raises(SchemaError) as caught:
        public_call([canary.TEXT], fail_like_us, wrap=wrap)

    assert str(caught.value) == 'field "age": has no bounds'
    assert canary.leaks(caught.value) == []


@pytest.mark.parametrize(
    ("args", "kwargs", "says"),
    [
        ((), {}, "public_call(): missing a required argument: 'work'"),
        ((print, True), {}, "public_call(): too many positional arguments"),
        ((print,), {"warp": True}, "public_call(): got an unexpected keyword argument 'warp'"),
    ],
)
def test_wrong_arguments_are_one_sentence_with_the_valid_names_and_no_value(args, kwargs, says):
    with pytest.raises(ParameterError) as caught:
        public_call([canary.TEXT], *args, **kwargs)

    assert str(caught.value) == f"{says}; it takes rows, work and, by name, wrap"
    assert canary.leaks(caught.value) == []


def test_without_the_boundary_the_frames_would_hold_the_rows():
    """The search itself bites: the same call without the wrapper is caught leaking."""
    with pytest.raises(SchemaError) as caught:
        public_call.__wrapped__([canary.TEXT], fail_like_us)

    frames = caught.value.__traceback__
    while frames.tb_frame.f_code.co_name != "public_call":
        frames = frames.tb_next
    assert canary.leaks_of_frame(frames.tb_frame) == ["rows", "table"]


def warn_inside_of_another_threads_guard():
    """Warn of ours and of another library's while another thread reads private rows."""
    inside, done = threading.Event(), threading.Event()

    def work():
        inside.set()
        done.wait(10)

    thread = threading.Thread(target=run_guarded, args=("the table", work))
    thread.start()
    inside.wait(10)
    try:
        warn(LapwingWarning("ours", code="LW322"))
        warnings.warn("theirs", stacklevel=1)
    finally:
        done.set()
        thread.join()


def test_a_warning_of_ours_is_not_lost_where_another_thread_reads_rows():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        warn_inside_of_another_threads_guard()
    assert [str(each.message) for each in seen] == ["ours"]

    with warnings.catch_warnings(record=True) as seen:
        warnings.resetwarnings()
        warn_inside_of_another_threads_guard()
    assert [str(each.message) for each in seen] == ["ours"]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LapwingWarning)
        warn_inside_of_another_threads_guard()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(LapwingWarning, match="ours"):
            warn_inside_of_another_threads_guard()


def test_every_public_call_that_takes_a_table_holds_it_for_private():
    public = {"synthetic", "return"}
    found = set()
    for each in (getattr(lw, name) for name in lw.__all__):
        calls = [each] if inspect.isfunction(each) else [call for _, call in inspect.getmembers(each)]
        for call in filter(inspect.isfunction, calls):
            found |= {name for name, kind in inspect.get_annotations(call).items() if "elsewhere.Query" in str(kind)}

    assert found - public <= set(ROWS), found - public
    assert {"data", "real", "X"} <= found
