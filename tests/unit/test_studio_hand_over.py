"""The studio's room where a release is handed over: which files, whether they are whole, and what signs for them."""

import hashlib
import io
import json
import re
import shutil
import subprocess
import zipfile
from html import unescape

import pytest

import lapwing as lw
from helpers.studio import in_process
from helpers.studio_releases import add_release, job_with_table
from lapwing.errors import DataError
from lapwing.extras.office.paper.signature import signer_of
from lapwing.extras.studio.jobs import new_job
from lapwing.extras.studio.rooms.hand_over import keys_in

AT = "/job/people/hand-over/1"
PUBLIC = {
    "rows": "people-synthetic.csv",
    "model": "model.lapwing",
    "certificate": "people-synthetic.csv.certificate.json",
    "croissant": "croissant.json",
}
NEEDS_SSH = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs OpenSSH")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a working folder with a job and its release."""
    folder = tmp_path_factory.mktemp("made")
    add_release(job_with_table(folder), mechanism=lw.Independent())
    return folder


@pytest.fixture
def home(made, tmp_path):
    """Return a copy of it, under the same name of the job."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture
def place(home):
    return home / "lapwing-studio" / "people" / "release-1"


@pytest.fixture
def visitor(home):
    return in_process(home)


def words(answer):
    """Return the text of a page."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", answer.text)).split())


def make_key(file, passphrase=""):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", file], check=True)


def test_public_files_are_listed_with_their_hashes_and_given_as_they_are(visitor, place):
    page = visitor.get("/job/people/hand-over")

    for role, name in PUBLIC.items():
        content = (place / name).read_bytes()
        given = visitor.get(f"{AT}/file/{role}")
        assert hashlib.sha256(content).hexdigest() in page.text
        assert given.body == content
        assert given.header("content-disposition") == f'attachment; filename="{name}"'


@pytest.mark.parametrize(
    "name", ["transcript", "job", "report", "signature", "people-synthetic.csv", "..", "%2e%2e%2fjob.json"]
)
def test_nothing_else_is_given(visitor, name):
    assert visitor.get(f"{AT}/file/{name}").status == 404


def test_what_to_keep_is_named_and_offers_no_download(visitor):
    page = visitor.get(AT)

    own = page.text[page.text.index('id="own"') : page.text.index('id="certificate"')]
    assert "transcript.jsonl" in own
    assert "<a" not in own


def test_a_link_to_a_file_elsewhere_is_not_followed(visitor, place, home):
    (home / "secret.html").write_text("secret")
    (place / "report.html").symlink_to(home / "secret.html")

    assert visitor.get(f"{AT}/file/report").status in (400, 404)
    assert b"secret" not in visitor.get(f"{AT}/all.zip").body


def test_whole_files_pass_the_check_and_changed_ones_are_not_handed_over(visitor, place):
    assert "The files are those that were written with the certificate." in words(visitor.post(f"{AT}/check"))

    with (place / "people-synthetic.csv").open("a") as file:
        file.write("9,Male,false,town 1\n")

    checked, zipped = visitor.post(f"{AT}/check"), visitor.get(f"{AT}/all.zip")
    for answer in (checked, zipped):
        assert "people-synthetic.csv: it is not the file that was written with the certificate" in words(answer)
        assert str(place) not in answer.text.replace(f"<code>{place.parent}</code>", "")
    assert zipped.header("content-type").startswith("text/html")
    (place / "people-synthetic.csv").unlink()
    assert "people-synthetic.csv: the certificate names it, and it was not given" in words(visitor.post(f"{AT}/check"))


def test_the_zip_holds_the_public_files_and_leaves_none_behind(visitor, place):
    before = set(place.rglob("*"))

    answer = visitor.get(f"{AT}/all.zip")

    with zipfile.ZipFile(io.BytesIO(answer.body)) as found:
        assert {each.removeprefix("people-release-1/") for each in found.namelist()} == set(PUBLIC.values())
        for name in PUBLIC.values():
            assert found.read(f"people-release-1/{name}") == (place / name).read_bytes()
    assert set(place.rglob("*")) == before


