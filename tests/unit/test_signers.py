"""Who may have signed, where a file of allowed signers has rules: names, dates, namespaces, authorities."""

import shutil
import subprocess
from pathlib import Path

import pytest

from lapwing.errors import DataError
from lapwing.extras.office.paper import signature
from lapwing.extras.office.paper.signature import sign, signer_of

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs OpenSSH")

CONTENT = b"a certificate"
GOOD = {
    "a name alone": "ada",
    "a rule for all namespaces": 'ada namespaces="*"',
    "a rule that names ours": 'ada namespaces="git,file"',
    "a date to come": 'ada valid-before="20990101"',
    "a date that is over": 'ada valid-after="20200101"',
    "a pattern for names": "*@example.org,ada@example.org",
}
BAD = {
    "a date that is over": 'ada valid-before="20200101"',
    "a date to come": 'ada valid-after="20990101"',
    "another namespace": 'ada namespaces="git"',
    "an authority for certificates": "ada cert-authority",
    "two rules of which one is broken": 'ada namespaces="file",valid-before="20200101"',
}


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    for name in ("ada", "eve"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True)
    return folder


@pytest.fixture
def signer(keys, tmp_path):
    """Return who signed the content, by a line of allowed signers for ada's key."""
    signed = tmp_path / "c.sig"
    signed.write_text(sign(CONTENT, keys / "ada"))

    def asked(line, content=CONTENT):
        options, key = line, " ".join((keys / "ada.pub").read_text().split()[:2])
        allowed = Path(tmp_path, "allowed")
        eve = " ".join((keys / "eve.pub").read_text().split()[:2])
        allowed.write_text(f"eve {eve}\n{options} {key}\n")
        return signer_of(content, signed, allowed)

    return asked


@pytest.mark.parametrize("line", GOOD.values(), ids=GOOD)
def test_a_rule_that_holds_lets_a_signature_pass(signer, line):
    assert signer(line)


@pytest.mark.parametrize("line", BAD.values(), ids=BAD)
def test_a_rule_that_is_broken_lets_none_pass(signer, line):
    with pytest.raises(DataError) as refused:
        signer(line)
    assert refused.value.code == "LW622"


@pytest.mark.parametrize("line", GOOD.values(), ids=GOOD)
def test_another_content_is_not_signed(signer, line):
    with pytest.raises(DataError):
        signer(line, CONTENT + b" ")


def test_a_signature_for_another_purpose_is_none(keys, tmp_path):
    (tmp_path / "c").write_bytes(CONTENT)
    command = ["ssh-keygen", "-q", "-Y", "sign", "-n", "git", "-f", keys / "ada", tmp_path / "c"]
    subprocess.run(command, check=True, capture_output=True)

    with pytest.raises(DataError):
        signer_of(CONTENT, tmp_path / "c.sig", keys / "ada.pub")


@pytest.mark.parametrize("line", [BAD["a date that is over"], BAD["another namespace"]])
def test_a_check_without_the_rules_is_seen(signer, line, monkeypatch):
    keygen = signature._keygen

    def novalidate(what, *options, content=b""):
        if what == "find-principals":
            return subprocess.CompletedProcess([], 0, b"ada\n", b"")
        kept = [*options[4:]] if what == "verify" else [*options]
        return keygen("check-novalidate" if what == "verify" else what, *kept, content=content)

    monkeypatch.setattr(signature, "_keygen", novalidate)

    assert signer(line) == "ada"  # where the test above wants a refusal
