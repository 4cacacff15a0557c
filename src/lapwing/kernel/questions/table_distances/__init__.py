"""How far synthetic tables are from the private ones: type, answer, proof."""
