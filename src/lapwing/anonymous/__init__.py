"""K-anonymous microaggregation of private rows: a guarantee apart from everything differentially private."""
