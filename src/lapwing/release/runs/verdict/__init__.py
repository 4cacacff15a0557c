"""A verdict on a release, from released numbers alone: the error to expect, and what it is good for."""
