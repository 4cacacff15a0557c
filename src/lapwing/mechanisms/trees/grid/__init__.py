"""Grid: noisy counts of even cells."""
