"""Settings of mechanisms: ranges, texts of the command line, JSON, and the rule that chooses the default."""

import json

import pytest

import lapwing as lw
from lapwing import PMM, PSMM, Adaptive, Grid, Independent, KDTree, LinearStatistics, Microaggregation
from lapwing.errors import ParameterError, SchemaError
from lapwing.mechanisms.registry import default_mechanism, make_mechanism, settings_of
from lapwing.schema.schemas import Schema

FLAG = {"name": "flag", "type": "boolean"}
KIND = {"name": "kind", "type": "string", "categories": ["a", "b", "c"]}
AGE = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}}


def schema_of(*fields):
    return Schema.from_dict({"fields": list(fields)})


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (Adaptive, {"one_way_share": 0}, "one_way_share must be a number from 0.001 to 0.999, got 0"),
        (Adaptive, {"selection_share": 1}, "selection_share must be a number from 0.001 to 0.999"),
        (Adaptive, {"selection_share": "half"}, "selection_share must be a number"),
        (Adaptive, {"one_way_share": True}, "one_way_share must be a number"),
        (Adaptive, {"resolutions": ()}, "resolutions must be 1 to 6 decreasing numbers from 2 to 64"),
        (Adaptive, {"resolutions": (4, 8)}, "resolutions must be"),
        (Adaptive, {"resolutions": (8, 8)}, "resolutions must be"),
        (Adaptive, {"resolutions": (65,)}, "resolutions must be"),
        (Adaptive, {"resolutions": (64, 32)}, ".*the last at most 16"),
        (Adaptive, {"resolutions": 16}, "resolutions must be a list, got 16"),
        (Adaptive, {"workload": "age"}, "workload must be a list, got 'age'"),
        (Adaptive, {"resolutions": (8, 1)}, "resolutions must be"),
        (Adaptive, {"resolutions": (8.5, 4)}, "resolutions must be"),
        (Adaptive, {"resolutions": (64, 32, 16, 8, 4, 3, 2)}, "resolutions must be"),
        (Adaptive, {"particles": 15}, "particles must be a whole number from 16 to 400000, got 15"),
        (Adaptive, {"particles": 400_001}, "particles must be"),
        (Adaptive, {"particles": 100.0}, "particles must be"),
        (Adaptive, {"rounds": 0}, "rounds must be a whole number from 1 to 1000, got 0"),
        (Adaptive, {"rounds": True}, "rounds must be"),
        (Adaptive, {"workload": (3,)}, "workload must list columns, or tables as lists of columns, got 3"),
        (Adaptive, {"workload": ((),)}, "workload must list columns"),
        (Adaptive, {"workload": (("age", "sex", 1),)}, "workload must list columns"),
        (Grid, {"width": 0}, "width must lie above 0 and up to 1, the length of a column, got 0"),
        (Grid, {"width": 1.5}, "width must lie above 0 and up to 1, the length of a column, got 1.5"),
        (Grid, {"width": True}, "width must lie above 0 and up to 1, the length of a column, got True"),
        (Grid, {"width": "0.5"}, "width must lie above 0 and up to 1, the length of a column, got '0.5'"),
        (Grid, {"width": float("nan")}, "width must lie above 0 and up to 1, the length of a column, got nan"),
        (Grid, {"threshold": 0}, r"threshold must be a whole number from 1 to 2\*\*60, got 0; leave it out to choose"),
        (Grid, {"threshold": 2.0}, r"threshold must be a whole number from 1 to 2\*\*60, got 2.0; leave it out"),
        (Grid, {"threshold": True}, r"threshold must be a whole number from 1 to 2\*\*60, got True; leave it out"),
        (Grid, {"threshold": 2**60 + 1}, r"threshold must be a whole number from 1 to 2\*\*60, got 11529215046"),
        (Grid, {"variant": "none"}, "variant must be one of default, paper, got 'none'"),
        (Grid, {"placement": "corner"}, "placement must be one of uniform, centre, got 'corner'"),
        (PMM, {"depth": -1}, "depth must be"),
        (PMM, {"depth": 65}, "depth must be"),
        (PMM, {"depth": 2.0}, "depth must be"),
        (PMM, {"depth": True}, "depth must be"),
        (PMM, {"variant": "better"}, "variant must be one of default, paper"),
        (PMM, {"consistency": "none", "variant": "paper"}, "consistency must be one of"),
        (PMM, {"consistency": "proportional"}, ".*variant='paper' only"),
        (PMM, {"placement": "corner"}, "placement must be one of"),
        (PMM, {"max_nodes": 0}, "max_nodes must be"),
        (PMM, {"max_nodes": 2**26 + 1}, "max_nodes must be"),
        (PMM, {"max_nodes": 1e6}, "max_nodes must be"),
        (PSMM, {"cells": 0}, "cells must be a whole number from 1 to 65536, got 0"),
        (PSMM, {"cells": 65_537}, "cells must be a whole number from 1 to 65536"),
        (PSMM, {"cells": 11, "max_cells": 10}, "cells must be a whole number from 1 to 10, got 11"),
        (PSMM, {"cells": True}, "cells must be"),
        (PSMM, {"cells": 4.0}, "cells must be"),
        (PSMM, {"max_cells": 0}, "max_cells must be a whole number from 1 to 1048576, got 0"),
        (PSMM, {"max_cells": 2**20 + 1}, "max_cells must be"),
        (PSMM, {"max_cells": None}, "max_cells must be"),
        (PSMM, {"variant": "none"}, "variant must be one of default, paper, got 'none'"),
        (PSMM, {"placement": "corner"}, "placement must be one of uniform, centre"),
        (LinearStatistics, {"degree": 9}, "degree must be a whole number from 0 to 8, got 9"),
        (LinearStatistics, {"degree": True}, "degree must be a whole number from 0 to 8, got True"),
        (
            LinearStatistics,
            {"degree": 0},
            "degree=0 asks for no table, and there are no statistics",
        ),
        (LinearStatistics, {"bins": 1}, "bins must be a whole number from 2 to 4096, got 1"),
        (LinearStatistics, {"points": 0}, "points must be a whole number from 1 to 262144, got 0"),
        (LinearStatistics, {"mu_share": 0.0}, r"mu_share must lie from 0\.01 to 0\.9, got 0\.0"),
        (LinearStatistics, {"mix_uniform": 1.5}, r"mix_uniform must lie from 0\.0 to 1\.0, got 1\.5"),
        (LinearStatistics, {"confidence": 1.0}, r"confidence must lie from 0\.5 to 0\.9999, got 1\.0"),
        (LinearStatistics, {"confidence": float("nan")}, r"confidence must lie from 0\.5 to 0\.9999, got nan"),
        (LinearStatistics, {"variant": "simplex"}, "variant must be one of default, paper, got 'simplex'"),
        (
            LinearStatistics,
            {"statistics": 7},
            r"statistics must be a list of lw\.stat, texts or .*, got 7",
        ),
        (
            LinearStatistics,
            {"statistics": [7]},
            r"a statistic must be lw\.stat\('\.\.\.'\), its text or .*, got int",
        ),
        (
            LinearStatistics,
            {"statistics": ["callable f"]},
            "a row function is kept in no file, so a release with",
        ),
        (Independent, {"groups": 1}, "groups must be a whole number from 2 to 65536"),
        (Independent, {"groups": 65537}, "groups must be a whole number from 2 to 65536"),
        (LinearStatistics, {"statistics": ["age = 65"]}, ".*age ="),
        (KDTree, {"variant": "best"}, "variant must be one of default, paper, got 'best'"),
        (KDTree, {"coarse": 0.0}, "coarse must lie above 0 and up to 1, the length of a column, got 0.0"),
        (KDTree, {"fine": 2}, "fine must lie above 0 and up to 1, the length of a column, got 2"),
        (KDTree, {"fine": "0.1"}, "fine must lie above 0 and up to 1, the length of a column, got '0.1'"),
        (KDTree, {"coarse": 0.1, "fine": 0.2}, "coarse must be at least fine, got 0.1 and 0.2"),
        (KDTree, {"tau": "lemma10"}, r"tau must lie from -10{12} to 10{12}, got 'lemma10'"),
        (KDTree, {"tau": float("inf")}, r"tau must lie from -10{12} to 10{12}, got inf"),
        (KDTree, {"tau": float("nan")}, r"tau must lie from -10{12} to 10{12}, got nan"),
        (KDTree, {"tau": True}, r"tau must lie from -10{12} to 10{12}, got True"),
        (KDTree, {"threshold": 0}, r"threshold must be a whole number from 1 to 2\*\*60, got 0"),
        (KDTree, {"split_share": 0.0}, "split_share must lie from 0.01 to 0.99, got 0.0; leave it out to choose"),
        (KDTree, {"split_share": 1}, "split_share must lie from 0.01 to 0.99, got 1; leave it out to choose"),
        (KDTree, {"split_share": float("nan")}, "split_share must lie from 0.01 to 0.99, got nan"),
        (KDTree, {"placement": "edge"}, "placement must be one of uniform, centre, got 'edge'"),
        (Microaggregation, {"variant": "exact"}, "variant must be default or paper, got 'exact'"),
        (Microaggregation, {"convex_set": "cube"}, "convex_set must be box, ball, simplex or a callable, got 'cube'"),
        (Microaggregation, {"convex_set": None}, "convex_set must be box, ball, simplex or a callable, got None"),
        (Microaggregation, {"numbers": "medians"}, "numbers must be intervals or means, got 'medians'"),
        (Microaggregation, {"intervals": 1}, "intervals must be a whole number from 2 to 256, got 1"),
        (Microaggregation, {"intervals": 257}, "intervals must be a whole number from 2 to 256, got 257"),
        (Microaggregation, {"intervals": None}, "intervals must be a whole number from 2 to 256; 16 suits most tables"),
        (Microaggregation, {"intervals": True}, "intervals must be a whole number from 2 to 256, got True"),
        (Microaggregation, {"one_way_share": 0.0}, "one_way_share must lie from 0.01 to 0.9, got 0.0"),
        (Microaggregation, {"one_way_share": 0.95}, "one_way_share must lie from 0.01 to 0.9, got 0.95"),
        (Microaggregation, {"one_way_share": float("nan")}, "one_way_share must lie from 0.01 to 0.9, got nan"),
        (Microaggregation, {"one_way_share": True}, "one_way_share must lie from 0.01 to 0.9, got True"),
        (Microaggregation, {"one_way_share": "0.2"}, "one_way_share must lie from 0.01 to 0.9, got '0.2'"),
        (Microaggregation, {"directions": -1}, "directions must be a whole number from 0 to 64, got -1"),
        (Microaggregation, {"directions": 65}, "directions must be a whole number from 0 to 64, got 65"),
        (Microaggregation, {"directions": 2.0}, r"directions must be a whole number from 0 to 64, got 2\.0"),
        (Microaggregation, {"directions": False}, "directions must be a whole number from 0 to 64, got False"),
        (Microaggregation, {"bins": 1}, "bins must be a whole number from 2 to 4096, got 1"),
        (Microaggregation, {"bins": 4097}, "bins must be a whole number from 2 to 4096, got 4097"),
        (Microaggregation, {"damping": 0}, "damping must be a whole number from 1 to 2147483648, got 0"),
        (Microaggregation, {"damping": 2**31 + 1}, "damping must be a whole number from 1 to 2147483648"),
        (Microaggregation, {"calibrate": 1}, "calibrate must be true or false, got 1"),
        (Microaggregation, {"calibrate": None}, "calibrate must be true or false, got None"),
        (Microaggregation, {"fit_moments": "yes"}, "fit_moments must be true or false, got 'yes'"),
    ],
)
def test_a_setting_outside_its_range_is_refused_in_one_sentence(kind, settings, message):
    with pytest.raises(ParameterError, match=f"^{message}") as caught:
        kind(**settings)

    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "settings", [{"workload": ("weight",)}, {"workload": (("age", "weight"),)}, {"target": "weight"}]
)
def test_a_column_that_the_schema_lacks_is_named(settings):
    with pytest.raises(SchemaError, match="workload or target names 'weight', which is no modelled column"):
        lw.plan(schema_of(FLAG, KIND, AGE), expected_rows=100, epsilon=1, mechanism=Adaptive(**settings))


