"""How many rows hold a cell that fits nothing: type, answer, proof."""
