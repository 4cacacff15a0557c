"""Runs the core as on a system that is not POSIX, and prints what such a system would have refused.

A program of its own: ``python without_posix.py FOLDER``. Modules and attributes that Python has on POSIX only are taken
away before Lapwing is imported. The standard library keeps the modules: it has another branch on other systems, which
this one cannot run. What no attribute tells is watched: names that Windows forbids, and files that are renamed or
removed while they are open.
"""

import json
import os
import re
import shutil
import signal
import socket  # before its attributes go: libraries import it
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from types import ModuleType

MODULES = [
    "_curses",
    "_posixshmem",
    "_posixsubprocess",
    "crypt",
    "curses",
    "fcntl",
    "grp",
    "nis",
    "ossaudiodev",
    "posix",
    "pty",
    "pwd",
    "readline",
    "resource",
    "spwd",
    "syslog",
    "termios",
    "tty",
    "tzdata",
]
"""The last is no part of Python: Windows has no time zones, and Lapwing does not bring any."""

ATTRIBUTES = {
    os: r"""CLD_|EFD_|EX_|F_[LTU]|GRND_|MFD_|NGROUPS_|O_(ACCMODE|ASYNC|CLOEXEC|DIRECT|DSYNC|FSYNC|LARGE|N|PATH|RSYNC
        |SYNC|TMPFILE)|POSIX_|PRIO_|P_(ALL|PG|PI)|RTLD_|RWF_|SCHED_|SEEK_[DH]|SPLICE_|ST_|W[A-Z]+|XATTR_
        |(ch|fch|lch)own$|chroot|confstr|copy_file_range|ctermid|environb|eventfd|fchdir|fdatasync|fork|fpathconf|fstatvfs
        |fwalk|get(e?gid|enbv|euid|groups|grouplist|loadavg|pg|priority|random|res|sid|uid|xattr)|initgroups|killpg
        |listxattr|lockf|login_tty|major|makedev|memfd|minor|mkfifo|mknod|nice|openpty|pathconf|pidfd|pipe2|posix_|pread
        |pwrite|readv|register_at_fork|removexattr|sched_|sendfile|set(e?gid|euid|gid|groups|pg|priority|re|sid|uid|xattr)
        |spawn\wp|splice|statvfs|sync$|sysconf|tc[gs]etpgrp|ttyname|wait(3|4|id)?$|writev""",
    signal: r"SIG(ALRM|BUS|CHLD|CLD|CONT|HUP|IO|IOT|KILL|PIPE|POLL|PROF|PWR|QUIT|RT\w+|STKFLT|STOP|SYS|TRAP|TSTP|TTIN"
    r"|TTOU|URG|USR1|USR2|VTALRM|WINCH|XCPU|XFSZ|_\w+BLOCK|_SETMASK)$|ITIMER|alarm|getitimer|pause|pthread_|setitimer"
    r"|sig[a-z]+wait|siginterrupt|sigpending|sigtimedwait|sigwait",
    time: r"CLOCK_|clock_[gs]et|pthread_|tzset",
    socket: r"AF_UNIX|SO_REUSEPORT",
}
"""Beginnings of names, from the conditions on ``sys.platform`` in typeshed. `os.uname` stays:
NumPy asks for it under the name of the system, which is not changed here."""

FORBIDDEN = re.compile(r'[<>:"|?*\x00-\x1f]|[. ]$|^(con|prn|aux|nul|com\d|lpt\d)(\.|$)', re.IGNORECASE)
STANDARD_LIBRARY = os.path.realpath(sysconfig.get_paths()["stdlib"])


class Blocked:
    """An import hook that knows no POSIX-only module, unless the standard library asks."""

    def find_spec(self, name: str, path: object = None, target: ModuleType | None = None) -> None:
        """Raise what an absent module raises."""
        if name.partition(".")[0] in MODULES and not _standard_library_asks():
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def _standard_library_asks() -> bool:
    """Return whether the innermost frame that imports is of the standard library."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    place = os.path.realpath(frame.f_code.co_filename) if frame else ""
    return place.startswith(STANDARD_LIBRARY + os.sep) and "site-packages" not in place


def take_posix_away() -> None:
    """Take away what Windows does not have."""
    for name in MODULES:
        sys.modules.pop(name, None)
    sys.meta_path.insert(0, Blocked())
    vars(shutil)["_use_fd_functions"] = False  # chosen at its import, by what ``os`` can do
    vars(tempfile)["TemporaryFile"] = tempfile.NamedTemporaryFile  # likewise
    for module, beginnings in ATTRIBUTES.items():
        pattern = re.compile("".join(beginnings.split()))
        for name in filter(pattern.match, dir(module)):
            delattr(module, name)


class Watch:
    """Notes what Windows would refuse: files by forbidden names, and changes of names of files that are open.

    Parameters
    ----------
    folder : Path
        What lies elsewhere, such as ``/dev/null``, is not looked at.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = os.path.realpath(folder)
        self.refused: list[str] = []
        self.seen: set[str] = set()
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if event in {"os.rename", "os.remove", "os.rmdir"}:
            self.seen.add(event)
            for name in filter(self._is_ours, arguments[: 2 if event == "os.rename" else 1]):
                self._note(f"{event} of what is open", name, is_refused=_is_open(os.path.realpath(name)))
        if event in {"open", "os.mkdir", "os.rename"}:
            self.seen.add(event)
            name = arguments[1 if event == "os.rename" else 0]
            if self._is_ours(name):
                parts = Path(os.path.relpath(os.path.realpath(name), self.folder)).parts
                self._note("forbidden name", name, is_refused=any(map(FORBIDDEN.search, parts)))

    def _is_ours(self, name: object) -> bool:
        return isinstance(name, str | os.PathLike) and os.path.realpath(name).startswith(self.folder + os.sep)

    def _note(self, what: str, name: object, *, is_refused: bool) -> None:
        if is_refused:
            self.refused.append(f"{what}: {os.path.relpath(str(name), self.folder)}")


