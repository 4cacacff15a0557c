"""What a run would cost, before any row is read."""
