"""Two linked tables: households with persons (eusilc), patients with admissions (mimic-demo).

Run ``python bench/linked.py DATA [EPSILON ...]``, where DATA holds the folders of the real tables. For each budget it
prints how far the law of the number of children is from the real one, how far pairs of a parent's and a child's column
are (total variation, columns of numbers in sixths of the real rows), the same after the children are shuffled among
the parents (what there would be if children knew nothing of their parents), and figures of siblings, which are lost.
"""

import itertools
import json
import sys
import time
from pathlib import Path

import polars as pl

import lapwing as lw

DELTA = 1e-9
TABLES = {
    "eusilc": {
        "key": "db030",
        "maxChildren": 5,
        "parent": ["hsize", "db040", "hy040n", "hy050n", "hy070n", "eqIncome"],
        "child": ["age", "rb090", "pl030", "py010n", "py090n", "py100n"],
    },
    "mimic-demo-admissions": {
        "key": "subject_id",
        "maxChildren": 3,
        "parent": ["gender", "dob"],
        "child": ["admission_type", "admission_location", "insurance", "hospital_expire_flag"],
    },
}


def tables_of(folder, spec):
    """Return schema, parents and children of one flat table."""
    rows = pl.read_parquet(folder / "data.parquet")
    fields = {field["name"]: field for field in json.loads((folder / "schema.json").read_text())["fields"]}
    for name in (*spec["parent"], *spec["child"]):
        if fields[name]["type"] == "number":
            fields[name]["special"] = [0]
    parts = {part: {"fields": [fields[name] for name in (spec["key"], *spec[part])]} for part in ("parent", "child")}
    schema = lw.LinkedSchema.load({**parts, "key": spec["key"], "maxChildren": spec["maxChildren"]})
    parents = rows.group_by(spec["key"], maintain_order=True).first().select(spec["key"], *spec["parent"])
    return schema, parents, rows.select(spec["key"], *spec["child"])


def cut(table, like, names):
    """Return columns in groups: numbers and times by sixths of the real rows, zero by itself."""
    found = []
    for name in names:
        if like[name].dtype.is_numeric() or like[name].dtype.is_temporal():
            numbers = like[name].to_physical().cast(pl.Float64).drop_nulls()
            ends = sorted({numbers.quantile(part / 6) for part in range(1, 6)} | {0.0})
            column = table[name].to_physical().cast(pl.Float64).cut(ends).cast(pl.String)
            found.append(pl.when(table[name].to_physical() == 0).then(pl.lit("0")).otherwise(column).alias(name))
        else:
            found.append(table[name].cast(pl.String))
    return table.select(found)


def variation(one, other):
    """Return the total variation between the tables of all columns."""
    shares = [table.group_by(table.columns).len().with_columns(pl.col("len") / table.height) for table in (one, other)]
    both = shares[0].join(shares[1], on=one.columns, how="full", coalesce=True, nulls_equal=True)
    return 0.5 * float((both["len"].fill_null(0) - both["len_right"].fill_null(0)).abs().sum())


def counts_of(parents, children, key, most):
    """Return the number of children of each parent."""
    counts = parents.join(children.group_by(key).len("n"), on=key, how="left")["n"].fill_null(0)
    return counts.clip(0, most).to_frame()


def siblings(children, key):
    """Return what siblings have to do with each other: sexes and ages of the two eldest of a household."""
    two = (
        children.sort("age", descending=True)
        .group_by(key)
        .agg(pl.col("age").head(2), pl.col("rb090").head(2))
        .filter(pl.col("age").list.len() == 2)
    )
    adult = two.filter(pl.col("age").list.get(1) >= 18)
    return {
        "two eldest, adults: of one sex": float((adult["rb090"].list.n_unique() == 1).mean()),
        "their median gap in years": float((adult["age"].list.get(0) - adult["age"].list.get(1)).median()),
        "households without an adult": float((children.group_by(key).agg(pl.col("age").max())["age"] < 18).mean()),
    }


def main(data, budgets):
    """Print figures for each table and budget."""
    for (name, spec), epsilon in itertools.product(TABLES.items(), budgets):
        schema, parents, children = tables_of(Path(data) / name, spec)
        key = spec["key"]
        start = time.perf_counter()
        release = lw.synthesize_linked(parents, children, schema, epsilon=epsilon, delta=DELTA, seed=1)
        fitted = time.perf_counter()
        made = release.sample(parents.height)
        print(f"\n{name}, epsilon {epsilon}: {release}")
        print(f"  seconds: release {fitted - start:.1f}, rows {time.perf_counter() - fitted:.1f}")
        laws = [counts_of(*pair, key, schema.max_children) for pair in (made, (parents, children))]
        print(f"  number of children: TV {variation(*laws):.3f}")
        real, drawn = children.join(parents, on=key), made[1].join(made[0], on=key)
        names = [*spec["parent"], *spec["child"]]
        coded = [cut(table, real, names) for table in (drawn, real)]
        print(f"  {'parent column':<14} {'child column':<20} linked  shuffled")
        totals = []
        for pair in itertools.product(spec["parent"], spec["child"]):
            shuffled = coded[0].select(pair[0], pl.col(pair[1]).shuffle(seed=1))
            found = variation(coded[0].select(pair), coded[1].select(pair)), variation(shuffled, coded[1].select(pair))
            totals.append(found)
            print(f"  {pair[0]:<14} {pair[1]:<20} {found[0]:.3f}   {found[1]:.3f}")
        means = [sum(each) / len(totals) for each in zip(*totals, strict=True)]
        print(f"  {'mean':<35} {means[0]:.3f}   {means[1]:.3f}")
        if "age" in spec["child"]:
            for what, table in (("real", children), ("drawn", made[1])):
                figures = ", ".join(f"{text} {value:.3g}" for text, value in siblings(table, key).items())
                print(f"  siblings, {what}: {figures}")


if __name__ == "__main__":
    main(sys.argv[1], [float(text) for text in sys.argv[2:]] or [1.0, 4.0])
