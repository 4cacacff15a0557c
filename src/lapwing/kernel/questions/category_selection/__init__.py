"""Which categories of a text column are common: type, answer, proof."""
