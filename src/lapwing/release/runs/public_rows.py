"""Public rows of a mechanism, priors and points of a reduced space: coded here, because no mechanism reads tables.

A prior is public, or was paid for before. Its columns are found by name; what does not fit is said, and never guessed.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, cast

import numpy as np

from lapwing.errors import DataError, LapwingError, LapwingWarning, ParameterError, warn
from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.terms import Relation
from lapwing.mechanisms.registry import MECHANISMS
from lapwing.mechanisms.shared.base import Mechanism, takes_prior
from lapwing.mechanisms.shared.priors import MOST_PRIORS, PublicRows, priors_of
from lapwing.model.certificate.certificate import Certificate
from lapwing.model.certificate.cost_lines import budget_text
from lapwing.model.certificate.linked import ONE_OF_SEVERAL
from lapwing.model.certificate.notices import Notice
from lapwing.model.certificate.promise import ROW
from lapwing.model.files import load_release
from lapwing.model.rows import row_chunks
from lapwing.release.runs.account_terms import sum_text
from lapwing.release.runs.generators import generator
from lapwing.rows.entry import source_of
from lapwing.rows.guard import run_guarded
from lapwing.rows.source import coded_table
from lapwing.schema.named_files import digest_of, refuse_private
from lapwing.schema.scalars import visible
from lapwing.schema.schemas import Schema

CALLABLE: Final = "callable "
FRAME: Final = "a frame of "  # how the names begin of what is kept in no file

_SAVED: Final = ".lapwing"
_MOST_ROWS: Final = 2**18
_LEAST_ROWS: Final = 20_000  # that are drawn from a saved release
_FITTING: Final = 0.5  # least share of a column's cells that fit, for it to be used
_SAID: Final = 0.02  # share of cells that do not fit from which it is said


def with_priors(
    mechanism: Mechanism,
    schema: Schema,
    prior: object = None,
    paid: tuple[Budget, Relation] | None = None,
    *,
    warned: Callable[[LapwingWarning], None] = warn,
) -> Mechanism:
    """Return a mechanism whose priors are in code; others unchanged.

    prior: what the call was given beside the mechanism, or None. What stands among the mechanism's own settings is
    read in any case; paid: what this release will be paid with, to add to what a prior was; warned: is told what of
    them does not fit.
    """
    own = getattr(mechanism, "prior", None)
    given = own if prior is None else prior
    if given is None:
        return mechanism
    if prior is not None and own is not None:
        raise ParameterError(
            "prior is given twice, in the call and among the mechanism's settings; give one", code="LW316"
        )
    if not takes_prior(type(mechanism)):
        able = " or ".join(kind.name for kind in MECHANISMS.values() if takes_prior(kind))
        raise ParameterError(f"{mechanism.name} takes no prior; leave it out, or use {able}", code="LW305")
    listed = list(given) if isinstance(given, list | tuple) else [given]
    if not 1 <= len(listed) <= MOST_PRIORS:
        raise ParameterError(f"prior must be 1 to {MOST_PRIORS} releases or tables, got {len(listed)}", code="LW304")
    read = tuple(each if isinstance(each, PublicRows) else _read(each, schema, paid, warned) for each in listed)
    return cast("Mechanism", replace(cast("Any", mechanism), prior=read))


def prior_digests(mechanism: Mechanism) -> list[str]:
    """Return the fingerprints of a mechanism's priors: SHA-256 of their codes, in the order of their rows."""
    return [_digest(each.codes) for each in priors_of(mechanism)]


def file_digests(mechanism: Mechanism) -> dict[str, str]:
    """Return SHA-256 of the files that a mechanism's public rows are of, by name."""
    own = mechanism.own_points()
    points = own.rows if own is not None else None
    rows = (*priors_of(mechanism), *([points] if isinstance(points, PublicRows) else []))
    return {each.name: each.file for each in rows if each.file}


def recorded_rows(
    mechanism: Mechanism,
    schema: Schema,
    seed: int,
    paid: tuple[Budget, Relation],
    *,
    files: object,
    codes: Mapping[str, object],
) -> Mechanism:
    """Return a mechanism of a transcript with its public rows in code, if they are those that it was written with.

    A stranger may have written what it names. So nothing is coded before the bytes are those recorded, and whatever
    keeps them from being used is told in one sentence, without a warning.

    files: SHA-256 of each file by name; codes: the fingerprints of the codes that were made of them.
    """
    own, prior = mechanism.own_points(), getattr(mechanism, "prior", None) or ()
    named: dict[str, Any] = {"the prior": prior, "mu": () if own is None else own.rows}
    listed: list[Any] = []
    for what, given in named.items():
        for each in given if isinstance(given, list | tuple) else [given]:
            if isinstance(each, str) and each.startswith((CALLABLE, FRAME)):
                raise _not_kept(f"{what} was {visible(each)!r}")
            refuse_private(each, f"{what} of the transcript")
            listed.append(each)
    try:
        if {each: digest_of(each, each) for each in listed} == (files or {}):
            read = with_public_points(mechanism, schema, seed)
            read = with_priors(read, schema, paid=paid, warned=lambda _: None)
            found = {"points": points_digest(read), "priors": prior_digests(read) or None}
            if all(found[key] == (value or None) for key, value in codes.items()):
                return read
    except (OSError, TypeError, ValueError, LapwingError):
        pass
    raise DataError(
        "a prior that the transcript names, or its mu, is not the one of its release; put that file back as it was, or "
        "make a new release",
        code="LW611",
    )


