"""Frames and engines: pandas, Polars, PyArrow, DuckDB, Spark."""
