"""Looks at private rows for their owner's eyes only: schema drafts and checks. Nothing here may be released."""
