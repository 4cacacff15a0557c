"""Where the files of a release go; Python, commands and the studio share it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lapwing.errors import ParameterError
from lapwing.on_demand import extra
from lapwing.rows.out.outputs import has_row_name, is_folder_name, is_part, is_table_file, rows_format

if TYPE_CHECKING:
    from lapwing.rows.out.databases import TableOut, TablesTarget


STANDARD_OUTPUT = Path("-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """Name the files of one release.

    rows: the file of each table, of one table without a name; none where they go to a database; folder: where rows go
    to one: that of the Parquet files of one table, or of a file for each of several; into: the database of several;
    tables: what is written of each of several; prepared_by, approved_by: for the certificate.
    """

    rows: Mapping[str, Path]
    folder: Path | None = None
    into: "TablesTarget | None" = None
    tables: "tuple[TableOut, ...]" = ()
    model: Path | None = None
    certificate: Path | None = None
    croissant: Path | None = None
    prepared_by: str = ""
    approved_by: str = ""

    @property
    def in_order(self) -> list[Path]:
        """The files in the order in which they appear: a set without certificate is incomplete."""
        return [path for path in (self.model, *self._places, self.croissant, self.certificate) if path is not None]

    @property
    def beside(self) -> Path | None:
        """The rows beside which the certificate stands; None where they go to a server."""
        return next(iter(self._places), None)

    @property
    def _places(self) -> list[Path]:
        found = self.folders or (list(self.rows.values()) if self.into is None else self.into.paths)
        return [path for path in found if path != STANDARD_OUTPUT]

    @property
    def folders(self) -> list[Path]:
        """Those of them that are folders."""
        return [] if self.folder is None else [self.folder]

    def replaces(self, file: Path) -> bool:
        """Return whether a file of an earlier folder may be replaced."""
        return is_table_file(file, [table.name for table in self.tables]) if self.tables else is_part(file)

    @property
    def named(self) -> list[tuple[str, object]]:
        """What each file is, for who asked for them."""
        rows: list[tuple[str, object]] = [
            (name or "rows", f"{path}{os.sep * (path == self.folder)}") for name, path in self.rows.items()
        ]
        found = [("model", self.model), ("Croissant", self.croissant), ("certificate", self.certificate)]
        given = [(what, path) for what, path in found if path is not None]
        return [
            *([] if STANDARD_OUTPUT in self.rows.values() else rows or [("tables", self.into)]),
            *given,
        ]

    @property
    def options(self) -> list[str]:
        """The options of a command line that name the same files; an address is not shown."""
        place = [word for path in self.rows.values() for word in ("-o", str(path))]
        if self.folder is not None or self.into is not None:
            where = "URL" if self.into is not None and self.into.path is None else f"{self.into or self.folder}"
            # Of events there is one table.
            place = ["--into" if len(self.tables) > 1 else "-o", where + os.sep * len(self.folders)]
        certified = ["--no-certificate"] if self.certificate is None else ["--certificate", str(self.certificate)]
        if self.beside is not None and self.certificate == _beside(self.beside):
            certified = []
        others = (("--model", self.model), ("--croissant", self.croissant))
        named = [text for name, path in others if path is not None for text in (name, str(path))]
        people = (("--prepared-by", self.prepared_by), ("--approved-by", self.approved_by))
        signed = [text for name, who in people if who for text in (name, who)]
        return [*place, *named, *certified, *signed]

    def check_croissant(self) -> None:
        """Refuse a Croissant file of rows that go to no files, or to files that it cannot name."""
        if self.croissant is None:
            return
        encodings = extra("croissant").ENCODINGS
        if not self.rows or any(path.suffix.lower() not in encodings for path in self.rows.values()):
            raise ParameterError(
                "a Croissant file names one file of rows for each table, which must be .parquet or .csv; leave "
                "--croissant out, or give such files",
                code="LW316",
            )
        extra("croissant").check_beside(self.croissant, [*self.rows.values(), self.certificate])


def read_targets(
    output: str,
    model: Path | None,
    certificate: Path | None,
    *,
    no_certificate: bool,
    croissant: Path | None = None,
    people: tuple[str | None, str | None] = (None, None),
) -> Targets:
    """Return the files that the options name; people: who prepared and who approved the release."""
    rows, has_folder = rows_place(output)
    prepared_by, approved_by = (who or "" for who in people)
    found = Targets(
        rows={"": rows},
        folder=rows if has_folder else None,
        model=model,
        certificate=certificate_target(rows, certificate, no_certificate=no_certificate),
        croissant=croissant,
        prepared_by=prepared_by,
        approved_by=approved_by,
    )
    found.check_croissant()
    return found


def rows_place(output: str) -> tuple[Path, bool]:
    """Return where rows go, and whether it is a folder; refuse a name that asks for neither file nor folder."""
    place, has_folder = Path(output), is_folder_name(output)
    if not has_folder and place != STANDARD_OUTPUT:
        rows_format(place)
    return place, has_folder


def certificate_target(output: Path, certificate: Path | None, *, no_certificate: bool) -> Path | None:
    """Return where the certificate of an output goes, by default beside it; None where none is wanted."""
    usual = _beside(output)
    if output == STANDARD_OUTPUT and certificate is None and not no_certificate:
        raise ParameterError(
            "a certificate stands beside a file of rows, got -o -; name it with --certificate C.json, or give "
            "--no-certificate",
            code="LW316",
        )
    if not no_certificate:
        return usual if certificate is None else certificate
    if certificate is not None:
        raise ParameterError("--certificate and --no-certificate contradict each other; give one of them", code="LW316")
    if os.path.exists(usual):
        what = "rows" if has_row_name(output) or os.path.isdir(output) else "file"
        raise ParameterError(
            f"{usual} is there from an earlier release and would not describe the new {what}; "
            "remove it, or leave out --no-certificate",
            code="LW113",
        )
    return None


def _beside(output: Path) -> Path:
    named = output if output.name not in ("", "..") else Path(os.path.abspath(output))
    return named.parent / f"{named.name}.certificate.json"


def staging_places(targets: Targets, place: Mapping[Path, Path]) -> dict[str, Path]:
    """Return where the rows of each of several tables stand until all files are written."""
    folder = targets.folder
    return {name: place[path] if folder is None else place[folder] / path.name for name, path in targets.rows.items()}