def test_the_report_is_made_beside_the_rows_and_then_given(visitor, place, tmp_path):
    assert visitor.post(f"{AT}/report").at == AT

    lw.load(place / "model.lapwing").to_html(tmp_path / "wanted.html")
    assert visitor.get(f"{AT}/file/report").status == 200
    assert 'action="/job/people/hand-over/1/report"' not in visitor.get(AT).text
    assert (place / "report.html").read_bytes() == (tmp_path / "wanted.html").read_bytes()


def test_licence_and_author_are_written_into_the_description_and_nothing_else_changes(visitor, place):
    others = {name: (place / name).read_bytes() for role, name in PUBLIC.items() if role != "croissant"}
    before = json.loads((place / "croissant.json").read_text())
    form = {"license": "CC0-1.0", "creator": "An office", "url": "https://example.org/people"}

    assert visitor.post(f"{AT}/describe", form).at == f"{AT}#public"

    after = json.loads(visitor.get(f"{AT}/file/croissant").body)
    assert {key: after[key] for key in ("license", "url")} == {key: form[key] for key in ("license", "url")}
    assert after["creator"]["name"] == "An office"
    assert after["distribution"] == before["distribution"]
    assert {name: (place / name).read_bytes() for name in others} == others
    assert 'value="An office"' in visitor.get(AT).text
    refused = visitor.post(f"{AT}/describe", {**form, "url": "javascript:alert(1)"})
    assert refused.status == 400
    assert 'value="javascript:alert(1)"' in refused.text
    assert json.loads((place / "croissant.json").read_text()) == after


def test_a_page_to_sign_is_given_to_be_saved(visitor, place):
    answer = visitor.get(f"{AT}/page.html")

    assert hashlib.sha256((place / PUBLIC["certificate"]).read_bytes()).hexdigest() in answer.text
    assert answer.header("content-disposition") == 'attachment; filename="certificate.html"'


@NEEDS_SSH
def test_a_key_of_the_folder_signs_and_the_signature_holds(visitor, home, place):
    make_key(home / "id_ed25519")

    assert "<option>id_ed25519</option>" in visitor.get(AT).text
    assert visitor.post(f"{AT}/sign", {"signer": "id_ed25519"}).at == AT

    content, signature = (place / PUBLIC["certificate"]).read_bytes(), place / f"{PUBLIC['certificate']}.sig"
    assert signer_of(content, signature, home / "id_ed25519.pub")
    with pytest.raises(DataError):
        signer_of(content + b" ", signature, home / "id_ed25519.pub")
    assert visitor.get(f"{AT}/file/signature").body == signature.read_bytes()


@NEEDS_SSH
def test_keys_with_a_passphrase_or_elsewhere_sign_nothing(visitor, home, place):
    make_key(home / "id_ed25519", "a passphrase")
    make_key(home / "lapwing-studio" / "id_ed25519")
    (home / "fake.key").write_text("-----BEGIN OPENSSH PRIVATE KEY-----\nnone\n-----END OPENSSH PRIVATE KEY-----\n")

    assert keys_in(home) == []
    for name in ("id_ed25519", "lapwing-studio/id_ed25519", "../x", "fake.key", ""):
        assert visitor.post(f"{AT}/sign", {"signer": name}).status == 400
    assert not list(place.glob("*.sig"))


def test_a_job_without_a_release_says_so(tmp_path):
    new_job(tmp_path, "empty", table=str(tmp_path / "empty.csv"))

    answer = in_process(tmp_path).get("/job/empty/hand-over")

    assert answer.status == 200
    assert "There is no release yet" in words(answer)


def test_a_certificate_that_is_none_is_refused_in_one_sentence(visitor, place):
    (place / "people-synthetic.csv.certificate.json").write_text("{}")

    answer = visitor.get(AT)

    assert answer.status == 400
    assert "it is no certificate" in words(answer)
