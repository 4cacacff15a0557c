"""Noiseless draws from a density: type, answer, proof."""
