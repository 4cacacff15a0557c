"""Pure mathematics on released numbers."""
