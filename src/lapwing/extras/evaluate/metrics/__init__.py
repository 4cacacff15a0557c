"""How good synthetic rows are: metrics on coded tables, and reports.

Enters: two coded tables, or a model and its certificate. Leaves: findings and HTML. Adds no noise, reads no file of
rows.
"""
