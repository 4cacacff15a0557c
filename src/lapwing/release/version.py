"""The version that certificates and transcripts name; a test compares it with pyproject.toml."""

from lapwing.schema.installed import code_fingerprint

__all__ = ["VERSION", "code_fingerprint"]

VERSION = "0.1.0"
