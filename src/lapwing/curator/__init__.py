"""The audited room: the only code that answers questions about private rows."""
