"""Descriptions in Croissant that are written beside rows."""
