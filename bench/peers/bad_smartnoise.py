"""Awkward inputs for smartnoise-synth: MST with a transformer for each column of which something is public.

Its transformer of categories is fitted on rows only, so it is fitted on a public table in which every category occurs.
"""

from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
from bad_cases import Case
from snsynth import Synthesizer
from snsynth.transform import BinTransformer, ChainTransformer, LabelTransformer, TableTransformer
from snsynth.transform.datetime import DateTimeTransformer

BINS = 20


def release(case: Case) -> dict[str, list[Any]]:
    """Return as many synthetic rows as went in."""
    if case.seed is not None:
        np.random.seed(case.seed)  # noqa: NPY002
    frame = pd.DataFrame(case.rows)
    settings = {} if case.delta is None else {"delta": case.delta}
    synthesizer = Synthesizer.create("mst", epsilon=case.epsilon, **settings)
    synthesizer.fit(frame, **preprocessing(case))
    return synthesizer.sample(len(frame)).to_dict(orient="list")


def preprocessing(case: Case) -> dict[str, Any]:
    """Return a fitted transformer where all is public, else what the documentation says for columns of that kind."""
    if not all(case.public.values()):
        # The way of its guide: name the kinds of columns; bounds for those that have any.
        known = {name: of_number(public) for name, public in case.public.items() if "minimum" in public}
        listed = [name for name in case.public if name not in known and name != "income"]
        numbers = [name for name in ("income",) if name not in known]
        return {"transformer": known, "categorical_columns": listed, "continuous_columns": numbers}
    transformers, columns = [], {}
    most = max(len(public.get("categories", ())) for public in case.public.values())
    for name, public in case.public.items():
        if "categories" in public:
            transformers.append(LabelTransformer(nullable=False))
            columns[name] = (public["categories"] * (most // len(public["categories"]) + 1))[:most]
        else:
            transformers.append(of_dates(public) if name == "day" else of_number(public))
            columns[name] = [public["minimum"]] * most
    transformer = TableTransformer(transformers)
    transformer.fit(pd.DataFrame(columns))
    return {"transformer": transformer}


def of_number(public: dict[str, Any]) -> BinTransformer:
    """Return equal bins between public bounds."""
    return BinTransformer(lower=public["minimum"], upper=public["maximum"], bins=BINS)


def of_dates(public: dict[str, Any]) -> ChainTransformer:
    """Return equal bins of days between public bounds."""
    start = datetime(1970, 1, 1)
    ends = {name: (datetime.fromisoformat(public[key]) - start).days for name, key in ENDS.items()}
    return ChainTransformer([DateTimeTransformer(), BinTransformer(bins=12, **ends)])


ENDS = {"lower": "minimum", "upper": "maximum"}
