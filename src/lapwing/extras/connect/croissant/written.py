"""Croissant beside a release: what the rows are, and the statement of differential privacy, for programs.

References
----------
MLCommons (2025), Croissant Format Specification 1.1, http://mlcommons.org/croissant/1.1; and Croissant RAI 1.0,
http://mlcommons.org/croissant/RAI/1.0.
W3C Data Privacy Vocabularies and Controls Community Group, Data Privacy Vocabulary, https://w3id.org/dpv: names
differential privacy as a technical measure, and has no property for its parameters.
"""

import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Final

from lapwing.errors import ParameterError
from lapwing.extras.connect.metadata.croissant import OWN_KEYS
from lapwing.kernel.budget.budget import Budget
from lapwing.model.certificate.certificate import Certificate, certificate_in
from lapwing.model.certificate.issued import Beside
from lapwing.model.certificate.promise import Pairs
from lapwing.model.certificate.statements import Statement
from lapwing.present.messages import say
from lapwing.present.promises import protected_facts
from lapwing.rows.out.outputs import write_output
from lapwing.schema.fields import Field
from lapwing.schema.files import field_to_dict
from lapwing.schema.schemas import Schema

_refused = partial(ParameterError, code="LW359")

MOST_LISTED: Final = 10_000
"""Longer lists of categories are left out of a Croissant file, which programs read into memory whole."""

_NOISES: Final = ("noise_on_counts", "noise_on_kept_counts", "noise_on_means")

_Pair = tuple[Fraction, Fraction]
ENCODINGS: Final = {".csv": "text/csv", ".parquet": "application/x-parquet"}
_DATA_TYPES: Final = {
    "integer": "sc:Integer",
    "number": "sc:Float",
    "string": "sc:Text",
    "boolean": "sc:Boolean",
    "date": "sc:Date",
    "datetime": "sc:DateTime",
}
_OF_VALUES: Final = {bool: "sc:Boolean", int: "sc:Integer", float: "sc:Float", str: "sc:Text"}
_RESERVED: Final = frozenset({"conformsTo", "distribution", "recordSet", "differentialPrivacy"})
# The cost lines, one for each question, stay in the certificate; the rest of it is short.
LEFT_TO_THE_CERTIFICATE: Final = ("format", "lapwing", "delta", "costs", "accuracy", "seed")

