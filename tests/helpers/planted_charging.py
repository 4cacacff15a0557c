"""Planted bugs of what a room charges; a dry run, which would refuse the mechanisms that show them, charges nothing."""

from lapwing.kernel.room.room import Room
from lapwing.mechanisms.shared import dry_run


def nothing_is_charged(patch):
    """Let the room answer whatever it costs."""
    charges(patch, lambda self, questions: None)


def charges(patch, charge):
    """Let the room charge for questions in another way."""
    patch.setattr(Room, "_charge", charge)
    patch.setattr(dry_run, "charged", lambda questions, budget, spent, delta: (spent, delta))
