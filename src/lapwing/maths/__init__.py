"""Pure mathematics that several folders need: arrays in, arrays out; no row, no answer, no randomness of its own."""
