"""`Synthesizer` as scikit-learn uses estimators: settings, clones, pipelines, X and y."""

import copy
import inspect
import pickle

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

import lapwing as lw
from lapwing.errors import DataError, ParameterError

SCHEMA = lw.Schema.load(
    {
        "fields": [
            {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99, "required": True}},
            {"name": "smokes", "type": "boolean", "constraints": {"required": True}},
        ]
    }
)
AGES, SMOKES = [20, 40, 60] * 40, [True, False, False] * 40


def made(**settings):
    return lw.Synthesizer(SCHEMA, **{"epsilon": 1e5, "mechanism": "Independent", "seed": 1, **settings})


def test_settings_are_those_of_synthesize_under_the_same_names():
    own = inspect.signature(lw.Synthesizer).parameters
    theirs = inspect.signature(lw.synthesize).parameters

    # A Synthesizer is of one table, and shares are of linked ones; it takes a schema, and learns none.
    assert list(own) == [name for name in theirs if name not in {"data", "shares"}]
    assert all(own[name].default == theirs[name].default for name in own if name != "schema")
    assert made().get_params() == {
        **{name: each.default for name, each in own.items()},
        **{"schema": SCHEMA, "epsilon": 1e5, "mechanism": "Independent", "seed": 1},
    }


def test_set_params_changes_all_or_nothing():
    synth = made()

    assert synth.set_params(epsilon=3, seed=None) is synth
    with pytest.raises(ParameterError, match="there is no setting 'epsilom'"):
        synth.set_params(rho=1, epsilom=2)

    assert (synth.epsilon, synth.seed, synth.rho) == (3, None, None)


def test_a_repr_shows_what_was_changed_and_of_tables_their_type():
    assert repr(made()) == "Synthesizer(Schema(...), epsilon=100000.0, mechanism='Independent', seed=1)"
    assert repr(lw.Synthesizer("s.json", rho=1)) == "Synthesizer('s.json', rho=1)"
    private = pd.DataFrame({"age": [41.125]})
    assert repr(lw.Synthesizer(private, public_tables=private)) == (
        "Synthesizer(DataFrame(...), public_tables=DataFrame(...))"
    )
    assert repr(pickle.loads(pickle.dumps(made()))) == repr(made())


def test_a_clone_is_unfitted_and_makes_the_same_release():
    synth = made().fit(pl.DataFrame({"age": AGES, "smokes": SMOKES}))

    again = clone(synth)

    check_is_fitted(synth)
    with pytest.raises(NotFittedError):
        check_is_fitted(again)
    assert again.get_params() == synth.get_params()
    assert copy.deepcopy(synth).sample(5).equals(synth.sample(5))


def test_a_synthesizer_ends_a_pipeline():
    pipe = make_pipeline("passthrough", made())

    pipe.fit(pd.DataFrame({"age": AGES}), pd.Series(SMOKES, name="smokes"))

    assert list(pipe[-1].sample(5).columns) == ["age", "smokes"]
    assert pipe.set_params(synthesizer__epsilon=2)[-1].epsilon == 2


@pytest.mark.parametrize("library", [pd, pl])
def test_y_is_a_column_of_its_name_by_position(library):
    X, y = library.DataFrame({"age": AGES}), library.DataFrame({"smokes": SMOKES})["smokes"]
    if library is pd:
        y.index = y.index[::-1] + 7

    found = made().fit(X, y).release_
    whole = made().fit(library.DataFrame({"age": AGES, "smokes": SMOKES})).release_

    counts = [each.noisy[-1].tables[0].counts.sum() for each in (found, whole)]
    assert list(found.sample(9).columns) == ["age", "smokes"]
    assert abs(counts[0] - counts[1]) < 5  # noise of epsilon 1e5; the relation of age and y is not asked
    assert list(X.columns) == ["age"]


NAMED = pd.Series(SMOKES, name="smokes")


@pytest.mark.parametrize(
    ("X", "y", "said"),
    [
        (pd.DataFrame({"age": AGES}), pd.Series(SMOKES), "y must be a named pandas or Polars series"),
        (pd.DataFrame({"age": AGES}), SMOKES, "y must be a named"),
        (pd.DataFrame({"age": AGES}), pd.DataFrame({"name": SMOKES}), "y must be a named"),
        (pa.table({"age": AGES}), pa.chunked_array([SMOKES]), "y must be a named"),
        (pl.DataFrame({"age": AGES}), NAMED, "a frame in memory of the same library"),
        (pl.LazyFrame({"age": AGES}), pl.Series("smokes", SMOKES), "a frame in memory"),
        ("rows.csv", NAMED, "a frame in memory"),
        (pd.DataFrame({"age": AGES, "smokes": SMOKES}), NAMED, "X has a column of y's name already"),
        (pd.DataFrame({"age": AGES[:7]}), NAMED, "X and y have different numbers of rows"),
    ],
)
def test_an_x_and_y_that_make_no_table_are_refused_before_anything_is_spent(X, y, said):
    synth = made()

    with pytest.raises((ParameterError, DataError), match=said) as caught:
        synth.fit(X, y)

    assert not any(text in str(caught.value) for text in ("7", "120", "40"))
    assert not hasattr(synth, "release_")
