"""Private rows, from files, frames and engines to codes and counts under a schema.

Opened by `kernel`, `internal`, `anonymous` and the verbs alone (`rows.out`, `guard` and `threads` see no private row).
"""
