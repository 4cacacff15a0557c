"""The time between the first secret word of a batch and its record: marked on the disk before, and never interrupted.

If a run ends in this time, that may depend on its noise; to draw again for the same debit would be to go on until the
noise suits. So a run whose transcript ends with a mark is over. Proof: ``drawing.proof.md``.
"""

import signal
import threading
from collections.abc import Sequence
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import LapwingError
from lapwing.kernel.noise.bits import BitSource
from lapwing.kernel.questions.questions import Answer
from lapwing.kernel.room.transcript import AnswerSink

_ENDING: Final = frozenset(getattr(signal, name, 0) for name in ("SIGINT", "SIGTERM", "SIGHUP"))
"""Signals that end a process by default and that people send by hand."""


class Drawing:
    """Secret bits for questions that are answered together, whose answers it records; a context.

    sink: gets the mark before the first word, and the code of a refusal after it.

    Guarantee: no word is returned before the mark is durable. Under either neighbour relation, what becomes of a run
    is then a function of the answers that were recorded, of public things, and of one draw for each question.
    """

    __slots__ = ("_bits", "_held", "_is_answered", "_sink", "is_unrecorded")

    def __init__(self, bits: BitSource, sink: AnswerSink) -> None:
        self._bits = bits
        self._sink = sink
        self._held = _HeldSignals()
        self._is_answered = False
        self.is_unrecorded = False

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return fresh secret words; the mark is made before the first ones."""
        self._begin()
        return self._bits.words(count)

    def _begin(self) -> None:
        """Make the mark, unless these answers have one."""
        if not self.is_unrecorded:
            self._held.hold()
            self._sink.begin()  # [mark]
            self.is_unrecorded = True
            self._is_answered = False

    def record(self, answers: Sequence[Answer]) -> None:
        """Make the answers durable; marked too where no word was drawn, which may hang on the rows."""
        self._begin()
        self._is_answered = True
        self._sink.record(answers)  # [record]
        self.is_unrecorded = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        try:
            # A disk or ledger that fails while answers are recorded refuses nothing: they may be durable.
            if self.is_unrecorded and not self._is_answered and isinstance(error, LapwingError):
                self._sink.refuse(error.code)  # [refuse]
        finally:
            self._held.release()


class _HeldSignals:
    """Signals that wait; those that came are sent again at the end.

    Python runs handlers in the main thread alone: in another one no signal interrupts anything, and none is held.
    """

    __slots__ = ("_came", "_handlers")

    def __init__(self) -> None:
        self._came: dict[int, None] = {}
        self._handlers: dict[int, Any] = {}

    def hold(self) -> None:
        """Let every signal wait that would run Python code or end the process."""
        if threading.current_thread() is not threading.main_thread():
            return
        for number in signal.valid_signals():
            handler = signal.getsignal(number)
            if callable(handler) or (handler is signal.SIG_DFL and number in _ENDING):
                self._handlers[number] = handler
                signal.signal(number, lambda number, _: self._came.setdefault(number))

    def release(self) -> None:
        """Put the handlers back, all of them even if one of them is called meanwhile, and send again what came."""
        is_done = False
        try:
            for number, handler in self._handlers.items():
                signal.signal(number, handler)
            is_done = True
        finally:
            if not is_done:
                self.release()
        while self._came:
            signal.raise_signal(self._came.popitem()[0])
