"""The bill of materials is one by the schema of CycloneDX."""

import json

import pytest

from helpers.source_tree import ROOT

json_validation = pytest.importorskip("cyclonedx.validation.json")
schema = pytest.importorskip("cyclonedx.schema")
pytestmark = pytest.mark.oracle
TEXT = (ROOT / "docs" / "procurement" / "lapwing.cdx.json").read_text(encoding="utf-8")


def faults(text: str) -> object:
    """Return what CycloneDX finds wrong, or None."""
    return json_validation.JsonStrictValidator(schema.SchemaVersion.V1_5).validate_str(text)


def test_the_bill_is_valid() -> None:
    assert faults(TEXT) is None


def test_a_broken_bill_is_noticed() -> None:
    bill = json.loads(TEXT)
    bill["components"] = [bill["components"][0] | {"scope": "perhaps"}]  # of a thousand addresses each costs 0.1 s

    assert faults(json.dumps(bill)) is not None
