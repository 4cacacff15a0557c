"""What files of SPSS, Stata and SAS say beside their rows: names, labels, codes and missing values. No row is read."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from lapwing.errors import SchemaError
from lapwing.extras.connect.metadata.converted import (
    ConvertedTable,
    Lack,
    Remarks,
    converted_table,
    missing_texts,
    refusal,
    text_or_empty,
)
from lapwing.extras.connect.tables.statistics import statistics_reader, time_scale
from lapwing.schema.fields import Field, FieldType
from lapwing.schema.named_files import PROGRAMS
from lapwing.schema.scalars import category_key

_PERIODS: Final = {"w": "weeks", "q": "quarters", "h": "half-years", "b": "days of a business calendar"}
"""Periods of Stata beside months, which are whole numbers."""


def read_statistics(path: Path, name: str) -> ConvertedTable:
    """Return the schema that the head of a file describes; no row is read."""
    program = PROGRAMS[path.suffix.lower()]
    about = _head(path, name, program)
    remarks, lacks, fields = Remarks(), list[Lack](), list[Field]()
    for column in about.column_names:
        found = _variable(column, about, program)
        if found.time == "time":
            remarks.add("times of day are left out, as no field holds them", column)
            continue
        fields.append(_field(found, remarks, lacks))
    if program == "SAS":
        remarks.add("labels of codes stand in a catalog of SAS, not in this file, and are left out")
    if not fields:
        raise SchemaError(f"{name} describes no column that a field can hold; give a file with columns", code="LW262")
    title = text_or_empty(about.file_label) or text_or_empty(about.table_name)
    return converted_table(fields, f"{program} file", name=title, lacks=lacks, notes=remarks.texts())


def _head(path: Path, name: str, program: str) -> Any:  # noqa: ANN401 - pyreadstat's container
    if not path.is_file():
        raise SchemaError(f"{name} does not exist; give the path of a file", code="LW201")
    read = statistics_reader(path)
    import pyreadstat  # noqa: PLC0415 - an extra

    declared = {} if path.suffix.lower() == ".xpt" else {"user_missing": True}
    try:
        return read(path, metadataonly=True, output_format="dict", **declared)[1]
    except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, UnicodeDecodeError, OSError):
        pass
    raise refusal(f"{name} cannot be read as a file of {program}; save it again there")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Variable:
    """What a file says of one column."""

    name: str
    label: str
    is_text: bool
    is_whole: bool
    measure: str
    time: str
    period: str  # what whole numbers count
    labels: Mapping[Any, str]  # of codes that are not missing
    missing: tuple[str, ...]  # codes that are
    ranges: tuple[tuple[float, float], ...]  # of codes that are missing


def _variable(name: str, about: Any, program: str) -> _Variable:  # noqa: ANN401 - pyreadstat's container
    kind, written = about.readstat_variable_types[name], about.original_variable_types[name] or ""
    is_text = kind == "string"
    scale = None if is_text else time_scale(program, written)
    period = re.match("%-?t([bhqwy])", written) if program == "Stata" else None
    declared = [(each["lo"], each["hi"]) for each in about.missing_ranges.get(name, [])]
    labels = about.variable_value_labels.get(name, {})

    def is_missing(code: Any) -> bool:  # noqa: ANN401 - a number or a text
        # The letters of Stata and SAS stand for kinds of missing among numbers.
        if isinstance(code, str) != is_text:
            return True
        return any(low <= code <= high for low, high in declared)

    listed = [low for low, high in declared if low == high] + [code for code in labels if is_missing(code)]
    listed += about.missing_user_values.get(name, [])
    return _Variable(
        name=name,
        label=text_or_empty(about.column_names_to_labels.get(name)),
        is_text=is_text,
        is_whole=kind.startswith("int") or bool(period or re.fullmatch(r"F[0-9]+(\.0)?", written)),
        measure=about.variable_measure.get(name) or "unknown",
        time="" if scale is None else scale.kind,
        period=_PERIODS.get(period[1], "") if period else "",
        labels={_plain(code): text_or_empty(said) for code, said in labels.items() if not is_missing(code)},
        missing=tuple(dict.fromkeys(_as_text(code, is_text=is_text) for code in listed)),
        ranges=tuple((low, high) for low, high in declared if low != high),
    )


def _plain(code: Any) -> Any:  # noqa: ANN401 - a number or a text
    return int(code) if isinstance(code, float) and code.is_integer() else code


def _as_text(code: Any, *, is_text: bool) -> str:  # noqa: ANN401 - a number or a text
    """Return how a code for missing is written in text files; Stata writes its letters with a point."""
    return f".{code}" if isinstance(code, str) and not is_text else category_key(_plain(code))


def _field(found: _Variable, remarks: Remarks, lacks: list[Lack]) -> Field:
    """Return the field of a column: a list of its labelled codes, or numbers, texts and dates without a domain."""
    for low, high in found.ranges:
        remarks.add(f"values from {_plain(low)} to {_plain(high)} are missing; in text files list them", found.name)
    codes = tuple(found.labels)
    if found.time:
        kind: FieldType = "datetime" if found.time == "datetime" else "date"
        step = "month" if found.time == "month" else None
        return Field(name=found.name, type=kind, resolution=step, description=found.label)
    is_list = len(codes) > 1 and found.measure != "scale"
    is_whole = (found.is_whole or is_list) and all(isinstance(code, int) for code in codes)
    kind = "string" if found.is_text else "integer" if is_whole else "number"
    if is_list and found.measure == "unknown":
        way_out = "remove this question if so; else write bounds, and codes with a meaning of their own as special"
        lacks.append(Lack(found.name, "whether the labelled codes are all that occur", way_out))
    if kind == "string" and codes and not is_list:
        remarks.add("labels of single texts are left out", found.name)
    if kind == "integer" and found.period:
        remarks.add(f"numbers count {found.period}, as Stata does, and are read as integers", found.name)
    elif kind == "integer" and not is_list and not found.labels:
        remarks.add("numbers that are shown without decimals are read as integers", found.name)
    return Field(
        name=found.name,
        type=kind,
        categories=codes if is_list else None,
        ordered=is_list and found.measure == "ordinal",
        special=() if is_list or kind == "string" else codes,
        missing_values=missing_texts(codes if is_list else None, ["", *found.missing]),
        description=found.label,
        labels=tuple((category_key(code), said) for code, said in found.labels.items()),
    )
