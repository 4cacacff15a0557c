"""`lapwing certificate`: read what stands on the certificate of a release, and check the files beside it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lapwing.cli.examples import examples
from lapwing.cli.options import argument
from lapwing.errors import DataError

if TYPE_CHECKING:
    from lapwing.model.certificate.certificate import Certificate

certificate_app = typer.Typer(name="certificate", help="Read and check certificates.", rich_markup_mode=None)

File = Annotated[Path, argument("C.json", "The certificate that was written beside the rows.")]


@certificate_app.command(epilog=examples("certificate show"))
def show(file: File) -> None:
    """Print what a certificate says, in plain sentences."""
    from lapwing.model.certificate.attack import attack_line  # noqa: PLC0415

    found = _read(file)
    print(found.text(), end="")
    print(attack_line(found.total, found.delta, found.relation, found.privacy_unit))


@certificate_app.command(epilog=examples("certificate verify"))
def verify(
    file: File,
    files: Annotated[list[Path], argument("FILES", "All files that were written with it: rows and model.")],
) -> None:
    """Check that files are those that were written with a certificate."""
    issued = _read(file).issued
    if issued is None:
        raise DataError(f"{file} names no files; those of `lapwing synthesize` and `resume` do", code="LW622")
    faults = issued.faults(files)
    if faults:
        raise DataError("; ".join(faults), code="LW622")
    print(f"{len(issued.files)} of {len(issued.files)} files are those that were written with {file}")


def _read(file: Path) -> "Certificate":
    """Read a certificate, whose own sums are checked on the way."""
    from lapwing.model.certificate.certificate import certificate_in  # noqa: PLC0415

    return certificate_in(file)
