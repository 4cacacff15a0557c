"""What `make provenance` states of built files, and how it is signed."""

import importlib.util
import json
import shutil
import subprocess

import pytest

from helpers.source_tree import ROOT

spec = importlib.util.spec_from_file_location("provenance", ROOT / "tools" / "provenance.py")
provenance = importlib.util.module_from_spec(spec)
spec.loader.exec_module(provenance)

COMMIT = "0123456789" * 4


@pytest.fixture
def built(tmp_path):
    """Return a folder with two files and a statement about them."""
    (tmp_path / "a-1-py3-none-any.whl").write_bytes(b"wheel")
    (tmp_path / "a-1.tar.gz").write_bytes(b"archive")
    said = provenance.statement(provenance.hashes(tmp_path), commit=COMMIT, builder="urn:me", epoch="17")
    (tmp_path / "provenance.intoto.json").write_text(json.dumps(said))
    return tmp_path


def test_a_statement_names_hashes_commit_tools_and_builder(built):
    said = json.loads((built / "provenance.intoto.json").read_text())

    wheel = "ba59926159d2aa256eb8739b8da7e2b574b960e1202c6d624cbe981cef996c91"
    assert [each["name"] for each in said["subject"]] == ["a-1-py3-none-any.whl", "a-1.tar.gz"]
    assert said["subject"][0]["digest"]["sha256"] == wheel
    build, run = said["predicate"]["buildDefinition"], said["predicate"]["runDetails"]
    assert build["resolvedDependencies"][0]["digest"] == {"gitCommit": COMMIT}
    assert build["resolvedDependencies"][1] == provenance.locked()
    assert build["internalParameters"] == {"SOURCE_DATE_EPOCH": "17"}
    assert run["builder"]["id"] == "urn:me"


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs OpenSSH")
def test_a_statement_is_signed_and_verified_as_the_docs_say(built):
    def keygen(*arguments, said=None):
        return subprocess.run(["ssh-keygen", *arguments], cwd=built, input=said, capture_output=True, check=False)

    keygen("-q", "-t", "ed25519", "-N", "", "-f", "key")
    (built / "signers").write_text(f"me@example.org {(built / 'key.pub').read_text()}")
    statement = built / "provenance.intoto.json"
    keygen("-Y", "sign", "-q", "-f", "key", "-n", "lapwing", statement.name)
    verify = ("-Y", "verify", "-f", "signers", "-I", "me@example.org", "-n", "lapwing", "-s", f"{statement.name}.sig")

    honest = keygen(*verify, said=statement.read_bytes())
    changed = keygen(*verify, said=statement.read_bytes().replace(b"0123", b"0124"))

    assert honest.returncode == 0
    assert changed.returncode != 0
