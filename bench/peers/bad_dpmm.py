"""Awkward inputs for dpmm: its MST pipeline with the default settings and the domain that is public."""

from typing import Any

import pandas as pd
from bad_cases import Case
from dpmm.pipelines import MSTPipeline


def release(case: Case) -> dict[str, list[Any]]:
    """Return as many synthetic rows as went in."""
    frame = pd.DataFrame(case.rows)
    for name in frame:
        if name == "day":
            frame[name] = pd.to_datetime(frame[name])
        elif name != "income":
            frame[name] = frame[name].astype("category")
    domain = {name: domain_of(name, public) for name, public in case.public.items() if public}
    settings = {} if case.delta is None else {"delta": case.delta}
    model = MSTPipeline(epsilon=case.epsilon, n_jobs=1, **settings)
    model.fit(frame, domain, random_state=case.seed)
    return model.generate(n_records=len(frame), random_state=case.seed).to_dict(orient="list")


def domain_of(name: str, public: dict[str, Any]) -> dict[str, Any]:
    """Return the package's description of a column."""
    if "categories" in public:
        return {"categories": public["categories"]}
    ends = [public["minimum"], public["maximum"]]
    if name == "day":
        ends = [pd.Timestamp(end) for end in ends]
    return dict(zip(("lower", "upper"), ends, strict=True))
