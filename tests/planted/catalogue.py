"""All planted bugs, by their subjects and names, and all audits that look for them."""

import inspect
from importlib import import_module

from planted.bug import nothing_is_charged

NAMES = ("categories", "cells", "distances", "linear", "misfits", "priors", "trees", "vectors")
SUBJECTS = {name: import_module(f"planted.{name}") for name in NAMES}

BUGS = [
    (f"{subject}-{name}", bug)
    for subject, module in SUBJECTS.items()
    for bug in module.BUGS
    for name, value in vars(module).items()
    if value is bug.plant
]


def is_plant(name, value):
    """Return whether a name of a module is that of a bug."""
    is_function = inspect.isfunction(value) and value is not nothing_is_charged and not name.startswith("_")
    return is_function and list(inspect.signature(value).parameters) == ["patch"]


def audits():
    """Return each audit once, with the most looks that a bug is looked for with."""
    found = [(bug.audit, bug.within) for _, bug in BUGS]
    found += [(each, 8) for module in SUBJECTS.values() for each in getattr(module, "HONEST", ())]
    every = []
    for each, _ in found:
        if each not in every:
            every.append(each)
    return [(each, max(within for other, within in found if other == each)) for each in every]