@pytest.mark.parametrize(
    ("texts", "settings"),
    [
        ({"resolutions": "16,8,4"}, {"resolutions": (16, 8, 4)}),
        ({"resolutions": " 16, 8 "}, {"resolutions": (16, 8)}),
        ({"resolutions": "16"}, {"resolutions": (16,)}),
        ({"resolutions": "[16, 8]"}, {"resolutions": (16, 8)}),
        ({"workload": "age,sex"}, {"workload": ("age", "sex")}),
        ({"workload": '[["age", "sex"], "income"]'}, {"workload": (("age", "sex"), "income")}),
        ({"workload": '["with, comma"]'}, {"workload": ("with, comma",)}),
        ({"target": "7"}, {"target": "7"}),
        ({"rounds": "12", "one_way_share": "0.25"}, {"rounds": 12, "one_way_share": 0.25}),
    ],
)
def test_settings_are_read_from_texts(texts, settings):
    assert make_mechanism("adaptive", texts) == Adaptive(**settings)


@pytest.mark.parametrize(
    ("texts", "made"),
    [
        (
            {"width": "0.125", "threshold": "7", "placement": "centre"},
            Grid(width=0.125, threshold=7, placement="centre"),
        ),
        ({"variant": "paper", "placement": "uniform"}, Grid(variant="paper", placement="uniform")),
        ({"tau": "12.5", "coarse": "0.5", "fine": "0.01"}, KDTree(tau=12.5, coarse=0.5, fine=0.01)),
        ({"tau": "-3", "variant": "paper", "threshold": "4"}, KDTree(tau=-3.0, variant="paper", threshold=4)),
        ({"split_share": "0.4", "placement": "centre"}, KDTree(split_share=0.4, placement="centre")),
        ({"depth": "12", "variant": "paper", "max_nodes": "1000"}, PMM(depth=12, variant="paper", max_nodes=1000)),
        ({"cells": "400", "variant": "paper", "max_cells": "1000"}, PSMM(cells=400, variant="paper", max_cells=1000)),
        (
            {"statistics": '["f0 and f1", "f2"]', "degree": "1", "mu_share": "0.4"},
            LinearStatistics(statistics=("f0 and f1", lw.stat("f2")), degree=1, mu_share=0.4),
        ),
        (
            {"statistics": "f0 in (True, False) and max(f1, f2) > 0"},  # one statistic, with commas
            LinearStatistics(statistics=("f0 in (True, False) and max(f1, f2) > 0",)),
        ),
        ({"groups": "64"}, Independent(groups=64)),
    ],
)
def test_texts_and_the_json_form_give_the_same_settings(texts, made):
    assert make_mechanism(made.name.lower(), texts) == made
    assert make_mechanism(made.name, settings_of(made)) == made


