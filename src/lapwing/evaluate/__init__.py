"""How far one table is from another: metrics on arrays."""
