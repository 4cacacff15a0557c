"""How values are written, read, bounded and labelled."""
