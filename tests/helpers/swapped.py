"""Other code in the place of the room's, for planted bugs that must be flagged."""

from lapwing.kernel.room import room


def swapped(patch, kind, make):
    """Let the room answer a kind of question by what `make` makes of its honest code."""
    patch.setattr(room, "ANSWERS", {**room.ANSWERS, kind: make(room.ANSWERS[kind])})
