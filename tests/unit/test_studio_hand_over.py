"""The studio's room where a release is handed over: which files, whether they are whole, and what signs for them."""

import hashlib
import re
import shutil
import subprocess
from html import unescape

import pytest

import lapwing as lw
from helpers.studio import in_process
from helpers.studio_releases import add_release, job_with_table
from lapwing.errors import DataError
from lapwing.extras.office.paper.signature import signer_of

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
