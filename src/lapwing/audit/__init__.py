"""Privacy audits: record and replay."""
