"""What is public about a table: fields, domains, groupings, rules, public tables, and how it all is read and written.

Enters: schema files, settings of columns, metadata of other tools. Leaves: `Schema`, `Domain` and public maps from
codes to
groups. Nothing here has seen a row; nothing but `errors` and `maths` may be imported.
"""
