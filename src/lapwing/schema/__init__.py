"""What is public about a table: fields, domains, groupings, rules, public tables, and how it all is read and written.

Nothing here has seen a row; nothing but `errors` and `maths` may be imported.
"""
