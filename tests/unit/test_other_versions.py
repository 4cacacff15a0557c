"""What another version of Lapwing wrote is refused by its format number, before anything else in it is read."""

import json
import zipfile
from hashlib import sha256
from types import UnionType
from typing import Union, get_args, get_origin, get_type_hints

import polars as pl
import pytest

import lapwing as lw
from lapwing.errors import LapwingError
from lapwing.model.certificate.certificate import FORMAT, Certificate, certificate_in

SCHEMA = {"fields": [{"name": "flag", "type": "boolean", "constraints": {"required": True}}]}


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a model, a certificate and a transcript of one release."""
    table = pl.DataFrame({"flag": [True, False] * 50})
    release = lw.synthesize(table, SCHEMA, epsilon=1, seed=1, transcript=tmp_path / "paid.transcript")
    release.save(tmp_path / "release.lapwing")
    (tmp_path / "certificate.json").write_text(release.certificate.to_json())
    return tmp_path


def of_other_format(values, number):
    """Return a document as another version might have written it: keys are unknown, and others missing."""
    return {"format": number, "other": [], **dict(list(values.items())[3:])}


def in_model(folder, entry, number):
    path = folder / "release.lapwing"
    with zipfile.ZipFile(path) as file:
        entries = {name: file.read(name) for name in file.namelist()}
    values = json.loads(entries[entry])
    entries[entry] = json.dumps(of_other_format(values, number) | {"kind": values.get("kind")}).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as file:
        for name, content in entries.items():
            file.writestr(name, content)
    return lw.load(path)


def in_certificate(folder, number):
    path = folder / "certificate.json"
    path.write_text(json.dumps(of_other_format(json.loads(path.read_text()), number)))
    return certificate_in(path)


def in_transcript(folder, number):
    path = folder / "paid.transcript"
    first, *answers = path.read_text().splitlines()
    path.write_text("\n".join([json.dumps(of_other_format(json.loads(first), number)), *answers, ""]))
    return lw.resume(path, pl.DataFrame({"flag": [True, False] * 50}))


READERS = {
    "a model": lambda folder, number: in_model(folder, "manifest.json", number),
    "a model's certificate": lambda folder, number: in_model(folder, "certificate.json", number),
    "a certificate": in_certificate,
    "a transcript": in_transcript,
}


@pytest.mark.parametrize("what", READERS)
@pytest.mark.parametrize(("number", "cure"), [(0, "use the version that wrote it"), (10**400, "update lapwing")])
def test_what_another_version_wrote_is_refused_by_its_number_and_says_the_way_out(folder, what, number, cure):
    with pytest.raises(LapwingError, match="was written by another version of Lapwing") as refused:
        READERS[what](folder, number)

    assert refused.value.code == "LW604"
    assert str(refused.value).endswith(cure)
    assert "other'" not in str(refused.value)
    assert len(str(refused.value)) < 400


def keys_of(kind, seen):
    """Yield the keys of every document in a certificate's."""
    if get_origin(kind) in (Union, UnionType) or get_args(kind):
        for each in get_args(kind):
            yield from keys_of(each, seen)
    elif hasattr(kind, "__dataclass_fields__") and kind not in seen:
        seen.add(kind)
        keys = getattr(kind, "document", tuple(kind.__dataclass_fields__))
        yield f"{kind.__name__}: {', '.join(keys)}"
        for hint in get_type_hints(kind).values():
            yield from keys_of(hint, seen)


def test_a_certificate_with_other_keys_has_another_format_number():
    """Where this fails, add 1 to `FORMAT` of certificates, and write down the new pair."""
    digest = sha256("\n".join(sorted(keys_of(Certificate, set()))).encode()).hexdigest()[:16]

    assert (FORMAT, digest) == (2, "3a2d573121b51478")
