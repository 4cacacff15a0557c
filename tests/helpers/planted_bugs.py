"""All planted bugs, by their subjects and names, and all audits that look for them."""

import inspect
from importlib import import_module
from pathlib import Path

from helpers.planting import in_turn, nothing_is_charged

FOLDER = Path(__file__).parents[1] / "planted"
SUBJECTS = {name: import_module(f"planted.{name}") for name in sorted(path.stem for path in FOLDER.glob("*.py"))}


def is_plant(name, value):
    """Return whether a name of a module is that of a bug."""
    is_ours = (
        inspect.isfunction(value)
        and value.__module__.startswith(("planted.", "helpers.planting"))
        and not name.startswith("_")
    )
    return is_ours and value is not nothing_is_charged and list(inspect.signature(value).parameters) == ["patch"]


def bugs_of(module):
    """Return the names of bugs, and the bugs; the usual audits of a module look for what its list does not name."""
    names = {value: name for name, value in vars(module).items() if is_plant(name, value)}
    listed = list(getattr(module, "BUGS", ()))
    others = [plant for plant in names if plant not in [bug.plant for bug in listed]]
    listed += in_turn(module.USUAL, *others, within=getattr(module, "WITHIN", 160)) if others else []
    return [(names[bug.plant], bug) for bug in listed]


BUGS = [(f"{subject}-{name}", bug) for subject, module in SUBJECTS.items() for name, bug in bugs_of(module)]
SLIPS = {name.removeprefix("slips-"): bug.plant for name, bug in BUGS if name.startswith("slips-")}


def audits():
    """Return each audit once, with the most looks that a bug is looked for with."""
    found = [(bug.audit, bug.within) for _, bug in BUGS]
    found += [(each, 8) for module in SUBJECTS.values() for each in getattr(module, "HONEST", ())]
    every = []
    for each, _ in found:
        if each not in every:
            every.append(each)
    return [(each, max(within for other, within in found if other == each)) for each in every]
