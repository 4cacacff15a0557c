"""Run the command line in this process, and catch all that it says."""

import contextlib
import io
import re
import shlex
from dataclasses import dataclass

from lapwing.cli.main import execute


@dataclass(frozen=True, slots=True)
class Said:
    """Exit status, stdout and stderr of one command."""

    status: int
    out: str
    err: str

    @property
    def error(self) -> str:
        """The sentence of the one line on stderr of a command that was refused, without the code at its end."""
        return self._line[0]

    @property
    def code(self) -> str:
        """The code at the end of that line."""
        return self._line[1]

    @property
    def _line(self) -> tuple[str, str]:
        assert self.status != 0, self.out + self.err
        assert self.out == "", self.out
        found = re.fullmatch(r"lapwing: ([^\n]+) \[(LW[1-9]\d\d)\]\n", self.err)
        assert found is not None, self.err
        return found[1], found[2]


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def lapwing(line: str, *more: object) -> Said:
    """Run one command line, or the beginning of one and more arguments."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = execute([*shlex.split(line), *(str(argument) for argument in more)])
    return Said(status, out.getvalue(), err.getvalue())
