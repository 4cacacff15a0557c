"""Metadata files of other tools, and the sample that most of them describe."""

from pathlib import Path

from lapwing.schema.schemas import Schema

ROOT = Path(__file__).resolve().parents[2]
FOREIGN = ROOT / "tests" / "data" / "foreign"
SAMPLE = Schema.load(ROOT / "src" / "lapwing" / "examples" / "adult.schema.json")
