"""Run the command line in this process, and catch all that it says."""

import contextlib
import io
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
        """The one line on stderr of a command that was refused."""
        assert self.status != 0, self.out + self.err
        assert self.out == "", self.out
        assert self.err.startswith("lapwing: "), self.err
        assert self.err.count("\n") == 1, self.err
        return self.err.removeprefix("lapwing: ").rstrip("\n")


def lapwing(*arguments: object) -> Said:
    """Run one command line."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = execute([str(argument) for argument in arguments])
    return Said(status, out.getvalue(), err.getvalue())
