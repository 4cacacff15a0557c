"""Neighbours of linked tables that differ in all rows of one key, and record and replay of all parts."""

import inspect
import types
from dataclasses import replace

import lapwing.rows.linked
from lapwing.extras.audit.linked_pairs import SCHEMA as SCHEMA
from lapwing.extras.audit.linked_pairs import examine_linked
from lapwing.extras.audit.linked_pairs import linked_pair as linked_pair
from lapwing.extras.audit.linked_pairs import linked_settings as linked_settings
from lapwing.rows.linked import code_linked


def audit_linked(one, other, settings, code=code_linked):
    """Return the broken promises of all parts, between two databases, and of their claims together."""
    return list(examine_linked(one, other, settings, code).flags)


def changed_module(*changes):
    """Return the module that joins tables with some texts changed: pairs of old and new."""
    source = inspect.getsource(lapwing.rows.linked)
    for old, new in changes:
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    module = types.ModuleType("changed_linked")
    module.__file__ = lapwing.rows.linked.__file__
    exec(compile(source, "changed_linked", "exec"), module.__dict__)
    return module


def with_rows_of_one(settings, name):
    """Return settings under which rows of a table are noised as if a key had one."""
    part = settings.parts[name]
    unit = replace(part.schema.privacy_unit, max_rows=1)
    changed = replace(part, schema=replace(part.schema, privacy_unit=unit))
    return replace(settings, parts={**settings.parts, name: changed})


def coded_rows(data, schema, name, code=code_linked):
    """Return the coded rows of a table, each a mapping, as they are counted."""
    source = code(data, schema)[name].source
    return [
        dict(zip(source.columns, row, strict=True))
        for chunk in source.chunks(apart=True)
        for row in zip(*(chunk[column].tolist() for column in source.columns), strict=True)
    ]
