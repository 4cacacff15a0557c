"""Answers checked against exact recounts: what the files of several questions share."""
