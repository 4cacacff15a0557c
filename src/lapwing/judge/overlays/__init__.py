"""Pictures of single columns, real beside synthetic."""
