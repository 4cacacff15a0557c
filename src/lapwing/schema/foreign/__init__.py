"""Descriptions of tables that other tools wrote, read as schemas."""
