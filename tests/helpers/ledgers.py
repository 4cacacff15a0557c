"""Ledger files that somebody changes by other means than Lapwing, and processes that use one ledger."""

import sqlite3
import subprocess
from contextlib import ExitStack, closing, contextmanager


@contextmanager
def running(commands):
    """Run processes that are spoken with by pipes; none of them outlives the block, whatever fails in it."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with ExitStack() as all_of_them:
        found = []
        for command in commands:
            found.append(all_of_them.enter_context(subprocess.Popen(command, **pipes, text=True)))
            all_of_them.callback(found[-1].kill)
        yield found


def with_all_rules_off(path, statement):
    """Run a statement as someone would who takes the triggers away and puts them back; False where it cannot be."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN")
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        before = list(connection.iterdump())
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        try:
            connection.execute(statement)
        except sqlite3.IntegrityError:  # NOT NULL holds without triggers
            return False
        for _, text in triggers:
            connection.execute(text)
        connection.execute("COMMIT")
        return list(connection.iterdump()) != before