def _is_open(place: str) -> bool:
    """Return whether this process has a file open or mapped, or, of a folder, one inside of it."""
    held = set()
    for handle in os.listdir("/proc/self/fd"):
        try:
            held.add(os.readlink(f"/proc/self/fd/{handle}"))
        except FileNotFoundError:
            continue  # that of the listing itself
    with open("/proc/self/maps", encoding="utf-8") as maps:
        held.update(line.split(maxsplit=5)[5].rstrip() for line in maps if line.count("/"))
    return any(each == place or each.startswith(place + os.sep) for each in held)


COMMANDS = """
ledger init people --unit pure --limit 4 --neighbours add-remove --privacy-unit row
schema check people.json people.csv
plan --schema people.json --expected-rows 300 --epsilon 1
synthesize people.csv --schema people.json --rho 0.1 --mechanism Independent -o out.csv --croissant about.json
synthesize people.csv --schema people.json --epsilon 1 --ledger budget.db -o out.csv --model out.lapwing
synthesize people.parquet --schema people.json --epsilon 1 --transcript t.jsonl -o folder/
resume t.jsonl people.parquet -o folder/
ledger verify
ledger history
query out.lapwing --column town
answers out.lapwing -o answers
sample out.lapwing --rows 10 --where town=Uppsala -o some.parquet
anonymize people.csv --schema people.json --min-group-size 10 -o groups.csv
report out.lapwing -o report.html
evaluate people.csv out.csv --schema people.json --json metrics.json -o evaluation.html
"""


def tables(folder: Path) -> None:
    """Write a table as CSV and as Parquet, where its moments have a time zone, and its schema."""
    import polars as pl

    hours = pl.Series(range(475_000, 475_300)) * 3_600_000_000
    frame = pl.DataFrame(
        {
            "town": ["Malmö", "Uppsala", None] * 100,
            "age": [*range(100)] * 3,
            "kilos": [float(each % 90) for each in range(300)],
            "when": hours.cast(pl.Datetime("us")),
        }
    )
    frame.write_csv(folder / "people.csv")
    moments = pl.col("when").dt.replace_time_zone("Europe/Stockholm", ambiguous="earliest", non_existent="null")
    frame.with_columns(moments).write_parquet(folder / "people.parquet")
    fields = [
        {"name": "town", "type": "string", "categories": ["Malmö", "Uppsala"]},
        {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}},
        {"name": "kilos", "type": "number", "constraints": {"minimum": 0, "maximum": 150}},
        {"name": "when", "type": "datetime", "constraints": {"minimum": "2024-01-01", "maximum": "2025-01-01"}},
    ]
    text = json.dumps({"name": "people", "fields": fields}, ensure_ascii=False)
    (folder / "people.json").write_text(text, encoding="utf-8")


def work(folder: Path) -> None:
    """Release a CSV file and a Parquet file from Python, and what follows a release."""
    import lapwing as lw

    told = {"epsilon": 1, "ledger": folder / "budget.db", "dataset": "people", "seed": 1}
    schema = lw.Schema.load(folder / "people.json")
    for name, data in {"pmm": "people.csv", "adaptive": "people.parquet"}.items():
        mechanism = lw.PMM(depth=8) if name == "pmm" else lw.Adaptive()
        release = lw.synthesize(folder / data, schema, mechanism=mechanism, **told)
        release.sample(100, seed=2).write_csv(folder / f"{name}.csv")
        release.save(folder / f"{name}.lapwing")
        assert lw.load(folder / f"{name}.lapwing").sample(5).height == 5


def commands(folder: Path) -> None:
    """Run command lines; the last one as the installed command does, which ends the process."""
    from lapwing.cli import main

    os.chdir(folder)  # paths of commands are mostly relative
    for line in COMMANDS.strip().splitlines():
        assert main.execute(line.split()) == 0, line
    work(folder)
    sys.argv = ["lapwing", "sample", "out.lapwing", "--rows", "10", "-o", "more.parquet"]
    main.run()


def main() -> None:
    """Run all, and print what would have been refused."""
    import polars  # noqa: F401 - asks for the kind of the machine, as on POSIX

    folder = Path(sys.argv[1])
    take_posix_away()
    watch = Watch(folder)
    tables(folder)
    try:
        commands(folder)
    finally:
        print(json.dumps({"refused": watch.refused, "seen": sorted(watch.seen)}), flush=True)


if __name__ == "__main__":
    main()
