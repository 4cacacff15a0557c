"""Which candidate table a model fits worst: type, answer, proof."""