def test_names_and_keys_that_do_not_exist_are_told_with_those_that_do():
    with pytest.raises(ParameterError, match="choose one of Adaptive, Independent, PMM"):
        make_mechanism("nonesuch", {})
    with pytest.raises(ParameterError, match="valid keys are groups"):
        make_mechanism("Independent", {"group": "3"})


@pytest.mark.parametrize(
    ("name", "texts", "message"),
    [
        ("adaptive", {"resolutions": "16,many"}, r"setting resolutions must be a list, got '16,many'"),
        ("adaptive", {"resolutions": "[16"}, "setting resolutions must be a list"),
        ("adaptive", {"resolutions": "16.5"}, "setting resolutions must be a list"),
        ("adaptive", {"resolutions": ""}, "resolutions must be 1 to 6 decreasing numbers"),
        ("adaptive", {"workload": "[[" * 100_000}, "setting workload must be a list"),
        ("adaptive", {"workload": "[1]"}, "workload must list columns"),
        ("adaptive", {"rounds": "many"}, "setting rounds must be a whole number, got 'many'; write rounds=NUMBER"),
        ("adaptive", {"one_way_share": "a third"}, "setting one_way_share must be a number"),
        ("kdtree", {"tau": "often"}, "setting tau must be a number, got 'often'; write tau=NUMBER"),
        ("kdtree", {"coarse": "wide"}, "setting coarse must be a number, got 'wide'; write coarse=NUMBER"),
        ("kdtree", {"width": "0.5"}, "KDTree has no setting 'width'; valid keys are coarse, fine, placement"),
        ("grid", {"threshold": "3.5"}, "setting threshold must be a whole number, got '3.5'; write threshold=NUMBER"),
        ("microaggregation", {"bins": "many"}, "setting bins must be a whole number, got 'many'; write bins=NUMBER"),
        ("microaggregation", {"one_way_share": "half"}, "setting one_way_share must be a number, got 'half'"),
        ("microaggregation", {"cells": "4"}, "has no setting 'cells'; valid keys are bins, calibrate, convex_set"),
        ("microaggregation", {"convex_set": "cone"}, "convex_set must be box, ball, simplex or a callable, got 'cone'"),
    ],
)
def test_a_text_that_is_no_such_setting_is_refused_by_its_key(name, texts, message):
    with pytest.raises(ParameterError, match=message):
        make_mechanism(name, texts)


def test_settings_come_back_from_their_json_form():
    settings = Adaptive(resolutions=(16, 4), workload=(("age", "kind"), "day"), target="flag", particles=1000)

    written = settings_of(settings)

    assert json.loads(json.dumps(written)) == written
    assert make_mechanism("Adaptive", written) == settings
    assert make_mechanism("Adaptive", settings_of(Adaptive())) == Adaptive()


def test_it_is_the_default_of_every_number_of_columns():
    assert default_mechanism() == Adaptive()
