"""Cases for each question."""
