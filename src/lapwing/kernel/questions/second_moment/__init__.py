"""The second moment of coordinates: type, answer, proof."""
