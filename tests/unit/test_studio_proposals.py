"""The studio begins with what `lapwing start` proposes, by the same functions."""

from helpers.studio import in_process
from lapwing.schema.schemas import Schema


def test_columns_that_hold_nothing_are_left_out_and_can_be_put_back(tmp_path):
    place = tmp_path / "lapwing-studio" / "t" / "schema.json"
    (tmp_path / "t.csv").write_text("\n".join(["flag,none,n", *(f"{row % 2},,{row % 40}" for row in range(200))]))
    visitor = in_process(tmp_path)
    visitor.post("/open", {"table": "t.csv"})
    visitor.work("/job/t/schema/draft")
    page = visitor.get("/job/t/schema").text
    proposed = Schema.load_draft(place)
    visitor.post("/job/t/schema/back", {"column": "1"})

    assert proposed.names == ("flag", "n")
    assert (proposed["flag"].categories, proposed["flag"].provenance) == ((0, 1), "drafted")
    assert "none" in page
    assert Schema.load_draft(place).names == ("flag", "none", "n")


def test_a_column_whose_name_says_that_it_names_people_is_the_unit_that_is_proposed(tmp_path):
    lines = [f"{100 + row // 3},{row % 40}" for row in range(200)]
    (tmp_path / "t.csv").write_text("\n".join(["patient_id,n", *lines]))
    visitor = in_process(tmp_path)
    visitor.post("/open", {"table": "t.csv"})
    visitor.work("/job/t/schema/draft")

    proposed = Schema.load_draft(tmp_path / "lapwing-studio" / "t" / "schema.json")

    assert proposed.unit_label == "patient_id:5"
    assert proposed["patient_id"].identifier
