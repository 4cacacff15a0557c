"""What is proved, or known of a model: a code, its fields and a figure, of which documents make sentences."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Literal, NamedTuple, Self

from lapwing.errors import ParameterError
from lapwing.maths.arrays import Frozen
from lapwing.model.certificate.notices import Catalogue
from lapwing.on_demand import Describable

Basis = Literal["theorem", "certificate", "interval", "simulation", "model"]

MOST: Final = 1e300
SHARE: Final = "share of the rows"
VARIATION: Final = "total variation"
LENGTH: Final = "of a column's length"
FARTHEST: Final = "of the largest distance"
COORDINATE: Final = "of a coordinate's unit"
STATISTIC: Final = "of a statistic's unit"

UNITS: Final = {
    "rows": MOST,
    SHARE: 1.0,
    VARIATION: 1.0,
    LENGTH: 1.0,
    FARTHEST: 1.0,
    COORDINATE: MOST,
    STATISTIC: MOST,
    "cells": MOST,
    "columns": MOST,
    "points": MOST,
    "times": MOST,
    "": MOST,
}
"""What figures are measured in, and the most that there is: a bound above it says no more than this."""

STATED: Final = 0.95
"""Confidence of bounds that name none."""


class Form(NamedTuple):
    """Say what statements of a code are.

    unit: one of `UNITS`; None where a field names it; fields: their types; basis: proved before the noise was drawn;
    proved from the noise's law and the answers of one release; a confidence interval; found by simulating the noise; a
    property of the released model; is_bound: whether it holds with a probability; is_widened: whether it grows by what
    rules and public tables move; is_expected: whether it says what a release will be, before there is one.
    """

    unit: str | None
    fields: Mapping[str, Any] = {}
    basis: Basis = "certificate"
    source: str = "docs/accuracy.md"
    is_bound: bool = False
    is_widened: bool = False
    is_expected: bool = False


_Names = tuple[str, ...]
_LINEAR: Final = "docs/linear-statistics.md"
_DRAWN: Final = "docs/private-sampling.md"
_ADAPTIVE: Final = "docs/adaptive.md"
_bound = partial(Form, is_bound=True)
_expected = partial(Form, is_expected=True)
_of_model = partial(Form, basis="model")
_of_rows = partial(Form, "rows", {"rows": int, "confidence": float}, basis="interval", is_bound=True)
_of_pairs = partial(_bound, is_widened=True)
_of_cells = partial(_of_model, "cells", source="docs/kd-tree.md")
_CONFIDENT: Final = {"confidence": float, "unit": str}
_DISTANCE: Final = {"columns": _Names}
_OWN: Final = {**_DISTANCE, "metric": str, "farthest": float, "measure": str}
_SIMULATED: Final = {"draws": int, "error": float}
_IN_TREE: Final = {"halvings": int}

NOT_PROVED: Final = (
    "not_proved_inside_cells",
    "not_proved_of_tables",
    "not_proved_of_uncounted",
    "not_proved_unmeasured",
    "not_proved_beyond_degree",
    "not_proved_beyond_workload",
)
"""What no bound is proved for."""

FORMS: Final[Mapping[str, Form]] = {
    # of every release
    "noise_on_counts": Form("rows", {"kind": str, "tables": int}, "theorem"),
    "noise_on_kept_counts": Form("rows", {"kind": str, "tables": int}, "theorem"),
    "noise_on_means": Form(COORDINATE, {"kind": str, "tables": int}, "theorem"),
    "number_of_rows": _of_rows(),
    "number_of_fitting_rows": _of_rows(),
    "public_number_of_rows": Form("rows", {"rows": int}, "interval"),
    "other_number_of_rows": Form("rows", {"public": int, "rows": int}, "interval"),
    "every_measured_count": _bound("rows", {"tables": int, "rows": int, "confidence": float}, "interval"),
    **dict.fromkeys(NOT_PROVED, _of_model("")),
    # of rules and public tables
    "moved_by_rules": Form(SHARE, {"atoms": int}),
    "moved_by_endless_rules": Form(SHARE, {"atoms": int, "columns": _Names}),
    "moved_to_table": Form(SHARE, {"columns": _Names}),
    "moved_in_all": Form(SHARE),
    # of trees and cells
    "distance": _bound(LENGTH, _DISTANCE, "simulation", is_widened=True),
    "distance_unknown": Form(LENGTH, _DISTANCE, "simulation", is_widened=True),
    "own_distance": _bound(FARTHEST, _OWN, "simulation", source="docs/pmm.md", is_widened=True),
    "expected_own_distance": _expected(FARTHEST, {"rows": int, **_OWN}, source="docs/pmm.md"),
    "largest_own_cell": _of_model(FARTHEST, {"cells": int, "metric": str}, source="docs/pmm.md"),
    "largest_cell": _of_model(LENGTH, {"cells": int}, source="docs/pmm.md"),
    "largest_cell_in_steps": _of_model(LENGTH, {"cells": int}, source="docs/pmm.md"),
    "expected_distance": _expected(LENGTH, {"rows": int, **_DISTANCE}),
    "expected_simulated_distance": _expected(LENGTH, {"rows": int, **_DISTANCE, **_SIMULATED}),
    "simulated_bound": _expected(LENGTH, _SIMULATED),
    "published_bound": _expected(LENGTH, {"depth": int, "theorem": str}),
    "theorem_3_6": _expected(LENGTH, {"factor": float}),
    "cells_of_grid": _of_cells(_IN_TREE),
    "cells_of_kept_grid": _of_cells({**_IN_TREE, "threshold": int}),
    "cells_of_tree": _of_cells({**_IN_TREE, "more": int}),
    "cells_of_kept_tree": _of_cells({**_IN_TREE, "more": int, "threshold": int}),
    "share_kept": _of_model(SHARE, {"cells": int}, source="docs/after-the-release.md"),
    "expected_largest_noise": _expected("rows"),
    "expected_leaf_noise": _expected("rows"),
    "expected_cell_noise": _expected("rows"),
    "expected_elsewhere": _expected(VARIATION),
    # of vectors
    "cells_of_directions": _of_cells({"directions": int}),
    "cells_of_vectors": _of_cells({"coordinates": int}),
    "expected_mean_noise": _expected(COORDINATE),
    "expected_mean_noise_of_all": _expected(COORDINATE),
    "error_of_all_pairs": _of_pairs(SHARE),
    "error_of_all_halved_pairs": _of_pairs(SHARE),
    "error_of_all_products": _bound(COORDINATE),
    "noise_over_all_pairs": Form(SHARE),
    "noise_over_all_products": Form(COORDINATE),
    "expected_statistic_noise": _expected(None, {"statistics": int, "unit": str}),
    "largest_statistic_noise": Form(None, _CONFIDENT),
    "certified_error": _bound(None, _CONFIDENT, source=_LINEAR),
    "certified_error_of_table": _bound(SHARE, {"columns": _Names, "confidence": float}, source=_LINEAR),
    "certified_error_of_statistic": _bound(STATISTIC, {"statistic": str, "confidence": float}, source=_LINEAR),
    "fit": _of_model(STATISTIC, source=_LINEAR),
    "gap": Form(STATISTIC, source=_LINEAR),
    "effective_points": _of_model("points", {"points": int}, source=_LINEAR),
    "spread_of_weights": _of_model("times", source=_LINEAR),
    # of single columns and their tables
    "expected_variation": _expected(VARIATION, {"rows": int}),
    "expected_column_variation": _expected(VARIATION, {"column": str, "groups": int}),
    "expected_map_noise": _expected("rows"),
    "expected_chosen_noise": _expected(VARIATION, {"cells": int, "rows": int}),
    "expected_one_way_noise": _expected(VARIATION, {"cells": int, "rows": int}),
    "noise_on_chosen_table": Form("rows"),
    "noise_on_one_way_table": Form("rows"),
    "noise_on_first_table": Form("rows"),
    "states_without_rows": _of_model("columns", source=_ADAPTIVE),
    "rows_unseen": _of_model(SHARE, {"column": str}, source=_ADAPTIVE),
    "rows_undivided": _of_model(SHARE, {"column": str}, source=_ADAPTIVE),
    "strata_counted": Form("", {"column": str}, "theorem", _ADAPTIVE),
    # of rows that are drawn
    "error_of_draw": _bound(SHARE, {}, "theorem", _DRAWN, is_widened=True),
    "rows_drawn": _of_model("rows", {"price": str, "notion": str}, source=_DRAWN),
    "restated_theorem": Form("", source=_DRAWN),
    "distance_of_density": Form(VARIATION, {}, "theorem", _DRAWN),
    # of learned schemas
    "list_learned": _bound("rows", {"field": str}),
    "bounds_learned": _bound("rows", {"field": str}),
    "bounds_not_found": _bound("rows", {"field": str}),
    # of evaluations that are bought
    "mean_variation": _bound(
        VARIATION, {"ways": int, "tables": int, "possible": int, "lower": float, "upper": float, "confidence": float}
    ),
    # of mechanisms that are not Lapwing's
    "own": Form(None, {"label": str, "text": str, "unit": str}),
    "own_words": Form("", {"text": str}),
}
"""What may be stated."""

_CATALOGUE: Final = Catalogue("statement", {code: form.fields for code, form in FORMS.items()}, ("value", "moved"))
_HEADLINES: Final = ("certified_error", "error_of_all_pairs", "error_of_all_halved_pairs")
_refused = partial(ParameterError, code="LW621")


ROWS_WITHIN: Final = ("number_of_rows", "number_of_fitting_rows")
"""Codes that say how far a noisy number of rows may be off."""


@dataclass(frozen=True, slots=True)
class Statement(Describable):
    """State one thing about the accuracy of a release.

    Parameters
    ----------
    code : str
        One of `FORMS`, such as ``distance``; ``own`` for a figure of a mechanism of your own, ``own_words`` for what
        has none.
    value : float or None
        Its figure, finite; of a share at most 1, whatever the bound is. None where nothing is known.
    fields : mapping
        What else the sentence names, such as ``{"columns": ("age",)}``; of ``own`` a label, a text and a unit.
    moved : float or None
        Of a model before rules and public tables were kept: what share of its weight they moved at most, 0 where that
        is not known yet.

    Examples
    --------
    >>> stated = Statement("own", 0.25, {"label": "expected error", "text": "no median is off by more", "unit": ""})
    >>> stated.text
    'No median is off by more: 0.25.'
    """

    code: str
    value: float | None = None
    fields: Mapping[str, Any] = field(default_factory=dict, hash=False)
    moved: float | None = None

    def __post_init__(self) -> None:
        _CATALOGUE.check(self.code, self.fields, value=self.value, moved=self.moved)
        object.__setattr__(self, "fields", Frozen(self.fields))
        if self.unit not in UNITS:
            raise _refused(f"the unit of the statement {self.code!r} must be one of {', '.join(filter(None, UNITS))}")
        if self.value is not None:
            object.__setattr__(self, "value", min(self.value, UNITS[self.unit]))

    @property
    def form(self) -> Form:
        """What statements of its code are."""
        return FORMS[self.code]

    @property
    def unit(self) -> str:
        """What the figure is measured in."""
        return str(self.fields["unit"]) if self.form.unit is None else self.form.unit

    @property
    def confidence(self) -> float | None:
        """With which probability over the noise it holds; None for an expectation or a property of the model."""
        return float(self.fields.get("confidence", STATED)) if self.form.is_bound else None

    @property
    def basis(self) -> Basis:
        """What it rests on."""
        return self.form.basis

    @property
    def source(self) -> str:
        """The page that says more."""
        return self.form.source

    @property
    def figure(self) -> str:
        """The number with its unit."""
        return "" if self.value is None else f"{self.value:.3g}" + f" ({self.unit})" * bool(self.unit)

    @property
    def is_headline(self) -> bool:
        """Whether the certificate's text shows it: the bound on all errors together, or on those of all pairs."""
        return self.code in _HEADLINES and self.value is not None

    @property
    def text(self) -> str:
        """The same as a sentence."""
        return str(self._in_words("text"))

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Return the code, its fields and the figure as plain JSON values."""
        return _CATALOGUE.write(self.code, self.fields, value=self.value, moved=self.moved)

    @classmethod
    def from_dict(cls, values: object) -> Self:
        """Read back what `to_dict` wrote; a ParameterError where a code or a field is not known."""
        code, own = _CATALOGUE.read(values)
        value, moved = own.pop("value"), own.pop("moved")
        found = cls(code, value, own, moved)
        if found.to_dict() != values:  # such as a share above 1
            raise _refused(f"the figures of the statement {code!r} are none that are written; leave them as they were")
        return found
