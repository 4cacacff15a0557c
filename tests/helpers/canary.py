"""A planted value, and a search for it in everything that an exception leads to."""

import gc
import sys
import types

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

TEXT = "canary-739173917"
NUMBER = 739173917.25

_SKIPPED = (types.ModuleType, type, types.BuiltinFunctionType, types.CodeType, types.FrameType)


def leaks(error):
    """Return every place where the canary can be reached from an exception, other than by the caller's own frame."""
    found = []
    if error.__cause__ is not None or error.__context__ is not None:
        found.append("chain")
    if TEXT in str(error) or TEXT in repr(error.args) or "739173917" in str(error):
        found.append("message")
    if holds_canary([error.args, error.__dict__, getattr(error, "__notes__", None)]):
        found.append("arguments")
    trace = error.__traceback__
    while trace is not None:
        if "/src/lapwing/" in trace.tb_frame.f_code.co_filename:
            found += [f"{trace.tb_frame.f_code.co_name}.{name}" for name in leaks_of_frame(trace.tb_frame)]
        trace = trace.tb_next
    return found


def leaks_of_frame(frame):
    """Return the names of a frame's variables that lead to the canary."""
    return [key for key, value in frame.f_locals.items() if holds_canary([value])]


def holds_canary(roots):
    """Return whether the canary is among the objects that can be reached, not going through modules or other frames."""
    globals_of_modules = {id(vars(module)) for module in list(sys.modules.values()) if hasattr(module, "__dict__")}
    seen: set[int] = set()
    queue = list(roots)
    while queue and len(seen) < 100_000:
        value = queue.pop()
        if id(value) in seen or id(value) in globals_of_modules or isinstance(value, _SKIPPED):
            continue
        seen.add(id(value))
        if _is_canary(value):
            return True
        if isinstance(value, types.TracebackType):
            continue
        queue += gc.get_referents(value)
    return False


def _is_canary(value):
    for types_, is_hit in _HITS:
        if isinstance(value, types_):
            return is_hit(value)
    return False


def _any(values):
    return any(_is_canary(value) for value in values)


_HITS = (
    (str | bytes, lambda value: TEXT in str(value)),
    (float, lambda value: value == NUMBER),
    (np.ndarray, lambda value: value.dtype.kind in "fO" and _any(value.ravel().tolist())),
    (pl.Series, lambda value: _any(value.to_list())),
    (pl.DataFrame, lambda value: _any(value.get_columns())),
    (pl.LazyFrame, lambda value: TEXT in value.explain()),
    (pd.Series, lambda value: _any(value.tolist())),
    (pd.DataFrame, lambda value: _any(value[name] for name in value.columns)),
    (pa.Table, lambda value: TEXT in str(value.to_pylist())),
)
