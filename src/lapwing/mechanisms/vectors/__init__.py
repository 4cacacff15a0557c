"""Mechanisms that take rows for vectors: Microaggregation and LinearStatistics."""
