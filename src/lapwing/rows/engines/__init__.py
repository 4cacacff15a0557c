"""Frames and engines: pandas, Polars, PyArrow, DuckDB, Dask, Spark."""
