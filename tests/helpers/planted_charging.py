"""Planted bugs of what a room charges; the dry run, which would refuse the mechanisms that show them, refuses none."""

from lapwing.kernel.room.room import Room
from lapwing.mechanisms.shared import dry_run


def nothing_is_charged(patch):
    """Let the room answer whatever it costs."""
    charges(patch, lambda self, questions: None)


def charges(patch, charge):
    """Let the room charge for questions in another way."""
    patch.setattr(Room, "_charge", charge)
    patch.setattr(
        dry_run, "charged", lambda questions, _, spent, delta: (sum((q.cost for q in questions), spent), delta)
    )
