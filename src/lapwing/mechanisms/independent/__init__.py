"""Independent: every column on its own."""
