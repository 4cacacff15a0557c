"""What classifiers learn from synthetic rows."""
