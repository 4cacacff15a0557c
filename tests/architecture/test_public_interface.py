"""The names, signatures and fields that users write against are those of `interface.txt`, but for exceptions said here.

The file holds what `interface()` gave on commit 6e9dd8a. The manual page, which holds all commands and their options,
is compared by `test_man_page`.
"""

import dataclasses
import inspect
import re
from pathlib import Path
from types import ModuleType

import lapwing as lw
from lapwing.on_demand import LazyFunction

KEPT = Path(__file__).with_name("interface.txt")
THEOREMS = Path(__file__).with_name("theorems.txt")

PAPER = 'variant="paper" is the one word for a published algorithm'

GONE = {
    "Adaptive(*, one_way_share=None, tree_share=0.3, selection_share=None, resolutions=None, particles=None, "
    "rounds=None, workload=(), target=None)": "the engine of particles has no tree (changelog, 27-engine)",
    "Adaptive.tree_share": "that setting",
    "LinkedRelease.frames(self, n=None, *, seed=None)": "no public name",
    "LinkedRelease.sample(self, n=None, seed=None)": "no public name",
    "Plan(*, mechanism, settings, reason, request, lines, relation, privacy_unit, max_rows, expected_rows, accuracy, "
    "effort, delta_gain, max_rows_effects, assumed_fields, dp_fields)": "users do not make plans themselves",
    "Release(*, schema, model, certificate, noisy, kind='path', seed=None)": "it has a part for each table",
    "Release.sample(self, n=None, seed=None, where=None)": "it takes a layout and a balance too",
    "Release.rows(self, n=None, *, seed=None, where=None)": "it takes a balance too",
    "Schema(*, fields, privacy_unit=None, is_draft=False, name='', questions=(), purchases=(), weight=None, "
    "public_tables=(), rules=())": "it takes a dialect too",
    "Synthesizer.sample(self, n=None, *, seed=None, where=None)": "it takes a layout too",
    "plan(schema, *, expected_rows, epsilon=None, delta=None, rho=None, mechanism=None, neighbours='add-remove', "
    "public_tables=None, memory=None)": "it takes priors too",
    "resume(transcript, data, *, memory=None)": "it takes a mended schema too",
    "synthesize(data, schema, *, epsilon=None, delta=None, rho=None, mechanism=None, neighbours='add-remove', "
    "expected_rows=None, ledger=None, dataset=None, transcript=None, seed=None, public_tables=None, "
    "memory=None)": "it takes the share of misfits that ends a release too",
    "KDTree(*, split_rule='privtree', coarse=None, fine=None, tau='auto', fit='least_squares', threshold=None, "
    "split_share=None, placement=None)": PAPER,
    "KDTree.fit": PAPER,
    "KDTree.split_rule": PAPER,
    "Grid(*, width=None, threshold=None, fit='threshold', placement='uniform')": PAPER,
    "Grid.fit": PAPER,
    "LinearStatistics(*, statistics=(), degree=2, bins=32, mu='microaggregation', mu_share=0.3, mix_uniform=0.1, "
    "points=4000, solver='max-entropy', confidence=0.95)": PAPER,
    "LinearStatistics.solver": PAPER,
    "Microaggregation(*, constants='tight', convex_set='box', numbers='intervals', intervals=16, one_way_share=0.2, "
    "directions=None, bins=None, damping=None, calibrate=True, fit_moments=True)": PAPER,
    "Microaggregation.constants": PAPER,
    "PSMM(*, cells=None, max_cells=65536, surplus='rescale', placement='uniform')": PAPER,
    "PSMM.surplus": PAPER,
    "PrivateSampling(*, variant='exact', degree=2, floor=0.1, draws=None, points=None, ceiling=2.0)": PAPER,
    "anonymize(data, schema, min_group_size=10, *, partition='practical', improve=True, output='systematic', "
    "categories='random', rows=None, seed=None)": PAPER,
    "PMM(*, depth=None, variant='default', consistency='uniform', max_nodes=4194304, "
    "placement='uniform')": "it takes priors too",
    "Release.replicates(self, m, rows=None, seed=None)": "it takes progress too",
    "Release.write(self, path, n=None, seed=None, where=None, *, rows_per_file=4194304)": "it takes progress too",
    "Schema.learn(data, schema, *, epsilon=None, delta=None, rho=None, fields=None, dictionaries=None, quantile=0, "
    "neighbours='add-remove', ledger=None, dataset=None, transcript=None, certificate=None)": "it takes progress too",
    "Synthesizer(schema, **settings)": "its settings are named, as scikit-learn has them",
    "Synthesizer.fit(self, data)": "X and y, as scikit-learn has them",
    "Synthesizer.fit_sample(self, data, n=None)": "X and y, as scikit-learn has them",
    "evaluate(real, synthetic, schema, *, target=None, by=(), test=None, model=None, epsilon=None, delta=None, "
    "rho=None, neighbours='add-remove', expected_rows=None, ledger=None, dataset=None, transcript=None, "
    "seed=0)": "it takes progress too, and the model's schema",
    "load_linked(path, kind='path')": "load",
    "synthesize_linked(parent, child, schema, *, epsilon=None, delta=None, rho=None, parent_share=0.5, "
    "parent_mechanism=None, child_mechanism=None, expected_parents=None, expected_children=None, ledger=None, "
    "dataset=None, transcript=None, seed=None)": "synthesize, of tables by name",
    "LinkedRelease.certificate": "no public name",
    "LinkedRelease.child": "no public name",
    "LinkedRelease.parent": "no public name",
    "LinkedRelease.save(self, path)": "no public name",
    "LinkedRelease.schema": "no public name",
    "LinkedRelease.seed": "no public name",
    "LinkedRelease(*, schema, parent, child, certificate, seed=None)": "no public name",
    **dict.fromkeys(
        (line for line in KEPT.read_text().splitlines() if line.startswith("LinkedSchema")), "Schema.linked"
    ),
}
"""Lines of 6e9dd8a that are no longer so, and why."""

