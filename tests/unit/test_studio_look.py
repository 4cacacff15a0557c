"""The studio: a release is looked at, handed over, and opened by somebody who was given it."""

import hashlib
import io
import json
import re
import shutil
import subprocess
import zipfile

import polars as pl
import pytest

import lapwing as lw
from helpers import make
from helpers.studio import in_process
from helpers.studio_releases import CANARY, add_release, job_with_table
from lapwing.errors import DataError, ParameterError
from lapwing.extras.office.paper.signature import sign, signer_of
from lapwing.extras.studio.jobs import new_job
from lapwing.extras.studio.rooms.filters import TypedForm, filters, has_more, where_of
from lapwing.extras.studio.rooms.hand_over import keys_in
from lapwing.schema.conditions import Between
from lapwing.schema.schemas import Schema

AT = "/job/people/look/1"
FEW = "/job/few/look/1"
"""Of a table of few rows."""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Return a working folder with a job of two releases, the last one of columns apart."""
    folder = tmp_path_factory.mktemp("look")
    job = job_with_table(folder)
    add_release(job)
    add_release(job, epsilon=1.0, mechanism=lw.Independent())
    few = job_with_table(folder, rows=120, name="few")
    add_release(few, mechanism=lw.Independent())
    return folder


@pytest.fixture
def visitor(home):
    return in_process(home)


@pytest.fixture(scope="module")
def release(home):
    return lw.load(home / "lapwing-studio" / "people" / "release-1" / "model.lapwing")


def files(folder):
    return {each: each.stat().st_mtime_ns for each in folder.rglob("*")}


def test_the_verdict_stands_on_top_and_no_private_row_is_needed(home, visitor, release):
    (home / "people.csv").rename(home / "away.csv")
    try:
        answer = visitor.get(AT)
    finally:
        (home / "away.csv").rename(home / "people.csv")

    text = answer.words
    assert answer.status == 200
    assert text.index("How good it is") < text.index("Accuracy in figures")
    for each in release.certificate.verdict.not_for:
        assert each.text in text
    assert 'class="internal"' not in answer.text


def test_the_last_release_is_shown_and_an_earlier_one_by_its_number(visitor):
    assert "Look at release 2" in visitor.get("/job/people/look").words
    assert "Look at release 1" in visitor.get(AT).words
    assert visitor.get("/job/people/look/3").status == 404


@pytest.mark.parametrize(
    ("room", "says"), [("look", 'href="/job/empty/release"'), ("hand-over", "There is no release yet")]
)
def test_a_job_without_a_release_says_so_and_sends_to_the_room_that_makes_one(room, says, tmp_path):
    new_job(tmp_path, "empty", table=str(tmp_path / "empty.csv"))

    answer = in_process(tmp_path).get(f"/job/empty/{room}")

    assert answer.status == 200
    assert says in answer.text


def test_the_report_runs_nothing_and_is_the_one_of_the_release(visitor, release, tmp_path):
    answer = visitor.get(f"{AT}/report")

    release.to_html(tmp_path / "report.html")
    assert answer.header("content-security-policy").startswith("sandbox; default-src 'none'")
    assert answer.body == (tmp_path / "report.html").read_bytes()


def test_a_table_is_answered_with_counts_shares_and_error_bars(visitor, release):
    answer = visitor.post(f"{AT}/ask", {"column": ["1", "", ""]})

    assert answer.status == 200
    for label, count, share, lower, upper, _ in release.query("sex", 10).iter_rows():
        assert f"{label} {count:,.0f} {100 * share:.1f} % {lower:,} to {upper:,}" in answer.words
    assert answer.text.count('class="interval"') == 3  # and what is missing
    assert "style=" not in answer.text


def test_conditions_narrow_a_table_and_alone_they_give_a_number(visitor, release):
    where = {"w2": "1", "f0": "10", "u0": "39"}
    told = release.accuracy(where={"smokes": True, "age": lw.between(10, 39)})

    table = visitor.post(f"{AT}/ask", {"column": ["1"], **where})
    number = visitor.post(f"{AT}/ask", {"column": [""], **where})

    assert f"About {told.count:,.0f} rows meet these conditions." in number.words
    counts = re.findall(r"<td class=\"number\">([\d,]+)</td>", table.text)
    assert sum(int(each.replace(",", "")) for each in counts) == pytest.approx(told.count, abs=2)


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"column": "1", "f0": "ten"}, 'got "ten"'),
        ({"column": "1", "f0": "50", "u0": "20"}, "20"),
        ({"column": "1", "t3": "town 77"}, "one of its categories"),
        ({"column": "77"}, "another release"),
        ({"column": "1", "w1": "9"}, "another release"),
        ({"column": "1", "groups": "1"}, "groups must be at least 2"),
        ({"column": ""}, "nothing is asked"),
    ],
)
def test_a_question_that_means_nothing_is_refused_in_words_and_kept(visitor, form, said):
    answer = visitor.post(f"{AT}/ask", form)

    assert answer.status == 400
    assert said in answer.words
    for name, value in form.items():
        if name[0] in "fut":
            assert f'name="{name}" value="{value}"' in answer.text
    if form["column"] == "1":
        assert '<option value="1" selected>' in answer.text


def test_rows_under_conditions_are_shown_and_saved_and_nothing_is_stored(home, visitor):
    where = {"w1": "0", "f0": "20", "u0": "60"}
    before = files(home)

    shown = visitor.post(f"{AT}/rows", where)
    saved = visitor.post(f"{AT}/rows/file", {**where, "rows": "1,500", "seed": "7"})
    parquet = visitor.post(f"{AT}/rows/file", {**where, "rows": "1500", "seed": "7", "format": "parquet"})

    rows = pl.read_csv(io.BytesIO(saved.body))
    assert saved.header("content-disposition") == 'attachment; filename="synthetic-rows.csv"'
    assert rows.height == 1500
    assert rows["sex"].unique().to_list() == ["Female"]
    assert rows["age"].is_between(20, 60).all()
    assert pl.read_parquet(io.BytesIO(parquet.body))["age"].to_list() == rows["age"].to_list()
    assert shown.text.count("<td>Female</td>") == 20
    assert "of the model's rows are like this" in shown.words
    assert files(home) == before


@pytest.mark.parametrize("rows", ["", "0", "-1", "1e9", "10000000"])
def test_a_number_of_rows_that_cannot_be_is_refused(visitor, rows):
    answer = visitor.post(f"{AT}/rows/file", {"rows": rows})

    assert answer.status == 400
    assert "1,000,000" in answer.words


def test_the_real_rows_are_compared_behind_the_door_only_and_forgotten(home, visitor):
    before = files(home)
    assert visitor.get(f"{FEW}/compare").at == f"{FEW}#door"
    assert visitor.get(f"{FEW}/compare/report").status == 404
    assert visitor.get(f"{FEW}/compare/work").status == 404

    assert visitor.post(f"{FEW}/compare").at == f"{FEW}/compare"
    found = visitor.wait(f"{FEW}/compare", lambda answer: "data-watch" not in answer.text)

    assert 'class="internal"' in found.text
    assert "with 120 real ones" in found.words
    assert "The pairs that differ most" in found.words
    assert "data-done" in visitor.get(f"{FEW}/compare/work").text
    report = visitor.get(f"{FEW}/compare/report")
    assert report.header("content-security-policy").startswith("sandbox;")
    assert "do not publish" in report.text.lower()
    assert "Compared:" not in visitor.get(FEW).words

    assert visitor.post(f"{FEW}/compare/forget").at == f"{FEW}#door"
    assert visitor.get(f"{FEW}/compare").status == 303
    assert visitor.get(f"{FEW}/compare/report").status == 404
    assert files(home) == before


def test_a_comparison_that_fails_says_why_and_shows_no_value(home, visitor):
    (home / "people.csv").rename(home / "away.csv")
    try:
        visitor.post("/job/people/look/2/compare")
        found = visitor.wait("/job/people/look/2/compare", lambda answer: "data-watch" not in answer.text)
    finally:
        (home / "away.csv").rename(home / "people.csv")

    assert 'class="refusal"' in found.text
    assert CANARY not in found.text
    visitor.post("/job/people/look/2/compare/forget")


@pytest.mark.filterwarnings("ignore:only 1.0 effective")
def test_names_and_values_cannot_write_into_a_page(tmp_path):
    name, value = '<script>"x', "</td><script>alert(1)</script>"
    table = pl.DataFrame({name: [value, "b"] * 50})
    table.write_csv(tmp_path / "odd.csv")
    job = new_job(tmp_path, "odd", table=str(tmp_path / "odd.csv"))
    schema = {"fields": [{"name": name, "type": "string", "categories": [value, "b"]}]}
    lw.Schema.from_dict(schema).save(job.file("schema.json"))
    add_release(job, epsilon=2.0)
    visitor = in_process(tmp_path)

    answers = [
        visitor.get("/job/odd/look"),
        visitor.post("/job/odd/look/1/ask", {"column": "0", "w0": "0"}),
        visitor.post("/job/odd/look/1/rows", {"w0": "0"}),
        visitor.get("/job/odd/hand-over"),
    ]

    for answer in answers:
        assert answer.status == 200
        assert re.findall(r"<script[^>]*>", answer.text) == ['<script src="/assets/studio.js" defer>']
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in answers[1].text


# ---------------------------------------------------------------------------------- conditions as the fields of a form


COLUMNS = {
    "id": "id",
    "pay": make.field("pay", (0.0, 1000.0), special=[-1]),
    "day": make.field("day", ("2020-01-01", "2020-12-31"), required=True),
    "size": make.field("size", ["", "m", "l"], categoriesOrdered=True),
    "code": [1, 2, 3],
    "smokes": bool,
    "town": [f"t{place}" for place in range(50)],
}
ASKED = Schema.from_dict(make.schema(COLUMNS))
WIDE = Schema.from_dict(make.schema({f"c{place}": bool for place in range(120)}))


@pytest.mark.parametrize(
    ("form", "wanted"),
    [
        ({}, {}),
        ({"f0": " 10 ", "u0": "99.5"}, {"pay": [Between(10.0, 99.5)]}),
        ({"u0": "5", "w0": ["0", "missing"]}, {"pay": [-1, None, Between(None, 5.0)]}),
        ({"f1": "2020-02-01"}, {"day": [Between("2020-02-01", None)]}),
        ({"w2": ["0", "2"]}, {"size": ["", "l"]}),
        ({"w3": "1", "w4": "1"}, {"code": [2], "smokes": [True]}),
        ({"t5": "t3, t4"}, {"town": ["t3", "t4"]}),
        ({"t5": "  ", "f0": "", "more": "\n"}, {}),
    ],
)
def test_fields_are_conditions_and_empty_ones_are_none(form, wanted):
    pairs = [(name, each) for name, value in form.items() for each in (value if isinstance(value, list) else [value])]

    assert where_of(ASKED, TypedForm(tuple(pairs))) == wanted


def test_each_column_has_the_fields_of_its_kind():
    pay, day, size, code, smokes, town = filters(ASKED)

    assert (pay.low, pay.high, [label for _, label in pay.boxes]) == (0, 1000, ["-1", ""])
    assert (day.low, day.boxes) == ("2020-01-01", ())
    assert [value for value, _ in size.boxes] == ["0", "1", "2", "missing"]
    assert [label for _, label in (*code.boxes, *smokes.boxes)] == ["1", "2", "3", "", "false", "true", ""]
    assert town.is_text
    assert not has_more(ASKED)


@pytest.mark.parametrize("form", [{"w2": "3"}, {"w2": "-1"}, {"w2": "9" * 5000}, {"w1": "missing"}])
def test_what_no_page_of_ours_sends_is_refused(form):
    with pytest.raises(ParameterError, match="load the page again"):
        where_of(ASKED, TypedForm(tuple(form.items())))


def test_columns_of_a_wide_table_are_named_in_lines():
    assert len(filters(WIDE)) == 100
    assert has_more(WIDE)
    assert where_of(WIDE, TypedForm((("more", "c110=true\r\nc3=false\n"),))) == {"c110": True, "c3": False}
    with pytest.raises(ParameterError, match="asked for twice"):
        where_of(WIDE, TypedForm((("w3", "0"), ("more", "c3=true"))))


# ---------------------------------------- which files are handed over, whether they are whole, and what signs for them


GIVE = "/job/people/hand-over/1"
PUBLIC = {
    "rows": "people-synthetic.csv",
    "model": "model.lapwing",
    "certificate": "people-synthetic.csv.certificate.json",
    "croissant": "croissant.json",
}
NEEDS_SSH = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs OpenSSH")


@pytest.fixture(scope="module")
def made_once(tmp_path_factory):
    """Return a working folder with a job and its release."""
    folder = tmp_path_factory.mktemp("made")
    add_release(job_with_table(folder), mechanism=lw.Independent())
    return folder


@pytest.fixture
def handed(made_once, tmp_path):
    """Return a copy of it, under the same name of the job."""
    shutil.copytree(made_once, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture
def place(handed):
    return handed / "lapwing-studio" / "people" / "release-1"


@pytest.fixture
def giver(handed):
    return in_process(handed)


def make_key(file, passphrase=""):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", file], check=True)


def test_public_files_are_listed_with_their_hashes_and_given_as_they_are(giver, place):
    page = giver.get("/job/people/hand-over")

    for role, name in PUBLIC.items():
        content = (place / name).read_bytes()
        given = giver.get(f"{GIVE}/file/{role}")
        assert hashlib.sha256(content).hexdigest() in page.text
        assert given.body == content
        assert given.header("content-disposition") == f'attachment; filename="{name}"'


@pytest.mark.parametrize(
    "name", ["transcript", "job", "report", "signature", "people-synthetic.csv", "..", "%2e%2e%2fjob.json"]
)
def test_nothing_else_is_given(giver, name):
    assert giver.get(f"{GIVE}/file/{name}").status == 404


def test_what_to_keep_is_named_and_offers_no_download(giver):
    page = giver.get(GIVE)

    own = page.text[page.text.index('id="own"') : page.text.index('id="certificate"')]
    assert "transcript.jsonl" in own
    assert "<a" not in own


def test_a_link_to_a_file_elsewhere_is_not_followed(giver, place, handed):
    (handed / "secret.html").write_text("secret")
    (place / "report.html").symlink_to(handed / "secret.html")

    assert giver.get(f"{GIVE}/file/report").status in (400, 404)
    assert b"secret" not in giver.get(f"{GIVE}/all.zip").body


def test_whole_files_pass_the_check_and_changed_ones_are_not_handed_over(giver, place):
    assert "The files are those that were written with the certificate." in giver.post(f"{GIVE}/check").words

    with (place / "people-synthetic.csv").open("a") as file:
        file.write("9,Male,false,town 1\n")

    checked, zipped = giver.post(f"{GIVE}/check"), giver.get(f"{GIVE}/all.zip")
    for answer in (checked, zipped):
        assert "people-synthetic.csv: it is not the file that was written with the certificate" in answer.words
        assert str(place) not in answer.text.replace(f"<code>{place.parent}</code>", "")
    assert zipped.header("content-type").startswith("text/html")
    (place / "people-synthetic.csv").unlink()
    assert "people-synthetic.csv: the certificate names it, and it was not given" in giver.post(f"{GIVE}/check").words


def test_the_zip_holds_the_public_files_and_leaves_none_behind(giver, place):
    before = set(place.rglob("*"))

    answer = giver.get(f"{GIVE}/all.zip")

    with zipfile.ZipFile(io.BytesIO(answer.body)) as found:
        assert {each.removeprefix("people-release-1/") for each in found.namelist()} == set(PUBLIC.values())
        for name in PUBLIC.values():
            assert found.read(f"people-release-1/{name}") == (place / name).read_bytes()
    assert set(place.rglob("*")) == before


def test_the_report_is_made_beside_the_rows_and_then_given(giver, place, tmp_path):
    assert giver.post(f"{GIVE}/report").at == GIVE

    lw.load(place / "model.lapwing").to_html(tmp_path / "wanted.html")
    assert giver.get(f"{GIVE}/file/report").status == 200
    assert 'action="/job/people/hand-over/1/report"' not in giver.get(GIVE).text
    assert (place / "report.html").read_bytes() == (tmp_path / "wanted.html").read_bytes()


def test_licence_and_author_are_written_into_the_description_and_nothing_else_changes(giver, place):
    others = {name: (place / name).read_bytes() for role, name in PUBLIC.items() if role != "croissant"}
    before = json.loads((place / "croissant.json").read_text())
    form = {"license": "CC0-1.0", "creator": "An office", "url": "https://example.org/people"}

    assert giver.post(f"{GIVE}/describe", form).at == f"{GIVE}#public"

    after = json.loads(giver.get(f"{GIVE}/file/croissant").body)
    assert {key: after[key] for key in ("license", "url")} == {key: form[key] for key in ("license", "url")}
    assert after["creator"]["name"] == "An office"
    assert after["distribution"] == before["distribution"]
    assert {name: (place / name).read_bytes() for name in others} == others
    assert 'value="An office"' in giver.get(GIVE).text
    refused = giver.post(f"{GIVE}/describe", {**form, "url": "javascript:alert(1)"})
    assert refused.status == 400
    assert 'value="javascript:alert(1)"' in refused.text
    assert json.loads((place / "croissant.json").read_text()) == after


def test_a_page_to_sign_is_given_to_be_saved(giver, place):
    answer = giver.get(f"{GIVE}/page.html")

    assert hashlib.sha256((place / PUBLIC["certificate"]).read_bytes()).hexdigest() in answer.text
    assert answer.header("content-disposition") == 'attachment; filename="certificate.html"'


@NEEDS_SSH
def test_a_key_of_the_folder_signs_and_the_signature_holds(giver, handed, place):
    make_key(handed / "id_ed25519")

    assert "<option>id_ed25519</option>" in giver.get(GIVE).text
    assert giver.post(f"{GIVE}/sign", {"signer": "id_ed25519"}).at == GIVE

    content, signature = (place / PUBLIC["certificate"]).read_bytes(), place / f"{PUBLIC['certificate']}.sig"
    assert signer_of(content, signature, handed / "id_ed25519.pub")
    with pytest.raises(DataError):
        signer_of(content + b" ", signature, handed / "id_ed25519.pub")
    assert giver.get(f"{GIVE}/file/signature").body == signature.read_bytes()


@NEEDS_SSH
def test_keys_with_a_passphrase_or_elsewhere_sign_nothing(giver, handed, place):
    make_key(handed / "id_ed25519", "a passphrase")
    make_key(handed / "lapwing-studio" / "id_ed25519")
    (handed / "fake.key").write_text("-----BEGIN OPENSSH PRIVATE KEY-----\nnone\n-----END OPENSSH PRIVATE KEY-----\n")

    assert keys_in(handed) == []
    for name in ("id_ed25519", "lapwing-studio/id_ed25519", "../x", "fake.key", ""):
        assert giver.post(f"{GIVE}/sign", {"signer": name}).status == 400
    assert not list(place.glob("*.sig"))


def test_a_certificate_that_is_none_is_refused_in_one_sentence(giver, place):
    (place / "people-synthetic.csv.certificate.json").write_text("{}")

    answer = giver.get(GIVE)

    assert answer.status == 400
    assert "it is no certificate" in answer.words


# ------------------------------------------------------------------------------- what was handed over, without a table


NAMES = ("model.lapwing", "people-synthetic.csv", "people-synthetic.csv.certificate.json")


@pytest.fixture
def given(made_once, tmp_path):
    """Return a folder with what was handed over, and nothing else."""
    for name in NAMES:
        shutil.copy(made_once / "lapwing-studio" / "people" / "release-1" / name, tmp_path / name)
    return tmp_path


@pytest.fixture
def taker(given):
    return in_process(given)


def addresses(taker):
    return re.findall(r'href="(/model/[^"]+)"', taker.get("/").text)


@pytest.fixture
def at(taker):
    (found,) = addresses(taker)
    return found


def test_a_model_is_opened_and_asked_without_any_table(taker, at, given):
    release = lw.load(given / "model.lapwing")
    before = set(given.rglob("*"))

    page, asked = taker.get(at), taker.post(f"{at}/ask", {"column": "1"})
    rows, report = taker.post(f"{at}/rows/file", {"rows": "10"}), taker.get(f"{at}/report")

    assert "How good it is" in page.words
    assert "What the certificate says" in page.words
    assert "door" not in page.text
    for label, count, *_ in release.query("sex").iter_rows():
        assert f"{label} {count:,.0f}" in asked.words
    assert len(rows.body.splitlines()) == 11
    assert report.header("content-security-policy").startswith("sandbox;")
    assert set(given.rglob("*")) == before


def test_its_address_stays_when_other_models_come(taker, at, given):
    shutil.copy(given / "model.lapwing", given / "a model.lapwing")

    assert addresses(taker) == [each for each in addresses(taker) if taker.get(each).status == 200]
    assert len(set(addresses(taker))) == 2
    assert "<h1>model.lapwing</h1>" in taker.get(at).text


def test_a_model_that_was_replaced_is_read_again(taker, at, given, made_once):
    assert "2 columns" not in taker.get(at).words
    schema = {"fields": [{"name": "a", "type": "boolean"}, {"name": "b", "type": "boolean"}]}
    (given / "t.csv").write_text("a,b\n" + "true,false\n" * 50)

    lw.synthesize(given / "t.csv", schema, epsilon=1, mechanism=lw.Independent()).save(given / "model.lapwing")

    assert "2 columns" in taker.get(at).words


def test_files_beside_it_are_checked(taker, at, given):
    assert "All 2 files that people-synthetic.csv.certificate.json names are here" in taker.post(f"{at}/check").words

    (given / "people-synthetic.csv").write_text("other rows")

    found = taker.post(f"{at}/check").words
    assert "Not all is as people-synthetic.csv.certificate.json says" in found
    assert "people-synthetic.csv: it is not the file that was written with the certificate" in found
    assert str(given) not in found


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs OpenSSH")
def test_it_tells_who_signed_and_refuses_another_key(taker, at, given):
    for name in ("ada", "eve"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", given.parent / name], check=True)
        shutil.move(given.parent / f"{name}.pub", given / f"{name}.pub")
    certificate = given / NAMES[-1]
    (given / f"{NAMES[-1]}.sig").write_text(sign(certificate.read_bytes(), given.parent / "ada"))

    assert "The certificate is signed with ada.pub." in taker.post(f"{at}/check", {"signer": "ada.pub"}).words
    for key in ("eve.pub", "../ada", "nobody.pub"):
        answer = taker.post(f"{at}/check", {"signer": key}).words
        assert "Not all is as people-synthetic.csv.certificate.json says" in answer
        assert "is signed with" not in answer


def test_a_certificate_cannot_make_the_studio_read_other_files(taker, at, given):
    (given.parent / "outside").write_text("x")
    file = given / "people-synthetic.csv.certificate.json"
    values = json.loads(file.read_text())
    values["issued"]["files"][0]["name"] = "../outside"
    file.write_text(json.dumps(values))

    found = taker.post(f"{at}/check").words

    assert "../outside: the certificate names it, and it was not given" in found


def test_without_a_certificate_it_says_what_to_ask_for(taker, at, given):
    (given / "people-synthetic.csv.certificate.json").write_text("no certificate")

    assert "No certificate in this folder names this model" in taker.get(at).words


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 nonsense", b"<script>alert(1)</script>"])
def test_a_broken_model_is_one_sentence(taker, at, given, content):
    (given / "model.lapwing").write_bytes(content)

    for answer in (taker.get(at), taker.post(f"{at}/ask", {"column": "0"}), taker.get(f"{at}/report")):
        assert answer.status == 400
        assert re.findall('role="alert">([^<]+)<', answer.text)
        assert "not a Lapwing model file" in answer.words


def test_other_addresses_and_links_that_lead_away_are_no_models(taker, at, given):
    (given / "lapwing-studio").mkdir(exist_ok=True)
    shutil.move(given / "model.lapwing", given / "lapwing-studio" / "model.lapwing")
    (given / "model.lapwing").symlink_to(given / "lapwing-studio" / "model.lapwing")

    assert taker.get(at).status == 404
    for other in ("/model/0", "/model/model", "/model/model.lapwing"):
        assert taker.get(other).status == 404
