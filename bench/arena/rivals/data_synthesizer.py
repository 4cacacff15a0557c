"""PrivBayes of DataSynthesizer (its correlated attribute mode), as the package ships it, with its defaults."""

import json
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from multiprocessing.pool import ThreadPool
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import working
from DataSynthesizer import DataDescriber as DataDescriber_module
from DataSynthesizer.DataDescriber import DataDescriber
from DataSynthesizer.DataGenerator import DataGenerator
from DataSynthesizer.lib import PrivBayes

THRESHOLD = 20
"""The package's default ``category_threshold``: numbers of more values than that are put in 20 bins."""


@dataclass(frozen=True, slots=True)
class Public:
    """What the package is told of the columns, which spares it from reading that off the rows.

    Parameters
    ----------
    types : dict of str to str
        Its name for the type of each column.
    listed : dict of str to list
        The categories of those that have any.
    ranges : dict of str to list
        The two ends of the others.
    """

    types: dict[str, str]
    listed: dict[str, list[Any]]
    ranges: dict[str, list[float]]


def fit(rows: Any, job: dict[str, Any], *, degree: int) -> working.Sampler:
    """Describe the rows with public lists and ranges; the description holds all that the rows out are drawn from."""
    # In one process, so that its time can be measured; and with mutual information from counts instead of text, which
    # is the same number many times sooner (compared with the package's own for one, two and three parents).
    PrivBayes.Pool = lambda: ThreadPool(1)
    DataDescriber_module.greedy_bayes = partial(build_counted, PrivBayes.greedy_bayes)
    frame, public = native_rows(rows, job) if job["form"] == "native" else coded_rows(rows, job)
    description = described(frame, public, job | {"degree": degree})
    return partial(drawn, description, rows, job)


def build_counted(build: Callable, table: pd.DataFrame, *settings: object, **more: object) -> list:
    """Build the package's network with mutual information from this table's integers."""
    PrivBayes.mutual_information = Counted({name: table[name].to_numpy() for name in table})
    return build(table, *settings, **more)


def coded_rows(codes: np.ndarray, job: dict[str, Any]) -> tuple[pd.DataFrame, Public]:
    """Return codes and what is public of them; those of long numbers are numbers to the package."""
    names, sizes = working.names_and_sizes(job)
    frame = pd.DataFrame(codes, columns=names)
    listed, ranges = {}, {}
    for name, size, number, missing in zip(names, sizes, job["is_number"], job["has_missing"], strict=True):
        if not number or size <= THRESHOLD:
            listed[name] = list(range(size))
            continue
        ranges[name] = [0, size - 1 - missing]
        # The package has a place of its own for missing values of a column that it cuts into bins.
        if missing:
            frame[name] = frame[name].where(frame[name] < size - 1).astype("Int64")
    return frame, Public(dict.fromkeys(names, "Integer"), listed, ranges)


def native_rows(table: pa.Table, job: dict[str, Any]) -> tuple[pd.DataFrame, Public]:
    """Return native values and what is public of them; categories are text."""
    public, frame = working.public_columns(job), table.to_pandas()
    texts = working.listed_as_text(public)
    for name in texts:
        frame[name] = frame[name].map(str, na_action="ignore").astype(object)
    numbers = {name: told for name, told in public.items() if name not in texts}
    types = dict.fromkeys(texts, "String")
    types |= {name: "Integer" if pa.types.is_integer(table.schema.field(name).type) else "Float" for name in numbers}
    ranges = {name: [told["lower"], told["upper"]] for name, told in numbers.items()}
    return frame, Public(types, {name: list(values) for name, values in texts.items()}, ranges)


def described(frame: pd.DataFrame, public: Public, job: dict[str, Any]) -> str:
    """Return the package's description of the rows."""
    names = list(frame.columns)
    with TemporaryDirectory() as scratch, warnings.catch_warnings():
        folder = Path(scratch)
        frame.to_csv(folder / "rows.csv", index=False)
        (folder / "lists.json").write_text(json.dumps(public.listed))
        describer = DataDescriber(category_threshold=THRESHOLD)
        describer.describe_dataset_in_correlated_attribute_mode(
            dataset_file=str(folder / "rows.csv"),
            k=job["degree"],
            epsilon=float(job["epsilon"]),
            attribute_to_datatype={name: public.types[name] for name in names},
            attribute_to_is_categorical={name: name in public.listed for name in names},
            attribute_to_is_candidate_key=dict.fromkeys(names, False),
            categorical_attribute_domain_file=str(folder / "lists.json"),
            numerical_attribute_ranges=public.ranges,
            seed=job["run"],
        )
        describer.save_dataset_description_to_file(str(folder / "description.json"))
        return (folder / "description.json").read_text()


def drawn(description: str, rows: Any, job: dict[str, Any]) -> Any:
    """Return as many rows as went in, which the package treats as public."""
    generator = DataGenerator()
    with TemporaryDirectory() as scratch:
        path = Path(scratch) / "description.json"
        path.write_text(description)
        generator.generate_dataset_in_correlated_attribute_mode(len(rows), str(path), seed=job["run"])
    found = generator.synthetic_dataset
    if job["form"] == "native":
        return working.native_table(found, working.listed_as_text(working.public_columns(job)), rows.schema)
    pairs = zip(*working.names_and_sizes(job), strict=True)
    return np.stack([column_codes(found[name], size) for name, size in pairs], axis=1)


def column_codes(values: pd.Series, size: int) -> np.ndarray:
    """Return codes; missing is the last one."""
    return pd.to_numeric(values).fillna(size - 1).astype(np.int32).to_numpy()


class Counted:
    """Mutual information as the package defines it (in nats), from counts of integers instead of joined text.

    Parameters
    ----------
    codes : mapping of str to ndarray of int64, shape (n,)
        Of the columns of one table; the package passes them as text.
    """

    def __init__(self, codes: dict[str, np.ndarray]) -> None:
        self.codes = {name: np.unique(column, return_inverse=True)[1] for name, column in codes.items()}
        self.sizes = {name: int(column.max()) + 1 for name, column in self.codes.items()}

    def __call__(self, child: pd.Series, parents: pd.DataFrame) -> float:
        """Return the mutual information of a column and several together."""
        joint, cells = np.zeros(len(child), dtype=np.int64), 1
        for name in parents.columns:
            joint, cells = joint * self.sizes[name] + self.codes[name], cells * self.sizes[name]
        if cells > len(child):
            joint = np.unique(joint, return_inverse=True)[1]
            cells = int(joint.max()) + 1
        size = self.sizes[child.name]
        counts = np.bincount(joint * size + self.codes[child.name], minlength=cells * size).reshape(cells, size)
        return entropy(counts.sum(axis=1)) + entropy(counts.sum(axis=0)) - entropy(counts.ravel())


def entropy(counts: np.ndarray) -> float:
    """Return the entropy of counts, in nats."""
    share = counts[counts > 0] / counts.sum()
    return float(-(share * np.log(share)).sum())


if __name__ == "__main__":
    # The default chooses the number of parents itself; two, as in the package's notebook; and one.
    degrees = {"privbayes": 0, "k2": 2, "k1": 1}
    working.run({name: partial(fit, degree=degree) for name, degree in degrees.items()}, ("DataSynthesizer", "pandas"))
