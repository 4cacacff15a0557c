"""Work that outlasts a page: in a thread of its own, one for each job and kind, watched and ended from any tab."""

import contextvars
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from lapwing.errors import LapwingError

if TYPE_CHECKING:
    from lapwing.release.runs.watching import Progress


_ENDED: Final = "it was ended before it was done"


class EndedError(Exception):
    """The owner ended the work."""


@dataclass(slots=True)
class StudioWork:
    """One piece of work: what is shown of it, and what came of it.

    found: what it returned; said: why it failed, a sentence without a value.
    """

    step: str = ""
    share: float = 0.0
    found: Any = None
    said: str = ""
    is_done: bool = False
    _ends: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def tell(self, step: "Progress") -> None:
        """Take note of a step; what `progress=` of the public calls is given. Raises once the work is to end."""
        self.step, self.share = step.step, step.share
        if self._ends.is_set():
            raise EndedError

    def end(self) -> None:
        """Ask it to end at its next step."""
        self._ends.set()

    @property
    def is_ending(self) -> bool:
        """Whether it was asked to end, and has not yet."""
        return self._ends.is_set() and not self.is_done

    def join(self, seconds: float) -> None:
        """Wait for its end."""
        if self._thread is not None:
            self._thread.join(seconds)

    def begin(self, do: Callable[["StudioWork"], Any]) -> None:
        """Do it in a thread, under what holds here: a policy, for example."""
        self._thread = threading.Thread(target=contextvars.copy_context().run, args=(self._run, do), daemon=True)
        self._thread.start()

    def _run(self, do: Callable[["StudioWork"], Any]) -> None:
        try:
            self.found = do(self)
        except LapwingError as error:
            self.said = str(error)
        except EndedError:
            self.said = _ENDED
        except BaseException as error:  # a panic of Polars is no Exception; its text could hold a value
            self.said = f"it failed ({type(error).__name__}); nothing more is told"
        self.is_done = True


class Works:
    """All work of one studio."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[tuple[str, str], StudioWork] = {}

    def get(self, job: str, kind: str) -> StudioWork | None:
        """Return the last work of a kind, done or not."""
        return self._found.get((job, kind))

    def begin(self, job: str, kind: str, do: Callable[[StudioWork], Any]) -> StudioWork:
        """Begin work, or return the one of this kind that is under way: two tabs begin one."""
        with self._lock:
            there = self._found.get((job, kind))
            if there is not None and not there.is_done:
                return there
            work = self._found[job, kind] = StudioWork()
            work.begin(do)
            return work

    def forget(self, job: str, kind: str) -> None:
        """Drop what came of work; what is under way is ended, and nothing that it still finds is kept."""
        with self._lock:
            there = self._found.pop((job, kind), None)
        if there is not None:
            there.end()

    def forget_done(self, job: str) -> None:
        """Drop what came of all work of a name that is done: it may now be that of another job."""
        with self._lock:
            self._found = {key: each for key, each in self._found.items() if key[0] != job or not each.is_done}

    def end_all(self, seconds: float) -> None:
        """Ask everything to end, and wait: what was paid for is in transcripts."""
        for work in self._found.values():
            work.end()
        for work in self._found.values():
            work.join(seconds)
