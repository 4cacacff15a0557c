"""An entry for the registry of deployments of differential privacy, as far as a certificate can fill it in.

References
----------
OpenDP, Oblivious and NIST (2025), Differential Privacy Deployments Registry: schemas/deployments-schema.yaml and
tests/good_deployments/template.yaml of https://github.com/opendp/deployments-registry-data, at 057e5d81.
"""

import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final

from lapwing.kernel.budget.budget import Budget
from lapwing.kernel.plain import at_least
from lapwing.model.certificate.certificate import DOMAIN, EVALUATION
from lapwing.model.certificate.cost_lines import ALL_PAIRS, CERTIFIED, ROWS_WITHIN, counted_lines
from lapwing.model.certificate.promise import Pairs, unit_field
from lapwing.release.paper.sheet import Sheet, file_text

_NOT_KNOWN: Final = dict.fromkeys(
    (
        *("model_name", "model_name_details", "trust_assumptions", "actors", "release_type", "release_type_details"),
        *("data_source_type", "data_source_type_details", "access_type", "access_type_details"),
    )
)


def registry_entry(sheet: Sheet) -> dict[str, Any]:
    """Return the fields of an entry; None where nothing but its curator can know."""
    issued = sheet.issued
    has_rows = sheet.mechanism not in {DOMAIN, EVALUATION}
    return {
        "url_slug": None,
        "deployment": {
            "basic": {
                "name": (issued and issued.table) or None,
                "data_curators": [{"data_curator_name": None, "data_curator_type": None}],
                "description": f"{sheet.title[0].upper()}{sheet.title[1:]}.",
                "intended_use": None,
                "data_product_type": "Synthetic data" if has_rows else None,
                "data_product_region": None,
                "data_product_sector": None,
                "publication_date": issued and issued.at[:10],
            },
            "dp_variant": {
                "variant_name": _variant(sheet),
                "data_domain": None,
                "unprotected_quantities": _unprotected(sheet),
            },
            "privacy_loss": _loss(sheet),
            "deployment_model": {**_NOT_KNOWN, "model_name": "Central", "access_type": "Non-interactive"},
            "implementation": _implementation(sheet),
            "administrative": {"evidence_sources": None, "status": "Draft", "registry_authors": None, "tier": None},
        },
    }


def registry_text(entry: dict[str, Any]) -> str:
    """Return an entry as JSON, which is YAML too: what the registry's files are."""
    return json.dumps(entry, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def to_fill_in(value: object, place: str = "") -> Iterator[str]:
    """Yield where an entry has no value.

    >>> list(to_fill_in({"a": None, "b": [{"c": None}], "d": 1}))
    ['a', 'b.c']
    """
    if value is None:
        yield place
    elif isinstance(value, list):
        for each in value:
            yield from to_fill_in(each, place)
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from to_fill_in(each, f"{place}.{key}" if place else key)


def _spent(sheet: Sheet) -> tuple[Budget, Fraction, Pairs]:
    """Return what was spent, with what was bought before: the amount, the δ of lists of texts, and (δ, ε)."""
    bought = sheet.parts[0].together if len(sheet.parts) == 1 else None
    if bought is None:
        return sheet.total, sheet.delta, sheet.pairs
    pure = ((bought.delta, bought.total.amount),) if bought.total.notion == "pure" and bought.delta < 1 else ()
    return bought.total, bought.delta, bought.epsilons or pure


def _variant(sheet: Sheet) -> str:
    """Return the registry's name of the promise."""
    total, delta, _ = _spent(sheet)
    if delta:
        return "Approximate DP"
    return "Pure DP" if total.notion == "pure" else "Zero-concentrated DP"


def _loss(sheet: Sheet) -> dict[str, Any]:
    """Return the promise; numbers are rounded up."""
    first = sheet.parts[0]
    field = unit_field(sheet.whole.privacy_unit)
    total, lists, pairs = _spent(sheet)
    parameters: dict[str, float] = {}
    if pairs:
        delta, epsilon = pairs[0]
        parameters = {"epsilon": _number(epsilon)} | ({"delta": _number(delta)} if delta else {})
    if total.notion == "zcdp" and not lists:
        parameters["rho"] = _number(total.amount)
    told = [f"Cost: {sheet.cost}", *(line for part in sheet.parts for line in part.bought_before())]
    return {
        "privacy_unit": "row" if field is None else field,
        "privacy_unit_details": sheet.protected,
        "number_of_privacy_units": first.released_rows if field is None and first.released_rows else None,
        "privacy_parameters": parameters,
        "privacy_parameters_details": " ".join([*dict.fromkeys(told), sheet.attack]),
    }


def _unprotected(sheet: Sheet) -> str | None:
    """Say which numbers of the release the certificate knows to be without noise."""
    fields = ", ".join(sheet.assumed_fields)
    found = [f"Bounds and lists of {fields}, which were taken from the table."] if fields else []
    if any(part.public_rows is not None for part in sheet.parts):
        found.append("The number of rows.")
    tables = (table for part in sheet.parts for table in part.public_tables if table.hold == "exact")
    found += [f"A public table of {', '.join(table.columns)}." for table in tables]
    return " ".join(found) or None


def _implementation(sheet: Sheet) -> dict[str, Any]:
    """Return what ran."""
    lines = [line for part in sheet.parts for line in part.lines]
    kinds = dict.fromkeys("choice" if line.noise is None else line.noise.kind for line in lines)
    names = {"laplace": "discrete Laplace noise", "gaussian": "discrete Gaussian noise", "choice": "random choice"}
    settings = [{key: value for key, value in part.settings.items() if value is not None} for part in sheet.parts]
    known = [
        f"{each.kind}: {each.value:.3g}; {each.text}."
        for part in sheet.parts
        for each in part.accuracy
        if each.value is not None and each.kind in {ALL_PAIRS, CERTIFIED, ROWS_WITHIN}
    ]
    codes = ", ".join(dict.fromkeys(part.code for part in sheet.parts if part.code))
    by = f"{sheet.made}, code {codes}" if codes else sheet.made
    noise = ", ".join(names[kind] for kind in kinds)
    amount = "epsilon" if sheet.total.notion == "pure" else "rho"
    files = [] if sheet.issued is None else sheet.issued.files
    return {
        "preprocessing_and_hyperparameter_tuning": sheet.together and f"Bought before: {sheet.together}",
        "mechanisms": f"{sheet.mechanism} ({json.dumps(settings, ensure_ascii=False)}): {noise}; {by}.",
        "composition": f"Sequential: the {amount} of {counted_lines(lines)} are added up, exactly.",
        "post_processing": "Rows are drawn from the released model, which private rows enter by these answers alone.",
        "justification": None,
        "utility": " ".join(known) or None,
        "additional_information": " ".join(file_text(each) for each in files) or None,
    }


def _number(amount: Fraction) -> float:
    """Return an amount with six digits, rounded up."""
    return float(at_least(amount, 6))
