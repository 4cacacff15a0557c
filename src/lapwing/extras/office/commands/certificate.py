"""`lapwing certificate`: what stands on the certificate of a release, as lines and on paper; files, signatures."""

import hashlib
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lapwing.cli.console import note
from lapwing.cli.examples import examples
from lapwing.cli.options import argument, flag, misuse, option
from lapwing.errors import DataError

if TYPE_CHECKING:
    from lapwing.model.certificate.issued import IssueRecord

certificate_app = typer.Typer(
    name="certificate", help="Read, check, print and sign certificates.", rich_markup_mode=None
)

File = Annotated[Path, argument("C.json", "The certificate that was written beside the rows.")]


@certificate_app.command(epilog=examples("certificate show"))
def show(
    file: File,
    details: Annotated[bool, flag("--details", "Print all sentences.")] = False,
    json: Annotated[bool, flag("--json", "Print the same as JSON: facts with keys, values and units.")] = False,
    page: Annotated[Path | None, option("--page", "C.html", "Write one HTML page to print and sign instead.")] = None,
) -> None:
    """Print what a certificate says, in plain sentences."""
    from lapwing.extras.office.paper.files import or_data_error  # noqa: PLC0415
    from lapwing.extras.office.paper.page import signing_page  # noqa: PLC0415
    from lapwing.model.certificate.certificate import certificate_in  # noqa: PLC0415
    from lapwing.model.certificate.issued import Beside  # noqa: PLC0415
    from lapwing.present.cards import document_json  # noqa: PLC0415
    from lapwing.present.certificates import detailed_text, short_text  # noqa: PLC0415
    from lapwing.rows.out.outputs import whole_files  # noqa: PLC0415

    found, content = certificate_in(file)
    if page is None:
        render = document_json if json else detailed_text if details else short_text
        print(or_data_error(file, lambda: render(found)), end="")
        return
    with whole_files([page], [file]) as (place,):
        place.write_text(or_data_error(file, lambda: signing_page(found, Beside.of(file, content))), encoding="utf-8")
    note(f"page: {page}")


@certificate_app.command(epilog=examples("certificate verify"))
def verify(
    context: typer.Context,
    file: File,
    files: Annotated[
        list[Path], argument("FILES", "Files that were written with it: rows and model, or what you were given.")
    ],
    schema: Annotated[Path | None, option("--schema", "S.json", "Also check that this is the schema.")] = None,
    key: Annotated[
        Path | None, option("--key", "K.pub", "Also check who signed: a public SSH key, or `allowed_signers`.")
    ] = None,
    signature: Annotated[Path | None, option("--signature", "C.sig", "The signature. Default: C.json.sig.")] = None,
) -> None:
    """Check that files are those that were written with a certificate."""
    from lapwing.extras.office.paper.files import faults_of, models_in  # noqa: PLC0415
    from lapwing.extras.office.paper.signature import signer_of  # noqa: PLC0415
    from lapwing.model.certificate.certificate import certificate_in  # noqa: PLC0415
    from lapwing.present.certificates import full_price  # noqa: PLC0415

    if signature is not None and key is None:
        raise misuse("anyone can sign; give --key K.pub, the signer's public key", context, code="LW903")
    paid, content = certificate_in(file)
    signer = None if key is None else signer_of(content, signature or _signature(file), key)
    issued = paid.issued
    if issued is None:
        said = f"{file} names no files; give the one that a command wrote beside its files"
        raise DataError(said, code="LW622")
    faults, missing = faults_of(paid, files, content)
    count = f"{len(issued.files) - len(missing)} of {len(issued.files)} files"
    if faults := [*faults, *_schema_faults(issued, schema)]:
        raise DataError("; ".join(faults), code="LW622")
    print(f"{count} are those that were written with {file}, at {full_price(paid)}")
    for line in missing:
        print(f"not checked: {line}")
    for model in models_in(files):
        print(f"{model} holds the same certificate")
    print(f"SHA-256 of {file}: {hashlib.sha256(content).hexdigest()}")
    if schema is not None:
        print(f"{schema} is its schema")
    if signer is not None:
        print(f"signed by {signer}")


@certificate_app.command(epilog=examples("certificate compose"))
def compose(
    files: Annotated[list[Path], argument("C.json", "The certificate of each release of the same people.")],
    disjoint: Annotated[bool, flag("--disjoint", "Of disjoint parts of the table: the largest counts.")] = False,
    json: Annotated[bool, flag("--json", "Print JSON, with the events for dp-accounting.")] = False,
) -> None:
    """Add releases up: what they cost together, ε at eight δ, and what an attack finds."""
    from lapwing.extras.office.paper.files import or_data_error  # noqa: PLC0415
    from lapwing.model.certificate.certificate import certificate_in  # noqa: PLC0415
    from lapwing.present.certificates import composed_text  # noqa: PLC0415

    first, *others = (certificate_in(file)[0] for file in files)
    found = or_data_error(" or ".join(map(str, files)), lambda: first.compose(*others, disjoint=disjoint))
    print(dumps(found, indent=2) if json else composed_text(found, len(files)))


@certificate_app.command(epilog=examples("certificate sign"))
def sign(
    file: File,
    key: Annotated[Path, option("--key", "KEY", "Your private SSH key, such as ~/.ssh/id_ed25519.")],
) -> None:
    """Write C.json.sig beside a certificate; `ssh-keygen -Y verify -n file` checks it as well."""
    from lapwing.extras.office.paper.signature import sign as signed  # noqa: PLC0415
    from lapwing.model.certificate.certificate import certificate_in  # noqa: PLC0415
    from lapwing.rows.out.outputs import write_output  # noqa: PLC0415

    _, content = certificate_in(file)
    write_output(_signature(file), signed(content, key))
    note(f"signature: {_signature(file)}")


def _signature(file: Path) -> Path:
    return file.with_name(f"{file.name}.sig")


def _schema_faults(issued: "IssueRecord", schema: Path | None) -> list[str]:
    """Return what is wrong with a schema that should be the release's."""
    from lapwing.schema.schemas import Schema  # noqa: PLC0415

    if schema is None:
        return []
    is_its_own = Schema.load(schema).fingerprint == issued.schema
    return [] if is_its_own else [f"{schema}: it is not the schema of the release"]