ADDED = [
    "Adaptive(*, one_way_share=None, selection_share=None, resolutions=None, particles=None, rounds=None, workload=(), "
    "target=None, prior=None, strata=None)",
    "Adaptive.prior",
    "Adaptive.strata",
    "Schema.target",
    "KDTree(*, variant='default', coarse=None, fine=None, tau=None, threshold=None, split_share=None, placement=None, "
    "prior=None)",
    "KDTree.variant",
    "Grid(*, width=None, threshold=None, variant='default', placement=None)",
    "Grid.variant",
    "LinearStatistics(*, statistics=(), degree=2, bins=32, mu=None, mu_share=0.3, mix_uniform=0.1, points=4000, "
    "variant='default', confidence=0.95)",
    "LinearStatistics.variant",
    "Microaggregation(*, variant='default', convex_set='box', numbers='intervals', intervals=16, one_way_share=0.2, "
    "directions=None, bins=None, damping=None, calibrate=True, fit_moments=True)",
    "Microaggregation.variant",
    "PSMM(*, cells=None, max_cells=65536, variant='default', placement=None)",
    "PSMM.variant",
    "PrivateSampling(*, variant='default', degree=2, floor=0.1, draws=None, points=None, ceiling=2.0)",
    "anonymize(data, schema, min_group_size=10, *, variant='default', partition='practical', improve=True, "
    "output='systematic', categories='random', rows=None, seed=None)",
    "KDTree.prior",
    "PMM(*, depth=None, variant='default', consistency='uniform', max_nodes=4194304, placement='uniform', metric=None, "
    "prior=None)",
    "PMM.metric",
    "PMM.prior",
    "Query.file",
    "Release.tables",
    "Schema.linked",
    "Schema.one_table",
    "Schema.relations",
    "Schema.tables",
    "Plan(*, mechanism, settings, reason, request, lines, relation, privacy_unit, max_rows, has_public_rows, "
    "expected_rows, accuracy, effort, delta_gain, max_rows_effects, assumed_fields, dp_fields, notes=(), "
    "foreseen=None, linked=None, several=None)",
    "Plan.foreseen",
    "Plan.linked",
    "Plan.of_tables(cls, linked, request, parts, *, effort, notes)",
    "Plan.parts",
    "Plan.several",
    "Plan.shares",
    "Plan.table(self)",
    "Plan.asked",
    "Plan.has_public_rows",
    "Plan.notes",
    "Plan.plot(self)",
    "Query(sql, url)",
    "Query.sql",
    "Query.url",
    "Release(*, parts, certificate, layouts, seed=None)",
    "Release.layouts",
    "Release.linked",
    "Release.of_one(cls, saved, layout=FrameLayout(kind='path', dtypes={}), seed=None)",
    "Release.parts",
    "Release.layout",
    "Release.sample(self, n=None, seed=None, where=None, *, like=None, balance=None)",
    "Release.rows(self, n=None, *, seed=None, where=None, balance=None)",
    "Release.impute(self, data, seed=None)",
    "Release.plot(self, columns=None)",
    "Schema(*, fields=(), privacy_unit=None, is_draft=False, name='', questions=(), purchases=(), weight=None, "
    "public_tables=(), rules=(), dialect=Dialect(delimiter=None, quote_char='\"', encoding=None, header=True, "
    "skip_rows=0, skip_footer=0, trim=False, ignore_case=False, sheet=None, names=()), linked=None)",
    "Schema.as_written_out",
    "Schema.dialect",
    "Schema.names_every_unit",
    "Schema.check(self, data)",
    "Schema.select(self, names)",
    "Synthesizer.sample(self, n=None, *, seed=None, where=None, like=None)",
    "estimate(domain, measurements, *, seed=None)",
    "rows_from_tables(tables, schema, *, rows=None, confidence='0.95', seed=None)",
    "tables(release, confidence='0.95', limit=None)",
    "Tables(tables=(), *, least='total')",
    "Tables.least",
    "Tables.name",
    "Tables.tables",
    "Mechanism()",
    "Mechanism.name",
    "Trusted(mechanism)",
    "covariance(release, confidence=0.95)",
    "Trusted.mechanism",
    "Release.replicates(self, m, rows=None, seed=None, *, progress=None)",
    "Release.write(self, path, n=None, seed=None, where=None, *, rows_per_file=4194304, progress=None)",
    "Schema.from_frame_types(frame)",
    "Schema.learn(data, schema, *, epsilon=None, delta=None, rho=None, fields=None, dictionaries=None, quantile=0, "
    "neighbours='add-remove', ledger=None, dataset=None, transcript=None, certificate=None, progress=None)",
    "Schema.names",
    "Synthesizer(schema, *, epsilon=None, delta=None, rho=None, mechanism=None, neighbours='add-remove', "
    "expected_rows=None, ledger=None, dataset=None, transcript=None, seed=None, public_tables=None, prior=None, "
    "memory=None, misfits=0.1, progress=None)",
    "Synthesizer.fit(self, X, y=None)",
    "Synthesizer.fit_sample(self, X, n=None)",
    "Synthesizer.get_params(self, deep=True)",
    "Synthesizer.set_params(self, **params)",
    "evaluate(real, synthetic, schema=None, *, target=None, by=(), test=None, model=None, epsilon=None, "
    "delta=None, rho=None, neighbours='add-remove', expected_rows=None, ledger=None, dataset=None, transcript=None, "
    "seed=0, progress=None)",
    "plan(schema, *, expected_rows, epsilon=None, delta=None, rho=None, mechanism=None, neighbours='add-remove', "
    "public_tables=None, prior=None, memory=None, shares=None)",
    "resume(transcript, data, *, schema=None, memory=None, progress=None)",
    "synthesize(data, schema=None, *, epsilon=None, delta=None, rho=None, mechanism=None, neighbours='add-remove', "
    "expected_rows=None, ledger=None, dataset=None, transcript=None, seed=None, public_tables=None, prior=None, "
    "memory=None, misfits=0.1, shares=None, progress=None)",
]
"""What came after."""


