"""What leaves the kernel: the released model, its certificate and files, and synthetic rows drawn from it.

Enters: a model that a mechanism made of answers. Leaves: rows, marginals, saved files. Nothing here leads to a private
row.
"""
