"""PrivBayes of DataSynthesizer (its correlated attribute mode), as the package ships it, with its defaults."""

import json
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from multiprocessing.pool import ThreadPool
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import working
from DataSynthesizer import DataDescriber as DataDescriber_module
from DataSynthesizer.DataDescriber import DataDescriber
from DataSynthesizer.DataGenerator import DataGenerator
from DataSynthesizer.lib import PrivBayes

THRESHOLD = 20
"""The package's default ``category_threshold``: numbers of more values than that are put in 20 bins."""


def fit(codes: np.ndarray, job: dict, *, degree: int) -> working.Sampler:
    """Describe the rows with public lists and ranges, which spares the package from reading them off the rows."""
    # In one process, so that its time can be measured; and with mutual information from counts instead of text, which
    # is the same number many times sooner (compared with the package's own for one, two and three parents).
    PrivBayes.Pool = lambda: ThreadPool(1)
    build = PrivBayes.greedy_bayes
    DataDescriber_module.greedy_bayes = partial(build_counted, build)
    job = job | {"degree": degree}
    names, sizes = working.names_and_sizes(job)
    as_number = [number and size > THRESHOLD for number, size in zip(job["is_number"], sizes, strict=True)]
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        describer = described(codes, sizes, dict(zip(names, as_number, strict=True)), job, folder)
        describer.save_dataset_description_to_file(str(folder / "description.json"))
        description = (folder / "description.json").read_text()
    return lambda: drawn(description, names, sizes, len(codes), job["run"])


def build_counted(build: Callable, table: pd.DataFrame, *settings: object, **more: object) -> list:
    """Build the package's network with mutual information from this table's integers."""
    PrivBayes.mutual_information = Counted({name: table[name].to_numpy() for name in table})
    return build(table, *settings, **more)


def described(
    codes: np.ndarray, sizes: Sequence[int], as_number: dict[str, bool], job: dict, folder: Path
) -> DataDescriber:
    """Return the package's description of the rows, which holds all that the rows out are drawn from."""
    rows = pd.DataFrame(codes, columns=list(as_number))
    for name, size, missing in zip(as_number, sizes, job["has_missing"], strict=True):
        # The package has a place of its own for missing values of a column that it cuts into bins.
        if missing and as_number[name]:
            rows[name] = rows[name].where(rows[name] < size - 1).astype("Int64")
    rows.to_csv(folder / "rows.csv", index=False)
    listed = {name: list(range(size)) for name, size in zip(as_number, sizes, strict=True) if not as_number[name]}
    (folder / "lists.json").write_text(json.dumps(listed))
    ends = [size - 1 - missing for size, missing in zip(sizes, job["has_missing"], strict=True)]

    describer = DataDescriber(category_threshold=THRESHOLD)
    with warnings.catch_warnings():
        describer.describe_dataset_in_correlated_attribute_mode(
            dataset_file=str(folder / "rows.csv"),
            k=job["degree"],
            epsilon=float(job["epsilon"]),
            attribute_to_datatype=dict.fromkeys(as_number, "Integer"),
            attribute_to_is_categorical={name: not number for name, number in as_number.items()},
            attribute_to_is_candidate_key=dict.fromkeys(as_number, False),
            categorical_attribute_domain_file=str(folder / "lists.json"),
            numerical_attribute_ranges={
                name: [0, end] for name, end in zip(as_number, ends, strict=True) if as_number[name]
            },
            seed=job["run"],
        )
    return describer


def drawn(description: str, names: Sequence[str], sizes: Sequence[int], rows: int, seed: int) -> np.ndarray:
    """Return as many rows as went in, which the package treats as public."""
    generator = DataGenerator()
    with TemporaryDirectory() as scratch:
        path = Path(scratch) / "description.json"
        path.write_text(description)
        generator.generate_dataset_in_correlated_attribute_mode(rows, str(path), seed=seed)
    found = generator.synthetic_dataset[list(names)]
    return np.stack([column_codes(found[name], size) for name, size in zip(names, sizes, strict=True)], axis=1)


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
