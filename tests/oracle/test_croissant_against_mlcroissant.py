"""Croissant that mlcroissant writes, and what it says of the files that Lapwing writes, in an environment of its own.

python3.11 -m venv /tmp/mlcroissant
/tmp/mlcroissant/bin/python -m pip install --require-hashes -r requirements/oracle-mlcroissant.txt
PYTHONPATH=src /tmp/mlcroissant/bin/python -m pytest tests/oracle/test_croissant_against_mlcroissant.py
"""

import dataclasses
import json
from fractions import Fraction
from pathlib import Path

import pytest

mlc = pytest.importorskip("mlcroissant", reason="needs requirements/oracle-mlcroissant.txt")
np = pytest.importorskip("numpy")
pd = pytest.importorskip("pandas")

from lapwing.extras.connect.croissant.written import Beside, croissant_text  # noqa: E402
from lapwing.extras.connect.metadata.reading import read_foreign  # noqa: E402
from lapwing.kernel.budget.budget import Budget  # noqa: E402
from lapwing.kernel.questions.marginal_counts.question import MarginalCounts, NoisyCounts  # noqa: E402
from lapwing.kernel.terms import Terms  # noqa: E402
from lapwing.model.certificate.certificate import Certificate, CostLine  # noqa: E402
from lapwing.model.certificate.cost_lines import RequestedBudget  # noqa: E402
from lapwing.schema.groupings.grouping import identity  # noqa: E402
from lapwing.schema.schemas import Schema  # noqa: E402

FIXTURE = Path(__file__).resolve().parents[1] / "data" / "foreign" / "croissant" / "people.json"

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

SCHEMA = Schema.from_dict(
    {
        "name": "people",
        "fields": [
            {"name": "id", "type": "integer", "role": "identifier"},
            {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 120}, "special": [-1]},
            {"name": "net income/year", "type": "number", "constraints": {"minimum": 0, "maximum": 1e6}},
            {"name": "city", "type": "string", "categories": ["Aix", "Brno", "Côte"]},
            {"name": "grade", "type": "string", "categories": [1, 2, 3], "categoriesOrdered": True},
            {"name": "smokes", "type": "boolean", "constraints": {"required": True}},
            {"name": "born", "type": "date", "constraints": {"minimum": "1900-01-01", "maximum": "2030-12-31"}},
            {"name": "seen", "type": "datetime", "constraints": {"minimum": "2000-01-01", "maximum": "2030-12-31"}},
        ],
    }
)
COST = Budget.pure(1)
TERMS = Terms(relation="add-remove", max_rows=1)
SMOKES = identity(SCHEMA.field("smokes").domain)
ASKED = MarginalCounts(columns=("smokes",), groupings=(SMOKES,), cost=COST)
ANSWER = NoisyCounts(ASKED, np.zeros(ASKED.shape, dtype=np.int64), ASKED.noise("add-remove", 1))
CERTIFICATE = Certificate(
    lapwing="0.1.0",
    mechanism="Test",
    settings={},
    lines=tuple(CostLine.of(ANSWER, TERMS)),
    total=COST,
    requested=RequestedBudget(epsilon=Fraction(1)),
    relation="add-remove",
    privacy_unit="row",
    max_rows=1,
    assumed_fields=("age",),
    dp_fields=(),
    public_rows=None,
    expected_rows=None,
    released_rows=2,
    written_rows=2,
)
ROWS = pd.DataFrame(
    {
        "id": [1, 2],
        "age": pd.array([30, None], dtype="Int64"),
        "net income/year": [10.5, None],
        "city": ["Côte", None],
        "grade": pd.array([3, None], dtype="Int64"),
        "smokes": [True, False],
        "born": ["1980-02-03", None],
        "seen": ["2001-02-03T04:05:06", None],
    }
)


def field(name, kind, **more):
    source = mlc.Source(file_object="people.csv", extract=mlc.Extract(column=name))
    return mlc.Field(id=f"people/{name}", name=name, data_types=[kind], source=source, **more)


