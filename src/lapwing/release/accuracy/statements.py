"""What a certificate proves about the accuracy of a release, each as one plain sentence with its figure."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from lapwing.model.accuracy import Basis, Statement
from lapwing.model.certificate.certificate import ROWS_WITHIN, Certificate
from lapwing.model.certificate.certificate import Statement as Certified


@dataclass(frozen=True, slots=True)
class _Form:
    """How statements of one kind of certificate are told: the words that stand for the figure, and what proves them."""

    words: tuple[str, str]
    unit: str
    basis: Basis
    source: str
    is_bound: bool = False


_PAGES: Final = "docs/after-the-release.md"
_SHARE: Final = "share of the rows"
_LINEAR: Final = "docs/linear-statistics.md"
_FORMS: Final[Mapping[str, _Form]] = MappingProxyType(
    {
        "noise on each count": _Form(
            ("this standard deviation, in records", "a standard deviation of {} rows"), "rows", "theorem", _PAGES
        ),
        "expected distance": _Form(
            ("at most this", "at most {}"), "rows", "theorem", "He, Vershynin, Zhu (2023), Theorem 4.2"
        ),
        "largest cell": _Form(("this diameter", "a diameter of {}"), "of a column's length", "model", "docs/pmm.md"),
        "cells": _Form(("so many cells", "{} cells"), "cells", "model", "docs/kd-tree.md"),
        "share of rows in kept cells": _Form(("this part", "a share of {}"), _SHARE, "model", _PAGES),
        "certified error": _Form(
            ("further from the table's, as a share of the rows,", "further from the table's than {} of the rows,"),
            _SHARE,
            "certificate",
            _LINEAR,
            is_bound=True,
        ),
        "certified error of a table": _Form(
            ("further from its share of the rows", "further than {} from its share of the rows"),
            _SHARE,
            "certificate",
            _LINEAR,
            is_bound=True,
        ),
        "certified error of a statistic": _Form(
            ("no further from the table's", "no further than {} from the table's"), "", "certificate", _LINEAR, True
        ),
        "fit": _Form(("", ""), _SHARE, "model", _LINEAR),
        "gap": _Form(("more than this", "more than {}"), _SHARE, "certificate", _LINEAR),
        "effective points": _Form(("so many", "{}"), "points", "model", _LINEAR),
        "condition number": _Form(("", ""), "", "model", _LINEAR),
        "error of the draw": _Form(
            ("further than this, in shares,", "further than {}, in shares,"),
            _SHARE,
            "theorem",
            "Hoeffding's inequality",
            is_bound=True,
        ),
        "states without rows": _Form(("so many", "{}"), "columns", "model", "docs/adaptive.md"),
        "rows where none were seen": _Form(("this share", "a share of {}"), _SHARE, "model", "docs/adaptive.md"),
        "values not told apart": _Form(("this share", "a share of {}"), _SHARE, "model", "docs/adaptive.md"),
        "rows drawn": _Form(("", ""), "rows", "model", "docs/private-sampling.md"),
        "distance of the density": _Form(("", ""), "total variation", "theorem", "docs/private-sampling.md"),
    }
)
_DISTANCES: Final[Mapping[str, _Form]] = MappingProxyType(
    {
        "PSMM": _Form(
            ("at most this", "at most {}"), "of a column's length", "simulation", "docs/pmm.md", is_bound=True
        ),
        "": _Form(("at most this", "at most {}"), "of a column's length", "simulation", "docs/pmm.md", is_bound=True),
    }
)
_ELSE: Final = _Form(("at most this", "at most {}"), "", "certificate", _PAGES)
_SMALL: Final = 1e-6
_WHOLE: Final = 1e9
_STATED: Final = 0.95
"""Confidence of the bounds that a mechanism states without a setting for it."""


def certificate_statements(certificate: Certificate) -> tuple[Statement, ...]:
    """Return what a certificate states about accuracy, as sentences that stand alone.

    Returns one for each statement of the certificate, in its order, but that on the number of rows, which has one of
    its own at any confidence.
    """
    return tuple(_told(each, certificate) for each in certificate.accuracy if each.kind != ROWS_WITHIN)


def _told(stated: Certified, certificate: Certificate) -> Statement:
    """Return one statement of a certificate as a sentence."""
    form = _FORMS.get(stated.kind, _ELSE)
    if stated.kind == "distance":
        form = _DISTANCES.get(certificate.mechanism, _DISTANCES[""])
    confidence = None
    if form.is_bound:
        own = certificate.settings.get("confidence")
        confidence = float(own) if isinstance(own, int | float) and 0 < own < 1 else _STATED
    return Statement(
        key="_".join(stated.kind.lower().split()),
        text=_sentence(stated, form),
        value=stated.value,
        unit=form.unit,
        confidence=confidence,
        basis=form.basis,
        source=form.source,
    )


def _sentence(stated: Certified, form: _Form) -> str:
    """Write the figure into the certificate's words."""
    text = stated.text.replace("of 1 noisy tables", "of 1 noisy table", 1)
    text = text.replace("so many cells has the grid", "the grid has so many cells", 1)
    if stated.value is not None:
        old, new = form.words
        figure = _figure(stated.value)
        text = text.replace(old, new.format(figure), 1) if old and old in text else f"{text}: {figure}"
    return text[0].upper() + text[1:] + "."


def _figure(value: float) -> str:
    """Return a figure as text."""
    if value and abs(value) < _SMALL:
        return f"less than {_SMALL:g}"
    return f"{value:.0f}" if float(value).is_integer() and abs(value) < _WHOLE else f"{value:.4g}"
