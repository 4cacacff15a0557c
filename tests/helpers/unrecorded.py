"""Paid runs that no ledger and no transcript knows."""

from dataclasses import replace

from lapwing.extras.audit.replay import UNRECORDED
from lapwing.kernel.room.transcript import NoTranscript
from lapwing.release.runs.records import Run

RUN = Run(records=UNRECORDED, debit=lambda: None, sink=NoTranscript())


def recorded_in(sink, **more):
    """Return such a run whose answers go to a sink."""
    return replace(RUN, sink=sink, **more)
