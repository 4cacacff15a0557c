"""The internal report: synthetic rows beside the private ones."""
