"""PMM, the private measure mechanism: a tree of noisy counts."""
