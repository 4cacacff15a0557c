"""Private rows, from files, frames and engines to codes and counts under a schema.

Enters: what the owner has. Leaves: a `CodedSource`, which counts. May import `schema`, `maths` and `errors`; opened by
`kernel`, `internal`, `anonymous` and the verbs alone (`rows.out`, `guard` and `threads` see no private row).
"""
