"""Frames to codes under a schema, and released codes back to frames."""
