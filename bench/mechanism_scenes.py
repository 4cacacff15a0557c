"""What each mechanism does, as a chart of a real run on a small invented table: a function for each page."""

from itertools import combinations, groupby
from typing import Any

import altair as alt
import numpy as np
import polars as pl
from metric_models import cells_of

import lapwing as lw
from lapwing.anonymous.microaggregation import practical_partition
from lapwing.kernel.questions.cell_sums.question import NoisySums
from lapwing.kernel.questions.marginal_counts.question import NoisyCounts
from lapwing.kernel.questions.tree_counts.question import NoisyTree
from lapwing.maths.reduced_density import low_degree_sums, walsh_transform

REAL, OUT, NOISE, FAINT = "#c25100", "#0072b2", "#b3261e", "#dfe4e8"
WIDE, HALF = 400, 182
"""Width of one panel, and of two beside each other, in units of which a phone shows about as many as it has pixels."""

Lines = list[dict[str, Any]]


def numbers(names: str, low: float, high: float) -> dict[str, object]:
    """Return a schema of real columns with one-letter names and the same public bounds."""
    bounds = {"minimum": low, "maximum": high, "required": True}
    return {"fields": [{"name": name, "type": "number", "constraints": bounds} for name in names]}


def clouds(rows: int, seed: int) -> pl.DataFrame:
    """Draw two columns on [0, 100): a tight cluster, a wide one, and some rows anywhere."""
    rng = np.random.default_rng(seed)
    tight = rng.normal((25, 70), 4, (rows // 2, 2))
    wide = rng.normal((65, 35), (14, 9), (rows // 3, 2))
    anywhere = rng.uniform(0, 100, (rows - len(tight) - len(wide), 2))
    points = np.concatenate([tight, wide, anywhere]).clip(0, 99.99)
    return pl.DataFrame({"x": points[:, 0], "y": points[:, 1]})


def data(lines: Lines) -> alt.Chart:
    """Return a chart of lines, without altair's limit."""
    return alt.Chart(alt.Data(values=lines))


def plane(title: str, side: int = HALF) -> dict[str, object]:
    """Return the size and title of a square panel."""
    return {"title": title, "width": side, "height": side}


def across(low: float = 0, high: float = 100, *, is_bare: bool = True, name: str = "x") -> alt.X:
    """Return a horizontal axis with fixed ends."""
    axis = None if is_bare else alt.Axis(title=name, grid=False)
    return alt.X(f"{name}:Q", scale=alt.Scale(domain=[low, high], nice=False), axis=axis)


def up(low: float = 0, high: float = 100, *, name: str = "y") -> alt.Y:
    """Return a vertical axis with fixed ends."""
    return alt.Y(f"{name}:Q", scale=alt.Scale(domain=[low, high], nice=False), axis=None)


def points(frame: pl.DataFrame, colour: str, title: str) -> alt.Chart:
    """Return rows of two columns as points."""
    lines = frame.select(pl.all().round(2)).to_dicts()
    return (
        data(lines)
        .mark_circle(color=colour, size=7, opacity=0.45, clip=True)
        .encode(x=across(), y=up())
        .properties(**plane(title))
    )


def ticks(values: np.ndarray, colour: str, title: str) -> alt.Chart:
    """Return rows of one column as a strip of ticks."""
    lines = [{"x": round(float(value), 2)} for value in values]
    strip = data(lines).mark_tick(color=colour, opacity=0.3, thickness=1, height=22)
    return strip.encode(x=across(0, 64)).properties(width=WIDE, height=24, title=title)


def pmm() -> alt.TopLevelMixin:
    """Show real rows of one column, the noisy counts of the tree level by level, and rows drawn from its leaves."""
    rng = np.random.default_rng(1)
    real = np.concatenate([rng.normal(14, 3, 500), rng.normal(44, 6, 250)]).clip(0, 63.99)
    release = lw.synthesize(
        pl.DataFrame({"x": real}),
        numbers("x", 0, 64),
        epsilon=1,
        expected_rows=750,
        mechanism=lw.PMM(variant="paper", depth=6),
        seed=1,
    )
    tree = next(answer for answer in release.noisy if isinstance(answer, NoisyTree))
    lines: Lines = []
    for level, counts in enumerate(tree.levels):
        cells = 2**level
        for place in range(cells):
            count = None if counts is None else int(counts.ravel()[place])
            shade = None if count is None else max(0, count) * cells / 64
            ends = {"x": 64 * place / cells, "x2": 64 * (place + 1) / cells, "y": level, "y2": level + 0.94}
            lines.append(
                ends | {"count": count, "shade": shade, "middle": 64 * (place + 0.5) / cells, "at": level + 0.5}
            )
    base = data(lines)
    vertical = alt.Y("y:Q", scale=alt.Scale(domain=[len(tree.levels), 0], nice=False), axis=None)
    asked = (
        base.transform_filter("datum.count !== null")
        .mark_rect(stroke="white")
        .encode(
            x=across(0, 64),
            x2="x2:Q",
            y=vertical,
            y2="y2:Q",
            color=alt.Color("shade:Q", scale=alt.Scale(scheme="blues", domain=[0, 70]), legend=None),
        )
    )
    texts = (
        base.transform_filter("datum.count !== null && datum.x2 - datum.x > 3")
        .mark_text(fontSize=11)
        .encode(
            x=across(0, 64, name="middle"),
            y=alt.Y("at:Q", scale=alt.Scale(domain=[len(tree.levels), 0], nice=False), axis=None),
            text="count:Q",
            color=alt.condition("datum.shade > 35", alt.value("white"), alt.value("#1b2430")),
        )
    )
    middle = (asked + texts).properties(
        width=WIDE, height=26 * len(tree.levels), title="Noisy counts of a tree of halves"
    )
    drawn = ticks(release.sample(seed=1)["x"].to_numpy(), OUT, "Rows out, spread evenly in the lowest cells")
    return alt.vconcat(ticks(real, REAL, "750 rows of one column"), middle, drawn, spacing=8)


def psmm() -> alt.TopLevelMixin:
    """Show noisy counts of equal cells, some below zero, and the nearest measure without negative counts."""
    rng = np.random.default_rng(2)
    real = np.concatenate([rng.normal(16, 4, 150), rng.normal(46, 2, 60)]).clip(0, 63.99)
    cells = 32
    release = lw.synthesize(
        pl.DataFrame({"x": real}),
        numbers("x", 0, 64),
        epsilon=0.4,
        expected_rows=210,
        mechanism=lw.PSMM(cells=cells),
        seed=1,
    )
    noisy = next(answer for answer in release.noisy if isinstance(answer, NoisyCounts)).counts[:cells]
    middles, _, weights = cells_of(release)
    measure = np.zeros(cells)
    measure[(middles[:, 0] * cells).astype(int)] = weights * noisy.sum()
    exact = np.histogram(real, cells, (0, 64))[0]
    panels = []
    for title, counts in (
        ("Noisy counts of 32 equal cells (line: the real ones)", noisy),
        ("The nearest measure without negative counts", measure),
    ):
        lines = [
            {"x": 2 * place + 0.1, "x2": 2 * place + 1.9, "y": float(count), "real": int(exact[place]), "zero": 0}
            for place, count in enumerate(counts)
        ]
        vertical = alt.Y("y:Q", title="rows", scale=alt.Scale(domain=[-10, 35], nice=False), axis=alt.Axis(tickCount=4))
        bars = (
            data(lines)
            .mark_rect(clip=True)
            .encode(
                x=across(0, 64),
                x2="x2:Q",
                y=vertical,
                y2="zero:Q",
                color=alt.condition("datum.y < 0", alt.value(NOISE), alt.value(OUT)),
            )
        )
        steps = (
            data([*lines, {"x": 64, "real": int(exact[-1])}])
            .mark_line(color=REAL, interpolate="step-after", strokeWidth=1.5)
            .encode(x=across(0, 64), y="real:Q")
        )
        panels.append((bars + steps).properties(width=WIDE - 30, height=140, title=title))
    return alt.vconcat(*panels, spacing=8)


def _cells(release: lw.Release, rows: int, title: str, *, has_borders: bool) -> alt.Chart:
    """Return the cells of a release, shaded by their density."""
    middles, halves, weights = cells_of(release)
    low, high = 100 * (middles - halves), 100 * (middles + halves)
    dense = weights * rows / np.prod(high - low, axis=1)
    lines = [
        {"x": round(a, 3), "y": round(b, 3), "x2": round(c, 3), "y2": round(d, 3), "dense": round(float(each), 5)}
        for (a, b), (c, d), each in zip(low.tolist(), high.tolist(), dense, strict=True)
    ]
    border = {"stroke": "#8fa3b3", "strokeWidth": 0.35} if has_borders else {}
    shade = alt.Color(
        "dense:Q", scale=alt.Scale(type="symlog", constant=0.05, scheme="blues", domain=[0, 6]), legend=None
    )
    return (
        data(lines)
        .mark_rect(**border)
        .encode(x=across(), x2="x2:Q", y=up(), y2="y2:Q", color=shade)
        .properties(**plane(title))
    )


def kd_tree() -> alt.TopLevelMixin:
    """Show rows, the leaves of a tree, the kept cells of a grid, and rows out of the tree."""
    rows = 6000
    frame = clouds(rows, 3)
    schema = numbers("xy", 0, 100)
    tree, grid = (
        lw.synthesize(frame, schema, epsilon=1, expected_rows=rows, mechanism=mechanism, seed=1)
        for mechanism in (lw.KDTree(), lw.Grid(width=1 / 32, variant="paper", placement="uniform"))
    )
    shown = tree.sample(1500, seed=1)
    return alt.vconcat(
        points(frame.sample(1500, seed=1), REAL, "The table")
        | _cells(tree, rows, "KDTree: its leaves", has_borders=True),
        _cells(grid, rows, "Grid: the cells it keeps", has_borders=True) | points(shown, OUT, "Rows out of KDTree"),
        spacing=8,
    )


def independent() -> alt.TopLevelMixin:
    """Show two columns with their histograms, real and released: the histograms are kept, the relation is not."""
    rng = np.random.default_rng(4)
    age = rng.triangular(18, 35, 95, 3000)
    pay = (5 + 0.055 * (age - 18) * (95 - age) * 0.55 + rng.normal(0, 6, 3000)).clip(0, 99)
    frame = pl.DataFrame({"x": (age - 15) * 1.2, "y": pay})
    release = lw.synthesize(
        frame, numbers("xy", 0, 100), epsilon=1, expected_rows=3000, mechanism=lw.Independent(groups=32), seed=1
    )
    return alt.hconcat(
        _with_margins(frame, REAL, "The table"), _with_margins(release.sample(seed=1), OUT, "Released"), spacing=14
    )


def _with_margins(frame: pl.DataFrame, colour: str, title: str) -> alt.VConcatChart:
    """Return rows as points, with the histogram of each column at its side."""
    side, edges = 140, np.linspace(0, 100, 26)
    tops, sides = (np.histogram(frame[name].to_numpy(), edges)[0] for name in "xy")
    most = 420
    top = [{"x": 4 * place + 0.3, "x2": 4 * place + 3.7, "y": int(count), "y2": 0} for place, count in enumerate(tops)]
    beside = [
        {"y": 4 * place + 0.3, "y2": 4 * place + 3.7, "x": int(count), "x2": 0} for place, count in enumerate(sides)
    ]
    bars = data(top).mark_rect(color=colour).encode(x=across(), x2="x2:Q", y=up(0, most), y2="y2:Q")
    lying = data(beside).mark_rect(color=colour).encode(x=across(0, most), x2="x2:Q", y=up(), y2="y2:Q")
    cloud = points(frame.sample(1200, seed=1), colour, "")
    return alt.vconcat(
        bars.properties(width=side, height=38, title=title),
        alt.hconcat(
            cloud.properties(width=side, height=side),
            lying.properties(width=38, height=side),
            spacing=2,
        ),
        spacing=2,
    )


def microaggregation() -> alt.TopLevelMixin:
    """Show rows coloured by cell and the noisy mean of each cell."""
    rng = np.random.default_rng(5)
    along = rng.normal(0, 1, (4000, 2)) * (21, 8)
    turned = along @ np.array([[0.82, 0.57], [-0.57, 0.82]]) + 50
    frame = pl.DataFrame({"x": turned[:, 0].clip(0, 100), "y": turned[:, 1].clip(0, 100)})
    mechanism = lw.Microaggregation(numbers="means", directions=2, bins=4)
    release = lw.synthesize(frame, numbers("xy", 0, 100), epsilon=2, expected_rows=4000, mechanism=mechanism, seed=1)
    last = [answer for answer in release.noisy if isinstance(answer, NoisySums)][-1]
    vectors = np.stack([2 * 4096 * (frame[name].to_numpy() / 100 - 0.5) for name in "xy"], axis=1)
    cells = last.question.projection.cells_of(np.rint(vectors))
    lines = [
        {"x": round(x, 2), "y": round(y, 2), "cell": int(cell)}
        for x, y, cell in zip(frame["x"], frame["y"], cells, strict=True)
    ][:1800]
    shades = [("#9ecae1", "#fdd0a2", "#c7e9c0", "#dadaeb")[(cell + cell // 4 * 2) % 4] for cell in range(16)]
    colour = alt.Color("cell:N", scale=alt.Scale(domain=list(range(16)), range=shades), legend=None)
    rows = data(lines).mark_circle(size=9, opacity=0.9).encode(x=across(), y=up(), color=colour)
    out = release.sample(seed=1).group_by(pl.col("x", "y").round(1)).len()
    means = (
        data(out.to_dicts())
        .mark_circle(color=OUT, opacity=1, stroke="white")
        .encode(x=across(), y=up(), size=alt.Size("len:Q", legend=None, scale=alt.Scale(range=[20, 500])))
    )
    return (rows + means).properties(**plane("Rows by cell; blue: noisy mean of the cell", WIDE - 60))


def linear_statistics() -> alt.TopLevelMixin:
    """Show the table, its noisy statistics, public points that know nothing of it, and the weights that these get."""
    rows = 4000
    frame = clouds(rows, 6)
    public = pl.DataFrame(dict(zip("xy", np.random.default_rng(10).uniform(0, 100, (2, 700)), strict=True)))
    mechanism = lw.LinearStatistics(degree=2, bins=8, mu=public, mix_uniform=0, points=700)
    release = lw.synthesize(frame, numbers("xy", 0, 100), epsilon=1, expected_rows=rows, mechanism=mechanism, seed=1)
    noisy = next(answer for answer in release.noisy if isinstance(answer, NoisyCounts))
    sizes = [field.domain.values for field in release.schema.columns]
    (x, x2, _), (y, y2, _) = (
        [100 * ends / size for ends in grouping.pieces()]
        for grouping, size in zip(noisy.question.groupings, sizes, strict=True)
    )
    table = [
        {"x": x[a], "x2": x2[a], "y": y[b], "y2": y2[b], "count": int(noisy.counts.reshape(x.size, y.size)[a, b])}
        for a in range(x.size)
        for b in range(y.size)
    ]
    shade = alt.Color(
        "count:Q", scale=alt.Scale(type="symlog", constant=10, scheme="blues", domain=[0, 1000]), legend=None
    )
    measured = (
        data(table).mark_rect(stroke="white", clip=True).encode(x=across(), x2="x2:Q", y=up(), y2="y2:Q", color=shade)
    )
    middles, _, weights = cells_of(release)
    spots = [
        {"x": round(100 * across_, 2), "y": round(100 * up_, 2), "weight": round(float(each), 6)}
        for (across_, up_), each in zip(middles.tolist(), weights, strict=True)
    ]
    even = data(spots).mark_circle(color="#5b6670", size=9).encode(x=across(), y=up())
    size = alt.Size("weight:Q", legend=None, scale=alt.Scale(range=[0, 200], domain=[0, float(weights.max())]))
    weighed = data(spots).mark_circle(color=OUT, opacity=0.75).encode(x=across(), y=up(), size=size)
    return alt.vconcat(
        points(frame.sample(1500, seed=1), REAL, "The table") | measured.properties(**plane("Noisy statistics")),
        even.properties(**plane("Public points")) | weighed.properties(**plane("The same, weighted")),
        spacing=8,
    ).resolve_scale(color="independent", size="independent")


def private_sampling() -> alt.TopLevelMixin:
    """Show the shares of eight combinations in the table, in the flattened density, and among the rows drawn."""
    rng = np.random.default_rng(7)
    names, floor, rows = ("smokes", "drinks", "walks"), 0.2, 20_000
    smokes = rng.random(rows) < 0.25
    drinks = rng.random(rows) < np.where(smokes, 0.7, 0.35)
    walks = rng.random(rows) < np.where(smokes, 0.04, 0.75)
    frame = pl.DataFrame(dict(zip(names, (smokes, drinks, walks), strict=True)))
    fields = [{"name": name, "type": "boolean", "constraints": {"required": True}} for name in names]
    mechanism = lw.PrivateSampling(degree=2, floor=floor)
    release = lw.synthesize(frame, {"fields": fields}, epsilon=1, neighbours="replace-one", mechanism=mechanism, seed=1)
    places = np.array([1, 2, 4])
    counts = np.bincount(frame.select(names).to_numpy() @ places, minlength=8)
    weights = np.maximum(walsh_transform(low_degree_sums(counts, rows, 2)), int(np.ceil(floor * rows)))
    drawn = np.bincount(release.sample().select(names).to_numpy() @ places, minlength=8)
    shares = {
        "the table": counts / counts.sum(),
        "flattened density": weights / weights.sum(),
        f"the {drawn.sum()} rows drawn": drawn / drawn.sum(),
    }
    label = [
        ", ".join(name for bit, name in zip(places, names, strict=True) if code & bit) or "none" for code in range(8)
    ]
    lines = [
        {"label": label[code], "of": name, "share": float(each[code])}
        for name, each in shares.items()
        for code in range(8)
    ]
    order = [label[code] for code in np.argsort(-counts)]
    bars = (
        data(lines)
        .mark_bar()
        .encode(
            y=alt.Y("label:N", sort=order, title=None),
            yOffset=alt.YOffset("of:N", sort=list(shares)),
            x=alt.X("share:Q", axis=alt.Axis(format="%", tickCount=5), title="share of the rows"),
            color=alt.Color(
                "of:N",
                sort=list(shares),
                scale=alt.Scale(range=[REAL, "#9aa5ad", OUT]),
                legend=alt.Legend(title=None, orient="top"),
            ),
        )
    )
    least = float(weights.min() / weights.sum())
    line = data([{"share": least}]).mark_rule(strokeDash=[4, 3], color="#1b2430").encode(x="share:Q")
    return (bars + line).properties(
        width=WIDE - 130, height=290, title="Dashed: the floor, below which no density goes"
    )


def anonymous() -> alt.TopLevelMixin:
    """Show people, and the mean of the group of at least five that each belongs to."""
    frame = clouds(140, 8)
    made = lw.anonymize(frame, numbers("xy", 0, 100), min_group_size=5, seed=1)
    raw = frame.to_numpy()
    labels = practical_partition((raw - raw.mean(axis=0)) / raw.std(axis=0), 5)
    means = np.stack([raw[labels == group].mean(axis=0) for group in range(labels.max() + 1)])
    out = made.data.select(pl.all().round(3)).unique().to_numpy()
    assert len(out) == len(means)
    assert np.allclose(np.sort(out[:, 0]), np.sort(means[:, 0]), atol=0.01)
    lines = [
        {"x": float(x), "y": float(y), "x2": float(means[group, 0]), "y2": float(means[group, 1])}
        for (x, y), group in zip(raw, labels, strict=True)
    ]
    base = data(lines)
    spokes = base.mark_rule(color="#9aa5ad", strokeWidth=0.8).encode(x=across(), x2="x2:Q", y=up(), y2="y2:Q")
    people = base.mark_circle(color=REAL, size=22, opacity=1).encode(x=across(), y=up())
    shown = [{"x": float(x), "y": float(y), "size": int((labels == group).sum())} for group, (x, y) in enumerate(means)]
    middles = data(shown).mark_square(color=OUT, size=70, opacity=1).encode(x=across(), y=up())
    return (spokes + people + middles).properties(**plane("Orange: people; blue: the mean of their group", WIDE - 60))


def adaptive() -> alt.TopLevelMixin:
    """Show which tables were measured, in their order, and how strongly pairs hang together in table and release."""
    frame, schema = _people(20_000)
    release = lw.synthesize(frame, schema, epsilon=1, expected_rows=20_000, mechanism=lw.Adaptive(), seed=1)
    names = frame.columns
    batches = [
        [answer.question.columns for answer in batch if len(answer.question.columns) > 1]
        for kind, batch in groupby(release.noisy, type)
        if kind is NoisyCounts
    ]
    rounds = [batch for batch in batches if batch]
    tables = [columns for batch in rounds for columns in batch]
    kinds = ["first round" if number == 0 else "later rounds" for number, batch in enumerate(rounds) for _ in batch]
    lines = [
        {"order": place + 1, "column": name, "kind": kind, "first": columns[0]}
        for place, (columns, kind) in enumerate(zip(tables, kinds, strict=True))
        for name in columns
    ]
    vertical = alt.Y("column:N", sort=names, title=None, axis=alt.Axis(grid=True))
    horizontal = alt.X("order:O", title="table measured, in this order", axis=alt.Axis(labelAngle=0, labelOverlap=True))
    base = data(lines).encode(
        color=alt.Color(
            "kind:N",
            sort=["first round", "later rounds"],
            scale=alt.Scale(range=["#5b6670", OUT]),
            legend=alt.Legend(title=None, orient="top"),
        )
    )
    ends = base.mark_line(strokeWidth=2).encode(x=horizontal, y=vertical, detail="order:O")
    chosen = (ends + base.mark_circle(size=55, opacity=1).encode(x=horizontal, y=vertical)).properties(
        width=WIDE - 70, height=150, title="Each column of dots: one table that was chosen"
    )
    known = {tuple(sorted(pair)) for columns in tables for pair in combinations(columns, 2)}
    out = release.sample(seed=1)
    panels = [_hang(each, names, known, title) for title, each in (("The table", frame), ("Rows out", out))]
    note = "How strongly pairs hang together (○: measured)"
    return alt.vconcat(chosen, alt.hconcat(*panels, spacing=10).properties(title=note), spacing=10).resolve_scale(
        color="independent"
    )


def _people(rows: int) -> tuple[pl.DataFrame, dict[str, object]]:
    """Draw six columns that hang together in a chain, with one that hangs on nothing."""
    rng = np.random.default_rng(9)
    age = rng.integers(18, 80, rows)
    school = np.where(rng.random(rows) < 0.25 + 0.4 * (age < 45), "long", "short")
    works = np.where(rng.random(rows) < np.where(age > 64, 0.06, 0.85), "yes", "no")
    pay = np.where(works == "no", 8, np.where(school == "long", 45, 25)) + rng.normal(0, 6, rows)
    car = np.where(rng.random(rows) < np.clip(pay / 50, 0.05, 0.95), "yes", "no")
    hand = np.where(rng.random(rows) < 0.1, "left", "right")
    frame = pl.DataFrame(
        {"age": age, "school": school, "works": works, "pay": pay.clip(0, 99.9), "car": car, "hand": hand}
    )
    bounds = {"age": (18, 79, "integer"), "pay": (0, 100, "number")}
    fields: list[dict[str, object]] = []
    for name in frame.columns:
        if name in bounds:
            low, high, kind = bounds[name]
            limits = {"minimum": low, "maximum": high, "required": True}
            fields.append({"name": name, "type": kind, "constraints": limits})
        else:
            listed = {"enum": sorted(frame[name].unique().to_list()), "required": True}
            fields.append({"name": name, "type": "string", "constraints": listed})
    return frame, {"fields": fields}


def _hang(frame: pl.DataFrame, names: list[str], known: set[tuple[str, ...]], title: str) -> alt.LayerChart:
    """Return Cramer's V of all pairs, numbers in six groups, as a heat map."""
    codes = {
        name: (frame[name].qcut(6, allow_duplicates=True) if frame[name].dtype.is_numeric() else frame[name]).cast(
            pl.String
        )
        for name in names
    }
    lines: Lines = []
    for one, two in combinations(names, 2):
        table = pl.DataFrame({"a": codes[one], "b": codes[two]}).pivot(
            "b", index="a", values="b", aggregate_function="len"
        )
        counts = table.drop("a").fill_null(0).to_numpy().astype(float)
        expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
        strength = np.sqrt(((counts - expected) ** 2 / expected).sum() / counts.sum() / (min(counts.shape) - 1))
        is_known = tuple(sorted((one, two))) in known
        lines.append({"a": one, "b": two, "strength": float(strength), "known": is_known})
    horizontal = alt.X("a:N", sort=names, title=None, axis=alt.Axis(labelAngle=-40))
    vertical = alt.Y("b:N", sort=names, title=None)
    shade = alt.Color(
        "strength:Q",
        scale=alt.Scale(range=["#f4f7fa", "#0072b2", "#03325a"], domain=[0, 0.4, 0.8], interpolate="rgb"),
        legend=None,
    )
    base = data(lines).encode(x=horizontal, y=vertical)
    marks = base.transform_filter("datum.known").mark_point(color="#e08b4f", size=60, strokeWidth=1.6)
    return (base.mark_rect(stroke="white").encode(color=shade) + marks).properties(width=140, height=140, title=title)
