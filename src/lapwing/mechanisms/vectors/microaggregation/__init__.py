"""Microaggregation: means of groups, with a covariance that survives."""
