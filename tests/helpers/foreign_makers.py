"""Metadata files as other tools write them, for tests/data/foreign; README.md there says how each was made.

``PYTHONPATH=src PYTHON helpers/foreign_makers.py FOLDER`` under a Python that has one of the tools writes its files.
"""

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lapwing.schema.schemas import Schema

EXAMPLES = Path(__file__).resolve().parents[2] / "src" / "lapwing" / "examples"


def adult() -> Schema:
    """Return the schema of the sample."""
    return Schema.load(EXAMPLES / "adult.schema.json")


def sdv_adult(folder: Path) -> list[Path]:
    """Let SDV detect the metadata of the sample's rows."""
    import pandas as pd
    import sdv
    from sdv.metadata import Metadata

    rows = pd.read_parquet(EXAMPLES / "adult.parquet")
    major = sdv.__version__.split(".", maxsplit=1)[0]
    path = folder / f"sdv{major}-adult.json"
    Metadata.detect_from_dataframes({"adult": rows}).save_to_json(path)
    return [path]


def sdv_visits(folder: Path) -> list[Path]:
    """Describe two tables with SDV: every sdtype that its version has, keys, a relationship, a sequence."""
    import sdv
    from sdv.metadata import Metadata

    major = sdv.__version__.split(".", maxsplit=1)[0]
    found = Metadata()
    found.add_table("patients")
    found.add_column("patient_id", "patients", sdtype="id", regex_format="P[0-9]{4}")
    found.add_column("ssn", "patients", sdtype="ssn", pii=True)
    found.add_column("city", "patients", sdtype="city", pii=False)
    found.set_primary_key("patient_id", "patients")
    found.add_alternate_keys(["ssn"], "patients")
    add_visits(found, is_first=major == "1")
    found.set_primary_key("visit", "visits")
    found.add_relationship("patients", "visits", "patient_id", "patient_id")
    found.validate()
    path = folder / f"sdv{major}-visits.json"
    found.save_to_json(path)
    return [path]


def add_visits(found: Any, *, is_first: bool) -> None:
    """Add the table of visits to SDV's metadata; only its second version states ranges."""
    found.add_table("visits")
    found.add_column("patient_id", "visits", sdtype="id", regex_format="P[0-9]{4}")
    found.add_column("visit", "visits", sdtype="id")
    found.add_column("email", "visits", sdtype="email")
    found.add_column("odd", "visits", sdtype="unknown")
    found.add_column("insured", "visits", sdtype="boolean")
    day = {} if is_first else {"range_min": "01 Jan 2000", "range_max": "31 Dec 2029", "range_is_nullable": False}
    found.add_column("day", "visits", sdtype="datetime", datetime_format="%d %b %Y", **day)
    found.add_column("arrived", "visits", sdtype="datetime", datetime_format="%Y-%m-%d %H:%M:%S")
    nights = {"computer_representation": "Int16"} if is_first else {"range_min": 0, "decimal_places": 0}
    found.add_column("nights", "visits", sdtype="numerical", **nights)
    cost = {"computer_representation": "Float"} if is_first else {"range_min": 0, "range_max": 9e4, "decimal_places": 2}
    found.add_column("cost", "visits", sdtype="numerical", **cost)
    kind, key = ("categorical", "order") if is_first else ("ordinal", "range_values")
    found.add_column("triage", "visits", sdtype=kind, **{key: ["low", "high"]})
    found.add_column("ward", "visits", sdtype="categorical", **({} if is_first else {"high_cardinality": True}))


def sdv_single(folder: Path) -> list[Path]:
    """Describe one table in the older format of single tables, which SDV 2 no longer writes."""
    from sdv.metadata import SingleTableMetadata

    found = SingleTableMetadata()
    found.add_column("age", sdtype="numerical", computer_representation="UInt8")
    found.add_column("income", sdtype="numerical")
    found.add_column("married", sdtype="boolean")
    found.add_column("name", sdtype="name")
    found.add_column("person", sdtype="id")
    found.add_column("day", sdtype="datetime", datetime_format="%Y-%m-%d")
    found.set_sequence_key("person")
    found.set_sequence_index("day")
    found.validate()
    path = folder / "sdv1-single.json"
    found.save_to_json(path)
    return [path]


def smartnoise_adult(folder: Path) -> list[Path]:
    """Write the sample's schema, and one with a privacy unit, as SmartNoise SQL does."""
    from snsql.metadata import Boolean, DateTime, Float, Int, Metadata, String, Table

    classes = {"integer": Int, "number": Float}
    columns = [
        classes[field.type](field.name, lower=field.minimum, upper=field.maximum, nullable=not field.required)
        if field.type in classes
        else String(field.name, card=len(field.categories or ()), nullable=not field.required)
        for field in adult().columns
    ]
    rows = folder / "smartnoise-adult.yaml"
    table = Table("public", "adult", columns, rowcount=48842, row_privacy=True)
    Metadata([table], engine="pandas").to_file(str(rows), "census")
    others = [
        String("patient", card=0, is_key=True),
        Boolean("insured", nullable=False),
        DateTime("arrived"),
        Float("cost", lower=0.0, upper=1e6, missing_value=0.0),
        Int("nights", sensitivity=100),
        String("ward", card=12),
    ]
    visits = Table("clinic", "visits", others, rowcount=1000, max_ids=5, sample_max_ids=False, clamp_columns=False)
    small = Table("clinic", "wards", [String("ward", card=0), Int("beds", lower=0, upper=60)])
    units = folder / "smartnoise-visits.yaml"
    Metadata([visits, small], engine="postgres").to_file(str(units), "hospital")
    return [rows, units]


def mbi_adult(folder: Path) -> list[Path]:
    """Write the domain of the sample's codes as code that uses private-pgm does: its config, as JSON."""
    from tmlt.private_pgm import Domain

    listed = {field.name: field.domain.values for field in adult().columns}
    path = folder / "mbi-adult-domain.json"
    path.write_text(json.dumps(Domain.fromdict(listed).config))
    return [path]


MAKERS: dict[str, tuple[Callable[[Path], list[Path]], ...]] = {
    "sdv1": (sdv_adult, sdv_visits, sdv_single),
    "sdv2": (sdv_adult, sdv_visits),
    "smartnoise": (smartnoise_adult,),
    "mbi": (mbi_adult,),
}


def tools() -> list[str]:
    """Return the tools that this Python has."""
    from importlib.metadata import PackageNotFoundError, version

    found = []
    for package, name in (("sdv", "sdv"), ("smartnoise-sql", "smartnoise"), ("tmlt-private-pgm", "mbi")):
        try:
            major = version(package).split(".", maxsplit=1)[0]
        except PackageNotFoundError:
            continue
        found.append(name + major if name == "sdv" else name)
    return found


def make(tool: str) -> dict[str, str]:
    """Return the files that a tool writes, by name."""
    with tempfile.TemporaryDirectory() as folder:
        written = [path for maker in MAKERS[tool] for path in maker(Path(folder))]
        return {path.name: path.read_text(encoding="utf-8") for path in written}


if __name__ == "__main__":
    for tool in tools():
        for name, text in make(tool).items():
            (Path(sys.argv[1]) / name).write_text(text, encoding="utf-8")
            print(name)