def interface() -> list[str]:
    """Return a line for every public name, method and field with its parameters and their defaults."""
    lines = []
    for name in lw.__all__:
        value = getattr(lw, name)
        if inspect.ismodule(value):
            lines += [f"{name}.{paper}.{each}{parameters(held)}" for paper, each, held in statements(value)]
            continue
        if inspect.isclass(value) and issubclass(value, Exception):
            lines.append(f"{name}({', '.join(each.__name__ for each in value.__mro__[1:])})")
            continue
        lines.append(name + parameters(value))
        if not inspect.isclass(value):
            continue
        fields = {each.name for each in dataclasses.fields(value)} if dataclasses.is_dataclass(value) else set()
        # What else a mechanism has is the package's own: users give settings.
        shown = {*fields, "name"} if hasattr(value, "run") else {*fields, *dir(value)}
        for attribute in sorted(shown):
            if not attribute.startswith("_"):
                held = inspect.getattr_static(value, attribute, None)
                held = getattr(value, attribute) if isinstance(held, LazyFunction) else held
                lines.append(f"{name}.{attribute}{parameters(held)}")
    return lines


def statements(package: ModuleType) -> list[tuple[str, str, object]]:
    """Return the functions and classes of a package's modules: the module, the name, and what it names."""
    modules = [(name, getattr(package, name)) for name in package.__all__]
    return [
        (name, each, held)
        for name, module in modules
        for each, held in vars(module).items()
        if not each.startswith("_") and getattr(held, "__module__", "") == module.__name__
    ]


def parameters(value: object) -> str:
    """Return the parameters of what can be called, with defaults and without types; nothing for anything else."""
    value = getattr(value, "__func__", value)
    if not callable(value):
        return ""
    given = inspect.signature(value).parameters.values()
    shown = str(inspect.Signature([each.replace(annotation=inspect.Parameter.empty) for each in given]))
    return re.sub(r" at 0x[0-9a-f]+", "", shown)


def test_public_names_and_signatures_are_those_of_the_first_edition() -> None:
    kept = KEPT.read_text(encoding="utf-8").splitlines()

    assert set(kept) >= set(GONE)
    theorems = THEOREMS.read_text(encoding="utf-8").splitlines()
    assert sorted(interface()) == sorted([*(set(kept) - set(GONE)), *ADDED, *theorems])
