"""Linear statistics of the owner's choice: type, programs, answer, proof."""
