"""Awkward inputs for DataSynthesizer: correlated attribute mode, its defaults, public lists and ranges."""

import json
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
from bad_cases import Case
from DataSynthesizer.DataDescriber import DataDescriber
from DataSynthesizer.DataGenerator import DataGenerator

KINDS = {"income": "Float", "day": "DateTime"}


def release(case: Case) -> dict[str, list[Any]]:
    """Return as many synthetic rows as went in; delta has no place in this package."""
    seeded = {} if case.seed is None else {"seed": case.seed}
    listed = {name: public["categories"] for name, public in case.public.items() if "categories" in public}
    ranges = {name: ends(name, public) for name, public in case.public.items() if "minimum" in public}
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        pd.DataFrame(case.rows).to_csv(folder / "rows.csv", index=False)
        (folder / "lists.json").write_text(json.dumps(listed))
        describer = DataDescriber()
        describer.describe_dataset_in_correlated_attribute_mode(
            dataset_file=str(folder / "rows.csv"),
            epsilon=case.epsilon,
            attribute_to_datatype={name: KINDS.get(name, "String") for name in case.public},
            attribute_to_is_categorical={name: name not in KINDS for name in case.public},
            attribute_to_is_candidate_key=dict.fromkeys(case.public, False),
            categorical_attribute_domain_file=str(folder / "lists.json"),
            numerical_attribute_ranges=ranges,
            **seeded,
        )
        describer.save_dataset_description_to_file(str(folder / "description.json"))
        generator = DataGenerator()
        generator.generate_dataset_in_correlated_attribute_mode(
            len(next(iter(case.rows.values()))), str(folder / "description.json"), **seeded
        )
    return generator.synthetic_dataset.to_dict(orient="list")


def ends(name: str, public: dict[str, Any]) -> list[float]:
    """Return the range of a number, or of a date in the seconds that the package works in."""
    if name != "day":
        return [public["minimum"], public["maximum"]]
    start = datetime(1970, 1, 1)
    return [(datetime.fromisoformat(public[key]) - start).total_seconds() for key in ("minimum", "maximum")]
