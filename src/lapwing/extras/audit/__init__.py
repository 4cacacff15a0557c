"""Privacy audits: every question and mechanism on neighbouring tables."""
