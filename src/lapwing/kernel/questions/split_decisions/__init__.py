"""Which cells of a tree are split: type, answer, proof."""
