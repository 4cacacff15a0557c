"""The version that certificates and transcripts name; a test compares it with pyproject.toml."""

VERSION = "0.1.0"