def people():
    fields = [
        field("id", mlc.DataType.INTEGER),
        field("age", mlc.DataType.INTEGER),
        field("height", mlc.DataType.FLOAT),
        field("born", mlc.DataType.DATE),
        field("smokes", mlc.DataType.BOOL),
        field("city", mlc.DataType.TEXT, references=mlc.Source(field="cities/name")),
        field("note", mlc.DataType.TEXT),
    ]
    cities = mlc.RecordSet(
        id="cities",
        name="cities",
        data_types=["https://schema.org/Enumeration"],
        key="cities/name",
        fields=[mlc.Field(id="cities/name", name="name", data_types=[mlc.DataType.TEXT])],
        data=[{"cities/name": name} for name in ("Aix", "Brno", "Cork")],
    )
    file = mlc.FileObject(
        id="people.csv", name="people.csv", content_url="people.csv", encoding_formats=["text/csv"], sha256="0" * 64
    )
    return mlc.Metadata(
        name="people",
        description="People.",
        conforms_to="http://mlcommons.org/croissant/1.0",
        url="https://example.org",
        license="CC0-1.0",
        distribution=[file],
        record_sets=[cities, mlc.RecordSet(id="people", name="people", fields=fields, key="people/id")],
    )


def written(folder, name="rows.csv"):
    path = folder / name
    ROWS.to_csv(path, index=False) if name.endswith(".csv") else ROWS.to_parquet(path, index=False)
    certificate = folder / "certificate.json"
    certificate.write_text(CERTIFICATE.to_json())
    target = folder / "croissant.json"
    target.write_text(
        croissant_text(SCHEMA, CERTIFICATE, target, rows=Beside.read(path), certified=Beside.read(certificate))
    )
    return target


def test_the_file_that_the_tests_read_is_what_mlcroissant_writes_today():
    assert json.loads(json.dumps(people().to_json(), default=str)) == json.loads(FIXTURE.read_text())


def test_mlcroissant_finds_no_error_in_what_lapwing_writes(tmp_path):
    issues = mlc.Dataset(jsonld=str(written(tmp_path))).metadata.ctx.issues

    assert not issues.errors
    # What it recommends beside, Lapwing cannot know.
    assert all("is recommended, but does not exist" in warning for warning in issues.warnings)


@pytest.mark.parametrize("name", ["rows.csv", "the rows.parquet"])
def test_mlcroissant_loads_the_rows_by_it_and_checks_their_hash(tmp_path, name):
    target = written(tmp_path, name)

    [first, second] = list(mlc.Dataset(jsonld=str(target)).records("rows"))

    assert (first["rows/age"], first["rows/net-income-year"], first["rows/smokes"]) == (30, 10.5, True)
    assert first["rows/city"] == "Côte".encode()
    assert (second["rows/age"], second["rows/city"], second["rows/born"]) == (None, None, None)


def test_rows_that_were_changed_are_refused(tmp_path):
    target = written(tmp_path)
    path = tmp_path / "rows.csv"
    path.write_text(path.read_text().replace("30", "31"))

    with pytest.raises(Exception, match=r"Download\(rows-file\)"):
        list(mlc.Dataset(jsonld=str(target)).records("rows"))


def test_a_file_that_passed_through_mlcroissant_is_still_read_the_same(tmp_path):
    target = written(tmp_path)
    again = tmp_path / "again.json"
    again.write_text(json.dumps(mlc.Dataset(jsonld=str(target)).metadata.to_json(), default=str))

    fields = [read_foreign(path, table="rows").schema.fields for path in (target, again)]

    # It drops a minimum of 0, as it drops everything that Python takes for false.
    assert [dataclasses.replace(each, minimum=None) for each in fields[0]] == [
        dataclasses.replace(each, minimum=None) for each in fields[1]
    ]
