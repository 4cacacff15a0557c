"""The report that may be published: released numbers alone."""