def _digest(codes: Mapping[str, np.ndarray]) -> str:
    """Return SHA-256 in hexadecimal digits, of codes in the order of their rows."""
    digest = hashlib.sha256()
    for name, each in codes.items():
        digest.update(f"{name!r}: {each.size}\n".encode())
        digest.update(np.ascontiguousarray(each, dtype="<i8").tobytes())
    return digest.hexdigest()


def _read(
    given: object, schema: Schema, now: tuple[Budget, Relation] | None, warned: Callable[[LapwingWarning], None]
) -> PublicRows:
    """Return a prior in the codes of a schema."""
    if isinstance(given, str) and given.startswith(FRAME):
        raise _not_kept(f"the prior was {given}")
    is_released = hasattr(given, "certificate")
    refuse_private(given if is_released else source_of(given), "the prior")
    name = os.fspath(given) if isinstance(given, str | os.PathLike) else ""
    if name and not Path(name).exists():
        raise DataError(f"there is no prior {name}; give a saved release, a file of rows, or a frame", code="LW101")
    file = digest_of(name, "the prior") if name else ""
    saved: Any = load_release(Path(name)) if name.endswith(_SAVED) else given
    if hasattr(saved, "certificate"):
        rows, paid = _draw_from_release(saved), saved.certificate
    else:
        rows, paid = given, None
    codes = _code_rows(rows, schema, name or "prior", warned)
    count = len(next(iter(codes.values())))
    told = {"prior": name or "(a frame)", "rows": count, "digest": _digest(codes)[:16]}
    if paid is None:
        origin: tuple[Notice, ...] = (Notice("prior_public", told),)
    else:
        origin = tuple(_published(paid, {**told, "prior": Path(name).name or "(a frame)"}, schema.unit_label, now))
    return PublicRows(codes, name or f"{FRAME}{count} rows", origin, file)


def _draw_from_release(saved: Any) -> object:  # noqa: ANN401 - a release, in memory or from a file
    """Return rows drawn from a release."""
    import polars as pl  # noqa: PLC0415 - it takes a tenth of a second to import

    wanted = min(_MOST_ROWS, max(_LEAST_ROWS, saved.model.rows))
    chunks = row_chunks(saved.model, saved.schema, wanted, generator(0, "prior"))
    return pl.concat(list(chunks.frames()))


def _published(
    paid: Certificate, told: Mapping[str, Any], unit: str, now: tuple[Budget, Relation] | None
) -> Iterator[Notice]:
    """Say what a release that is leaned on was paid with, and what both come to where that is known.

    They come to a sum where they promise the same of the same, and neither selected anything.
    """
    asked = budget_text(paid.total, paid.requested.epsilon, paid.requested.delta)
    terms = {**told, "cost": asked, "relation": paid.relation, "unit": paid.privacy_unit}
    if paid.ledger is None:
        yield Notice("prior_released", terms)
    else:
        yield Notice("prior_released_of", {**terms, "dataset": paid.ledger.dataset})
    is_alike = now is not None and (paid.relation, paid.privacy_unit == ROW) == (now[1], unit == ROW)
    if ONE_OF_SEVERAL in paid.warnings:  # what the others spent is not known
        yield Notice("prior_of_several", {"prior": told["prior"]})
    elif now is not None and is_alike and not any(line.delta for line in paid.lines):
        yield Notice("prior_summed", {"prior": told["prior"], "cost": sum_text([paid.total, now[0]])})


def _not_kept(said: str) -> ParameterError:
    return ParameterError(
        f"{said}, which is kept in no file, so a release with it cannot be resumed; make a new one", code="LW343"
    )


def _all_codes(rows: object, schema: Schema, *, apart: bool = False) -> dict[str, np.ndarray]:
    """Return the codes of public rows: int64, of all columns; none where there is no row."""
    with coded_table(rows, schema) as source:
        chunks = list(source.chunks(apart=apart))
    names = chunks[0] if chunks else ()
    return {name: np.concatenate([chunk[name] for chunk in chunks]).astype(np.int64) for name in names}


