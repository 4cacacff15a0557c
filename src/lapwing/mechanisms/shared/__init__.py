"""Steps that several mechanisms share."""
