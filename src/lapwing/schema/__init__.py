"""Everything public about a table: fields, domains, groupings, privacy unit."""