def _code_rows(
    rows: object, schema: Schema, name: str, warned: Callable[[LapwingWarning], None]
) -> dict[str, np.ndarray]:
    """Return the codes of a prior's rows in the columns that it has and that mostly fit."""
    whole = replace(schema, privacy_unit=None)
    source = source_of(rows)
    names = set(source.names(whole))
    found = [each.name for each in schema.columns if each.name in names]
    if not found:
        raise ParameterError(f"{name} has none of the schema's columns by name; rename them", code="LW353")
    narrow = whole.select(found)
    codes = _all_codes(source, narrow, apart=True)
    if not codes or not codes[found[0]].size:
        raise ParameterError(f"{name} has no row; give rows of the schema's columns", code="LW353")
    lacking = [each.name for each in schema.columns if each.name not in found]
    for said in _drop_unfit(codes, narrow, name):
        warned(LapwingWarning(said, code="LW357"))
    if lacking:
        said = f"{name} lacks {len(lacking)} of the schema's columns: {', '.join(lacking[:5])}"
        warned(LapwingWarning(said, code="LW357"))
    if not codes:
        raise ParameterError(f"no column of {name} fits the schema; code it as the schema says", code="LW353")
    step = -(-len(next(iter(codes.values()))) // _MOST_ROWS)
    return {each: values[::step] for each, values in codes.items()}


def _drop_unfit(codes: dict[str, np.ndarray], schema: Schema, name: str) -> Iterator[str]:
    """Drop columns whose cells mostly do not fit, and rows with one that does not; say of each what was found."""
    misfits = {each.name: codes[each.name] == each.domain.misfit for each in schema.columns}
    for column, bad in misfits.items():
        share = float(bad.mean())
        if share > 1 - _FITTING:
            del codes[column]
        if share > _SAID:
            then = "the column is left out" if share > 1 - _FITTING else "their rows are left out"
            yield f"{share:.0%} of the values of {column} in {name} are invalid; {then}"
    fits = ~np.any([misfits[column] for column in codes], axis=0) if codes else np.zeros(0, dtype=bool)
    for column in codes:
        codes[column] = codes[column][fits]


# -- Points of a reduced space.


def with_public_points(mechanism: Mechanism, schema: Schema, seed: int) -> Mechanism:
    """Return a mechanism whose public rows are in code; others unchanged.

    mechanism: perhaps with a path, a frame or a callable as ``mu``; seed: of the public generator, which a callable is
    given.
    """
    own = mechanism.own_points()
    if own is None or isinstance(own.rows, PublicRows):
        return mechanism
    refuse_private(own.rows if callable(own.rows) else source_of(own.rows), "mu")
    mu = os.fspath(own.rows) if isinstance(own.rows, os.PathLike) else own.rows
    if callable(mu):
        name = f"{CALLABLE}{getattr(mu, '__qualname__', type(mu).__qualname__)}"
        rows = run_guarded(
            "the callable mu failed; it is called once as mu(points, rng) and returns a table",
            lambda: mu(own.count, generator(seed, "mu")),
        )
    else:
        name, rows = (mu if isinstance(mu, str) else ""), mu
        if isinstance(mu, str) and mu.startswith((CALLABLE, FRAME)):
            raise _not_kept(f"mu was {mu!r}")
    if isinstance(rows, str) and not Path(rows).exists():
        raise ParameterError(
            f"mu must be one of {', '.join(own.names)}, or the path of a public table, got {rows!r}", code="LW353"
        )
    refuse_private(source_of(rows), "mu")  # what a callable returned, too
    file = digest_of(rows, "mu") if isinstance(rows, str) else ""
    codes = _points(rows, schema)
    count = len(next(iter(codes.values())))
    return own.place(PublicRows(codes, name or f"{FRAME}{count} rows", file=file))


def points_digest(mechanism: Mechanism) -> str | None:
    """Return the fingerprint of a mechanism's public rows, None where it has none of its own."""
    own = mechanism.own_points()
    return None if own is None or not isinstance(own.rows, PublicRows) else _digest(own.rows.codes)


def _points(rows: object, schema: Schema) -> dict[str, np.ndarray]:
    """Return the codes of the public rows that fit the schema in every column; they need no identifiers."""
    failure: DataError | None = None
    codes: dict[str, np.ndarray] = {}
    try:
        codes = _all_codes(rows, replace(schema, privacy_unit=None))
    except DataError as error:
        failure = DataError(f"mu: {error}", code=error.code)
    if failure is not None:
        raise failure
    if not codes:
        raise ParameterError("mu has no row; give public rows of the schema's columns", code="LW353")
    fits = np.ones(len(next(iter(codes.values()))), dtype=bool)
    for field in schema.columns:
        if not field.domain.missing:
            fits &= codes[field.name] != field.domain.last
    if not fits.any():
        raise ParameterError(
            "mu has no row that fits the schema; give public rows of the schema's columns", code="LW353"
        )
    return {name: each[fits] for name, each in codes.items()}
