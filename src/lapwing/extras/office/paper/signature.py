"""Detached signatures in OpenSSH's format (SSHSIG), made and checked by its own program `ssh-keygen`."""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from lapwing.errors import DataError, LapwingError
from lapwing.schema.scalars import quote

NAMESPACE: Final = "file"  # what OpenSSH's manual calls signatures of files

_PUBLIC: Final = re.compile(r"(ssh|ecdsa|sk)-[\w@.-]+ [A-Za-z0-9+/=]+( .*)?\s*")
_SIGNER: Final = "signer"


def sign(content: bytes, key: Path) -> str:
    """Return the signature of a file's content; a passphrase is asked for by ssh-keygen, on the terminal.

    key: a private key file, or a public one whose private key is in the SSH agent.
    """
    done = _keygen("sign", "-f", key, "-n", NAMESPACE, content=content)
    if done.returncode or not done.stdout:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise DataError(
            f"{key} signs nothing ({said[-1] if said else 'ssh-keygen gives no reason'}); give a private SSH key",
            code="LW602",
        )
    return done.stdout.decode()


def signer_of(content: bytes, signature: Path, key: Path) -> str:
    """Return who signed a file's content, or raise a DataError where none of those did.

    key: the signer's public key, who is then called by its name; or a file of several in OpenSSH's format
    ``allowed_signers``, which names them.
    """
    for file in (signature, key):
        if not file.is_file():
            raise DataError(f"{file} cannot be read (there is no such file); give one that is there", code="LW602")
    with tempfile.TemporaryDirectory() as folder:
        allowed, text = key, key.read_text(encoding="utf-8", errors="replace")
        if _PUBLIC.fullmatch(text):
            allowed = Path(folder, "allowed_signers")
            allowed.write_text(f"{_SIGNER} {text}", encoding="utf-8")
        known = _keygen("find-principals", "-f", allowed, "-s", signature)
        # OpenSSH names all principals of the key that signed; one that is no pattern is a name, and will do.
        listed = [each for each in known.stdout.decode(errors="replace").split("\n") if each.strip("! ")]
        name = min((each for each in listed if not each.startswith("!")), key=_is_pattern, default=None)
        if known.returncode or name is None:
            raise DataError(f"{signature} is no signature by {key}; ask the signer for both", code="LW622")
        done = _keygen("verify", "-f", allowed, "-I", name, "-n", NAMESPACE, "-s", signature, content=content)
    if done.returncode:
        raise DataError(
            f"{signature} is a signature of another file than this certificate; ask the signer for both", code="LW622"
        )
    if allowed != key:
        return str(key)
    return f"a key that {key} lists for {quote(','.join(listed))}" if _is_pattern(name) else name


def _is_pattern(principal: str) -> bool:
    """Return whether a principal stands for whoever fits it, and names nobody."""
    return re.search(r"[*?!,]", principal) is not None


def _keygen(what: str, *options: str | Path, content: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    """Run `ssh-keygen -Y`."""
    program = shutil.which("ssh-keygen")
    if program is None:
        raise LapwingError("signatures are made by ssh-keygen, which is not installed; install OpenSSH", code="LW701")
    command = [program, "-Y", what, *map(str, options)]
    return subprocess.run(command, input=content, capture_output=True, check=False)  # noqa: S603