_IN_CROISSANT: Final = (
    *("annotation", "arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "excludes"),
    *("extract", "field", "fileProperty", "fileObject", "fileSet", "format", "includes", "isArray"),
    *("isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "readLines", "recordSet"),
    *("references", "regex", "repeated", "replace", "samplingRate", "sdVersion", "separator", "source"),
    *("subField", "transform", "unArchive", "value"),
)
CONFORMS_TO: Final = ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"]
CONTEXT: Final[dict[str, Any]] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "prov": "http://www.w3.org/ns/prov#",
    "dpv": "https://w3id.org/dpv#",
    "lapwing": "urn:lapwing:terms:1#",
    "conformsTo": "dct:conformsTo",
    "name": {"@container": "@language"},
    "description": {"@container": "@language"},
    "data": {"@id": "cr:data", "@type": "@json"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    **{key: f"cr:{key}" for key in _IN_CROISSANT},
    "differentialPrivacy": {"@id": "lapwing:differentialPrivacy", "@type": "@json"},
    "fieldSettings": {"@id": "lapwing:fieldSettings", "@type": "@json"},
}


def content_url(file: Path, target: Path) -> str:
    """Return the address of a file as a Croissant file at `target` writes it: relative to its own folder."""
    found = os.path.relpath(os.path.abspath(file), os.path.abspath(target.parent))
    if found.startswith(os.pardir) or os.path.isabs(found):
        raise _refused(
            f"{target} must be in the folder of {file}, or above it, as it names that file by its place; move one of "
            "them"
        )
    return Path(found).as_posix()


def check_beside(target: Path, files: Iterable[Path | None]) -> None:
    """Refuse a place for a Croissant file from which it cannot name the others."""
    for file in filter(None, files):
        content_url(file, target)


def path_of(what: str, value: object) -> Path:
    """Return a path, refusing anything else."""
    if not isinstance(value, str | Path):
        raise ParameterError(f"{what} must be a path to a file, got {type(value).__name__}", code="LW304")
    return Path(value)


def same_release(certificate: Certificate, file: Path) -> Certificate:
    """Return the certificate in a file, which also knows how many rows were written, if it is of the same release."""
    found, _ = certificate_in(file)
    if (
        found.linked is None
        and replace(found, written_rows=certificate.written_rows, seed=certificate.seed, issued=None) == certificate
    ):
        return found
    raise ParameterError(
        f"{file} is the certificate of another release; give the one that lies beside the rows", code="LW620"
    )


def croissant_text(
    schema: Schema,
    certificate: Certificate,
    target: Path,
    *,
    rows: Beside,
    certified: Beside | None,
    about: Mapping[str, Any] | None = None,
) -> str:
    """Return the text of a Croissant file; see `Release.to_croissant`."""
    protected = " ".join(fact.line for fact in protected_facts(certificate.relation, certificate.privacy_unit))
    own = first_pair(certificate.total, certificate.delta, certificate.epsilons)
    told = {key: value for key, value in certificate.to_dict().items() if key not in LEFT_TO_THE_CERTIFICATE}
    return whole_text(
        dataset(schema.name, certificate.written_rows, certificate.text(), about),
        responsible(certificate.lapwing, certificate.mechanism, protected, limitations(certificate)),
        {**file_promises(_of_the_file(certificate, own), own), **told},
        [file_entry("rows-file", rows, target)],
        record_sets("rows", schema.fields),
        about=(certificate.lapwing, target, certified),
    )


def whole_text(
    described: Mapping[str, Any],
    used: Mapping[str, Any],
    statement: Mapping[str, Any],
    files: Sequence[Mapping[str, Any]],
    records: Sequence[Mapping[str, Any]],
    *,
    about: tuple[str, Path, Beside | None],
) -> str:
    """Return the text of a Croissant file from its parts; about: Lapwing's version, its place, the certificate."""
    version, target, certified = about
    beside = certified and {"file": content_url(certified.target, target), "sha256": certified.sha256}
    made_by = {"software": {"name": "lapwing", "version": version}, "certificate": beside}
    found = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        **described,
        **used,
        "differentialPrivacy": {**statement, **made_by},
        "distribution": [*files] if certified is None else [*files, file_entry("certificate-file", certified, target)],
        "recordSet": [*records],
    }
    return json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def file_promises(whole: _Pair | None, own: _Pair | None) -> dict[str, float | None]:
    """Return the (δ, ε) of all that a file shows, and of the release alone, where there are any."""
    return {
        "epsilon": whole and above(whole[1]),
        "delta": whole and above(whole[0]),
        "epsilon_of_this_release": own and above(own[1]),
        "delta_of_this_release": own and above(own[0]),
    }


def record_sets(
    table: str, fields: Sequence[Field], *, key: str = "", links: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    """Return the records of a table, after the lists of its columns' values.

    key: the column that others refer to; links: ids of the columns that its own refer to.
    """
    ids = distinct_ids(field.name for field in fields)
    linked = {} if links is None else links
    shown = [field for field in fields if 0 < len(field.categories or ()) <= MOST_LISTED and field.name not in linked]
    own = "" if table == "rows" else f"{table}-"
    listed = {field.name: f"{own}{ids[field.name]}-values" for field in shown}
    referred = {**{name: f"{values}/name" for name, values in listed.items()}, **linked}
    found: dict[str, Any] = {"@type": "cr:RecordSet", "@id": table, "name": table}
    if key:
        found["key"] = {"@id": f"{table}/{ids[key]}"}
    found["field"] = [_field(field, table, ids[field.name], referred.get(field.name)) for field in fields]
    return [*(_enumeration(field, listed[field.name]) for field in shown), found]


def write_croissant(
    schema: Schema,
    certificate: Certificate,
    path: object,
    *,
    rows: object,
    certificate_file: object,
    about: Mapping[str, Any] | None,
) -> None:
    """Write a Croissant file about rows that are on the disk; see `Release.to_croissant`."""
    target, data = path_of("path", path), path_of("rows", rows)
    if data.suffix.lower() not in ENCODINGS:
        raise ParameterError(
            f"the name of the rows' file must end in .parquet or .csv, got {data.name!r}; rename it", code="LW114"
        )
    beside = None if certificate_file is None else path_of("certificate", certificate_file)
    if beside is not None:
        certificate = same_release(certificate, beside)
    certified = None if beside is None else Beside.read(beside)
    text = croissant_text(schema, certificate, target, rows=Beside.read(data), certified=certified, about=about)
    write_output(target, text, [data] if certified is None else [data, certified.target])


def dataset(name: str, rows: int | None, said: str, about: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what schema.org says of a data set; the caller's own words come before ours."""
    given = {} if about is None else about
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise _refused("about must be a mapping of terms of schema.org to their values, such as {'license': ...}")
    for key in given:
        if key.rpartition(":")[2] in _RESERVED or key.startswith("@"):
            raise _refused(f"about must not hold {key!r}, which is made from the release; leave it out")
    try:
        plain = json.loads(json.dumps(dict(given), allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        plain = None
    if plain is None:
        raise _refused("the values of about must be plain JSON values; give texts, numbers, lists and mappings")
    count = "" if rows is None else f"{rows} "
    what = f" about {name}" if name else ""
    return {
        "name": name or "Synthetic data",
        "description": f"{count}synthetic rows{what}, drawn from a model that was released with differential privacy. "
        + " ".join(said.splitlines()),
        "datePublished": datetime.now(UTC).date().isoformat(),
        **plain,
    }


def limitations(certificate: Certificate) -> list[str]:
    """Return what is known of the accuracy of a table, and what its certificate warns of."""
    noises = [each for each in certificate.accuracy if each.code in _NOISES]
    known = [each.text for each in certificate.accuracy if each.code not in _NOISES]
    return [*_noise(noises), *known, *(each.text for each in certificate.warnings)]


def responsible(version: str, mechanism: str, protected: str, limits: Sequence[str]) -> dict[str, Any]:
    """Return what the vocabularies for responsible use, provenance and privacy have words for."""
    tool = f"Lapwing {version}"
    noise = "Figures made from these rows carry the noise of the release, and chance from drawing rows; the certificate"
    return {
        "rai:dataCollection": f"Made by {tool}, mechanism {mechanism}, from a private table that is no "
        "part of this data set.",
        "rai:personalSensitiveInformation": "The rows are drawn from a released model, not copied from the private "
        f"table. {protected}",
        "rai:dataLimitations": [f"{noise} says how much is known about it.", *limits],
        "dpv:hasTechnicalMeasure": {
            "@type": "sc:DefinedTerm",
            "name": "Differential Privacy",
            "termCode": "DifferentialPrivacy",
            "inDefinedTermSet": "https://w3id.org/dpv#",
            "url": "https://w3id.org/dpv#DifferentialPrivacy",
        },
        "prov:wasGeneratedBy": {
            "@type": "prov:Activity",
            "prov:label": f"Differentially private synthesis, mechanism {mechanism}",
            "prov:wasAssociatedWith": {"@type": "prov:SoftwareAgent", "prov:label": tool},
        },
    }


def _noise(stated: Sequence[Statement]) -> Iterator[str]:
    """Yield one line on the noise of all noisy tables, where the certificate has one for each law."""
    sizes = [each.value for each in stated if each.value is not None]
    if sizes:
        least, most = (f"{size:.3g}" for size in (min(sizes), max(sizes)))
        is_cut = any(each.code == "noise_on_kept_counts" for each in stated)
        spread = f"of {least}" if least == most else f"from {least} to {most}"
        yield say("croissant.noise_cut" if is_cut else "croissant.noise", spread=spread)


def first_pair(total: Budget, delta: Fraction, pairs: Pairs) -> _Pair | None:
    """Return the (δ, ε) to state first: of zCDP that of the delta that was asked for; None where none holds."""
    found = ((delta, total.amount), *pairs) if total.notion == "pure" else pairs
    return next((pair for pair in found if pair[0] < 1), None)


def _of_the_file(certificate: Certificate, own: _Pair | None) -> _Pair | None:
    """Return the (δ, ε) that hold for all that the file shows, also bounds and lists that were bought before.

    None where no common promise can be said: of purchases under other terms, and of bought fields of unknown price.
    """
    told = {name for bought in certificate.purchases for name in bought.fields}
    terms = (certificate.relation, certificate.privacy_unit)
    are_alike = all((bought.relation, bought.privacy_unit) == terms for bought in certificate.purchases)
    if not are_alike or not told.issuperset(certificate.dp_fields):
        return None
    whole = certificate.together
    return own if whole is None else first_pair(whole.total, whole.delta, whole.epsilons)


def above(number: Fraction) -> float | None:
    """Return a float that is written as a decimal not below a number: no promise is rounded to a better one.

    >>> above(Fraction(1, 3)), above(Fraction(3, 10)), above(Fraction(2, 3))
    (0.33333333333333337, 0.3, 0.6666666666666667)
    """
    try:
        found = float(number)
    except OverflowError:
        return None
    return found if Fraction(repr(found)) >= number else math.nextafter(found, math.inf)


def file_entry(key: str, file: Beside, target: Path) -> dict[str, Any]:
    """Return a file of the data set."""
    return {
        "@type": "cr:FileObject",
        "@id": key,
        "name": file.target.name,
        "contentUrl": content_url(file.target, target),
        "contentSize": f"{file.size} B",
        "encodingFormat": ENCODINGS.get(file.target.suffix.lower(), "application/json"),  # of a certificate any
        "sha256": file.sha256,
    }


def _field(field: Field, table: str, key: str, referred: str | None) -> dict[str, Any]:
    """Return a column of a table; referred: the id of the column that its values are of."""
    found: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": f"{table}/{key}",
        "name": field.name,
        **({"description": field.description} if field.description else {}),
        "dataType": _DATA_TYPES[field.type],
        "source": {"fileObject": {"@id": f"{table}-file"}, "extract": {"column": field.name}},
    }
    if referred is not None:
        found["references"] = {"field": {"@id": referred}}
    bounds = (("minValue", field.minimum), ("maxValue", field.maximum))
    found |= {name: bound for name, bound in bounds if bound is not None}
    full = field_to_dict(field, ("",))
    own = {name: full[name] for name in OWN_KEYS if name in full}
    if field.required:
        own["required"] = True
    return {**found, "fieldSettings": own} if own else found


def _enumeration(field: Field, key: str) -> dict[str, Any]:
    """Return the categories of a field as records of their own."""
    assert field.categories is not None
    name, kind = f"{key}/name", _OF_VALUES[type(field.categories[0])]
    return {
        "@type": "cr:RecordSet",
        "@id": key,
        "name": f"values of {field.name}",
        "dataType": "sc:Enumeration",
        "key": {"@id": name},
        "field": [{"@type": "cr:Field", "@id": name, "name": "name", "dataType": kind}],
        "data": [{name: value} for value in field.categories],
    }


def distinct_ids(names: Iterable[str]) -> dict[str, str]:
    """Return an id for each name, of characters that every reader of JSON-LD leaves as they are.

    >>> distinct_ids(["age", "net income", "net-income", "..", "Âge"])
    {'age': 'age', 'net income': 'net-income', 'net-income': 'net-income-2', '..': 'column', 'Âge': 'ge'}
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    counts: dict[str, int] = {}
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_]+", "-", name).strip("-") or "column"
        key = plain
        while key in taken:
            counts[plain] = counts.get(plain, 1) + 1
            key = f"{plain}-{counts[plain]}"
        taken.add(key)
        found[name] = key
    return found
