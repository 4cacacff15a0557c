"""Metadata of other tools, one reader per format; what they lack is listed, never guessed."""
