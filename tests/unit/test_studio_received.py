"""A saved release in the studio of somebody who was given it: looked at without a table, and checked."""

import json
import re
import shutil
import subprocess
from html import unescape

import pytest

import lapwing as lw
from helpers.studio import in_process
from helpers.studio_releases import add_release, job_with_table
from lapwing.extras.office.paper.signature import sign

NAMES = ("model.lapwing", "people-synthetic.csv", "people-synthetic.csv.certificate.json")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return the folder of a release."""
    return add_release(job_with_table(tmp_path_factory.mktemp("made")), mechanism=lw.Independent())


@pytest.fixture
def home(made, tmp_path):
    """Return a folder with what was handed over, and nothing else."""
    for name in NAMES:
        shutil.copy(made / name, tmp_path / name)
    return tmp_path


@pytest.fixture
def visitor(home):
    return in_process(home)


def words(answer):
    """Return the text of a page."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", answer.text)).split())


def addresses(visitor):
    return re.findall(r'href="(/model/[^"]+)"', visitor.get("/").text)


@pytest.fixture
def at(visitor):
    (found,) = addresses(visitor)
    return found


def test_a_model_is_opened_and_asked_without_any_table(visitor, at, home):
    release = lw.load(home / "model.lapwing")
    before = set(home.rglob("*"))

    page, asked = visitor.get(at), visitor.post(f"{at}/ask", {"column": "1"})
    rows, report = visitor.post(f"{at}/rows/file", {"rows": "10"}), visitor.get(f"{at}/report")

    assert "How good it is" in words(page)
    assert "What the certificate says" in words(page)
    assert "door" not in page.text
    for label, count, *_ in release.query("sex").iter_rows():
        assert f"{label} {count:,.0f}" in words(asked)
    assert len(rows.body.splitlines()) == 11
    assert report.header("content-security-policy").startswith("sandbox;")
    assert set(home.rglob("*")) == before


def test_its_address_stays_when_other_models_come(visitor, at, home):
    shutil.copy(home / "model.lapwing", home / "a model.lapwing")

    assert addresses(visitor) == [each for each in addresses(visitor) if visitor.get(each).status == 200]
    assert len(set(addresses(visitor))) == 2
    assert "<h1>model.lapwing</h1>" in visitor.get(at).text


def test_a_model_that_was_replaced_is_read_again(visitor, at, home, made):
    assert "2 columns" not in words(visitor.get(at))
    schema = {"fields": [{"name": "a", "type": "boolean"}, {"name": "b", "type": "boolean"}]}
    (home / "t.csv").write_text("a,b\n" + "true,false\n" * 50)

    lw.synthesize(home / "t.csv", schema, epsilon=1, mechanism=lw.Independent()).save(home / "model.lapwing")

    assert "2 columns" in words(visitor.get(at))


def test_files_beside_it_are_checked(visitor, at, home):
    assert "All 2 files that people-synthetic.csv.certificate.json names are here" in words(visitor.post(f"{at}/check"))

    (home / "people-synthetic.csv").write_text("other rows")

    found = words(visitor.post(f"{at}/check"))
    assert "Not all is as people-synthetic.csv.certificate.json says" in found
    assert "people-synthetic.csv: it is not the file that was written with the certificate" in found
    assert str(home) not in found


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs OpenSSH")
def test_it_tells_who_signed_and_refuses_another_key(visitor, at, home):
    for name in ("ada", "eve"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", home.parent / name], check=True)
        shutil.move(home.parent / f"{name}.pub", home / f"{name}.pub")
    certificate = home / NAMES[-1]
    (home / f"{NAMES[-1]}.sig").write_text(sign(certificate.read_bytes(), home.parent / "ada"))

    assert "The certificate is signed with ada.pub." in words(visitor.post(f"{at}/check", {"signer": "ada.pub"}))
    for key in ("eve.pub", "../ada", "nobody.pub"):
        answer = words(visitor.post(f"{at}/check", {"signer": key}))
        assert "Not all is as people-synthetic.csv.certificate.json says" in answer
        assert "is signed with" not in answer


def test_a_certificate_cannot_make_the_studio_read_other_files(visitor, at, home):
    (home.parent / "outside").write_text("x")
    file = home / "people-synthetic.csv.certificate.json"
    values = json.loads(file.read_text())
    values["issued"]["files"][0]["name"] = "../outside"
    file.write_text(json.dumps(values))

    found = words(visitor.post(f"{at}/check"))

    assert "../outside: the certificate names it, and it was not given" in found


def test_without_a_certificate_it_says_what_to_ask_for(visitor, at, home):
    (home / "people-synthetic.csv.certificate.json").write_text("no certificate")

    assert "No certificate in this folder names this model" in words(visitor.get(at))


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 nonsense", b"<script>alert(1)</script>"])
def test_a_broken_model_is_one_sentence(visitor, at, home, content):
    (home / "model.lapwing").write_bytes(content)

    for answer in (visitor.get(at), visitor.post(f"{at}/ask", {"column": "0"}), visitor.get(f"{at}/report")):
        assert answer.status == 400
        assert re.findall('role="alert">([^<]+)<', answer.text)
        assert "not a Lapwing model file" in words(answer)


def test_other_addresses_and_links_that_lead_away_are_no_models(visitor, at, home):
    (home / "lapwing-studio").mkdir(exist_ok=True)
    shutil.move(home / "model.lapwing", home / "lapwing-studio" / "model.lapwing")
    (home / "model.lapwing").symlink_to(home / "lapwing-studio" / "model.lapwing")

    assert visitor.get(at).status == 404
    for other in ("/model/0", "/model/model", "/model/model.lapwing"):
        assert visitor.get(other).status == 404
