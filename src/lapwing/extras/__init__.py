"""What stands on the core and the core does without: each folder is one extra, and nothing of the core imports it.

In: the core's public names and documented ones. Out: commands and functions that `lapwing.on_demand` names. May import
all of the core; extras may import each other as `pyproject.toml` says.
"""
