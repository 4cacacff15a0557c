"""What a foreign file leaves open, and no blank shows, is a question of the schema until its owner answers it."""

import json

import pytest

import lapwing as lw
from helpers.command import lapwing
from helpers.foreign_files import FOREIGN
from lapwing.errors import LapwingWarning, SchemaError
from lapwing.extras.connect.metadata.reading import read_foreign
from lapwing.schema.schemas import Schema

AGE = {"type": "int", "lower": 0, "upper": 120}
ID = {"type": "int", "private_id": True}
UNIT = "whose rows are protected together: "


def sdv(columns, **table):
    return {"METADATA_SPEC_VERSION": "SINGLE_TABLE_V1", "columns": columns, **table}


def smartnoise(columns):
    return {"Database": {"s": {"people": columns}}}


def croissant(unit, *names):
    fields = [{"@id": f"rows/{name}", "dataType": "sc:Boolean"} for name in ("paid", *names)]
    return {"recordSet": {"@id": "rows", "field": fields}, "differentialPrivacy": {"privacy_unit": unit}}


OPEN = {
    "sdv sequence": (sdv({"p": {"sdtype": "id"}, "paid": {"sdtype": "boolean"}}, sequence_key="p"), UNIT),
    "sdv ranges": (
        sdv({"age": {"sdtype": "numerical", "decimal_places": 0, "range_min": 17, "range_max": 90}}),
        "whether the ranges and lists in the file are public: ",
    ),
    "sdv number": (sdv({"age": {"sdtype": "numerical"}}), 'field "age": whether the numbers are whole: choose '),
    "sdv unknown": (
        sdv({"odd": {"sdtype": "unknown"}, "paid": {"sdtype": "boolean"}}),
        'field "odd": its type, which the file calls unknown: ',
    ),
    "smartnoise no id": (smartnoise({"age": AGE}), UNIT),
    "smartnoise ids": (smartnoise({"age": AGE, "p": ID, "q": ID}), UNIT),
    "croissant dropped": (croissant("person:5"), UNIT),
    "croissant many rows": (croissant("person:9999999999", "person"), UNIT),
    "croissant no rows": (croissant("person:0", "person"), UNIT),
    "croissant odd": (croissant({"field": "person"}, "person"), UNIT),
}


@pytest.mark.parametrize("name", list(OPEN))
def test_what_no_blank_shows_is_a_question_of_the_schema(name):
    value, begins = OPEN[name]
    found = read_foreign(value)

    assert found.schema.questions[0].startswith(begins)
    assert len(found.schema.questions) == 1
    assert found.schema.is_draft
    assert Schema.load_draft(json.loads(json.dumps(found.schema.to_dict()))) == found.schema


@pytest.mark.parametrize("name", list(OPEN))
def test_nothing_is_released_or_learned_before_the_questions_are_answered(name, tmp_path):
    with pytest.warns(LapwingWarning, match="1 open question in its .questions"):
        schema = lw.Schema.from_foreign(OPEN[name][0])
    (tmp_path / "t.csv").write_text("p,age,paid,person,q,odd\n" + "1,30,true,1,1,a\n" * 20)

    with pytest.raises(SchemaError, match=r"question|draft"):
        lw.synthesize(tmp_path / "t.csv", schema, epsilon=1.0)
    with pytest.raises(SchemaError, match="question"):
        lw.Schema.learn(tmp_path / "t.csv", schema, epsilon=1.0)


def test_the_command_says_where_the_questions_are_and_what_to_do_with_them(tmp_path):
    metadata, output = tmp_path / "m.json", tmp_path / "s.json"
    metadata.write_text(json.dumps(smartnoise({"age": AGE})))

    said = lapwing("schema", "convert", metadata, "-o", output)

    assert '1 question stands in "questions" of the file: remove each once it is answered' in said.out
    assert json.loads(output.read_text())["questions"] == list(read_foreign(metadata).schema.questions)
    output.unlink()
    assert "questions" not in lapwing("schema", "convert", FOREIGN / "mbi-adult-domain.json", "-o", output).out
