"""Statistics as expressions: `lw.stat`."""
