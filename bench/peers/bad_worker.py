"""Put awkward inputs to one tool inside its environment: ``python bad_worker.py TOOL ANSWERS CASE...``.

ANSWERS is made when the tool is imported, and gets one JSON line for each case. Started by bad_input.py.
"""

import contextlib
import importlib
import io
import json
import logging
import resource
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bad_cases
from bad_cases import CANARY, CANARY_NUMBER, Case

Release = Callable[[Case], dict[str, list[Any]]]
DIGITS = f"{CANARY_NUMBER:.1f}"
"""What is looked for of the number that no other row has."""
CPU_LIMIT = 60
"""Seconds for one case, set by the operating system."""


def main() -> None:
    """Answer the cases that the command line names."""
    tool, answers, *cases = sys.argv[1:]
    release: Release = importlib.import_module(f"bad_{tool}").release
    # Without this file bad_input.py knows that the tool never came up.
    Path(answers).touch()
    for name in cases:
        resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + CPU_LIMIT, resource.RLIM_INFINITY))
        answer = {"case": name} | answered(release, name, tool)
        with Path(answers).open("a") as file:
            file.write(json.dumps(answer) + "\n")


def answered(release: Release, name: str, tool: str) -> dict[str, Any]:
    """Return what came of one case."""
    said = io.StringIO()
    logging.basicConfig(stream=said, force=True)
    warnings.resetwarnings()
    warnings.simplefilter("always")
    case = bad_cases.CASES[name]()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            rows = release(case)
            again = release(case) if case.twice else None
    except NotImplementedError as error:
        return {"outcome": "not offered", "message": str(error)}
    except (Exception, SystemExit) as error:  # noqa: BLE001 - any way to end is a result here
        return failed(error, said.getvalue(), tool)
    found = {"outcome": "rows", "message": "", "quotes": names_canary(said.getvalue())}
    found |= {"rows_out": len(next(iter(rows.values()), [])), "holds": names_canary(repr(rows))}
    found |= seen_in(rows, case)
    if again is not None:
        found["same_again"] = repr(rows) == repr(again)
    return found | {"said": last_line(said.getvalue())}


def seen_in(rows: dict[str, list[Any]], case: Case) -> dict[str, Any]:
    """Return facts about the rows out that some cases are judged by."""
    numbers = [value for value in rows.get("income", []) if not is_missing(value)]
    found: dict[str, Any] = {"largest": max(numbers, default=None)}
    if "site" in rows:
        found["sites"] = len(set(rows["site"]))
    return found | {"missing": sum(is_missing(value) for name in case.rows for value in rows.get(name, []))}


def is_missing(value: object) -> bool:
    """Say whether a value out is None, NaN or NaT."""
    return str(value) in ("None", "nan", "NaT", "<NA>")


def failed(error: BaseException, said: str, tool: str) -> dict[str, Any]:
    """Return how a case failed: whether the tool itself raised, or something below it, and what it quotes."""
    frames = traceback.extract_tb(error.__traceback__)
    message = " ".join(str(error).split())
    # The environments are named after tools, so the name of a folder alone would not do.
    is_own = f"/{'src' if tool == 'lapwing' else 'site-packages'}/{PACKAGES[tool]}/" in frames[-1].filename
    is_own = is_own and (frames[-1].line or "").startswith(("raise", "assert"))
    accident = isinstance(error, (KeyError, IndexError, AttributeError, TypeError, ZeroDivisionError, NameError))
    return {
        "outcome": "refuses" if is_own and not accident else "error from below",
        "kind": type(error).__name__,
        "raised_in": Path(frames[-1].filename).name,
        "message": message[:300],
        "quotes": names_canary(message + said),
    }


def names_canary(text: str) -> bool:
    """Say whether a text holds one of the values that only one row has."""
    return CANARY in text or DIGITS in text


def last_line(text: str) -> str:
    """Return the last thing that was printed or logged."""
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip()[:200] if lines else ""


PACKAGES = {
    "lapwing": "lapwing",
    "smartnoise": "snsynth",
    "dpmm": "dpmm",
    "datasynthesizer": "DataSynthesizer",
    "mbi": "mbi",
}

if __name__ == "__main__":
    main()
