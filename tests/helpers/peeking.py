"""What a mechanism could do that reaches behind the desk, for planted bugs that must be flagged."""

from lapwing.kernel.room import desk


def rows_behind(curator):
    """Return the private rows of whoever answers: the room's, or those of a curator of the tests."""
    answering = desk._ROOMS[curator] if isinstance(curator, desk.Desk) else curator.ask
    return answering.__self__._source
