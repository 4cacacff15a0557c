"""What the header of a transcript fixes; anybody may have written it, so it is believed only after its types."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lapwing.api.generators import checked_seed
from lapwing.api.public_points import points_digest
from lapwing.api.records import Records
from lapwing.api.settings import Settings
from lapwing.errors import DataError, ParameterError
from lapwing.release.certificate import DOMAIN, EVALUATION
from lapwing.release.plain import read_key, read_optional
from lapwing.release.terms import Terms

_OTHERS = ((EVALUATION, "bought evaluation"), (DOMAIN, "learned domain"), ("linked", "release of linked tables"))


def read_header(path: Path, header: Mapping[str, Any]) -> tuple[Settings, Terms, Records]:
    """Read what the header of a release's transcript fixes.

    Parameters
    ----------
    path : Path
        The transcript.
    header : mapping
        Its first line.

    Returns
    -------
    settings : Settings
    terms : Terms
    records : Records

    Raises
    ------
    DataError
        If the header is of something else than a release, or is damaged.
    SchemaError, ParameterError, BudgetError
        If a setting in it is outside its range.

    Notes
    -----
    No path in a header is followed but two: that of the ledger, which must be one of Lapwing's, and that of public
    points (``mu``), which count only where they are row by row those that the release was made with. Otherwise a header
    by another hand could name private rows as public points.
    """
    fixed = header.get("settings")
    for key, what in _OTHERS:
        if isinstance(fixed, dict) and key in fixed:
            raise DataError(
                f"the transcript {path} is of a {what}; repeat that, with the same transcript", code="LW611"
            )
    try:
        _check_types(header)
        settings = Settings.from_dict(header["settings"])
        terms = Terms.from_dict(header["terms"])
        records = Records(**header["records"], transcript=path)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        pass
    else:
        if header["settings"].get("points") == points_digest(settings.mechanism):
            return settings, terms, records
        raise DataError(
            f"the public table that the transcript {path} names as mu is not the one of its release; put that one back",
            code="LW611",
        )
    raise DataError(
        f"the header of the transcript {path} is damaged; give the file that the release wrote", code="LW610"
    )


def _check_types(header: Mapping[str, Any]) -> None:
    """Refuse values of other types than a release writes: a schema that is a text would be a path, for example."""
    try:
        settings, terms, records = (read_key(header, key, dict) for key in ("settings", "terms", "records"))
        read_key(settings, "schema", dict)
        read_key(settings, "relation", str)
        read_key(settings, "is_seeded", bool)
        checked_seed(read_key(settings, "seed", int))
        chosen = read_key(settings, "mechanism", dict)
        read_key(chosen, "name", str)
        read_key(chosen, "settings", dict)
        request = read_key(settings, "request", dict)
        texts = [(request, key) for key in request] + [(records, key) for key in ("ledger", "dataset")]
        numbers = [(settings, "expected_rows"), (terms, "expected_rows"), (terms, "rows")]
        for values, key in texts:
            read_optional(values, key, str)
        for values, key in numbers:
            read_optional(values, key, int)
        read_key(terms, "max_rows", int)
        read_key(records, "release_id", str)
    except ParameterError:
        pass
    else:
        return
    raise TypeError
