"""Readers of tables that are neither Parquet nor text; trusted, as they see cells."""
