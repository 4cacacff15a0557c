"""The public terms of one release: everything that a mechanism may know besides schema, budget and answers."""

from dataclasses import dataclass
from typing import Literal, get_args

from lapwing.errors import ParameterError
from lapwing.schema.scalars import check_row_count, safe_repr

Relation = Literal["add-remove", "replace-one"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Say under which neighbour relation a release is made, and what is public about the number of rows.

    relation: the neighbour relation that every cost is counted under; max_rows: how many rows one privacy unit may own
    (1: a row is its own unit); rows: the public number of rows. Only under replace-one with ``max_rows`` 1; otherwise
    the number is private; expected_rows: a public guess of the number of rows, made without the data.

    >>> Terms(relation="add-remove", max_rows=1).relation
    'add-remove'
    """

    relation: Relation
    max_rows: int = 1
    rows: int | None = None
    expected_rows: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.relation, str) or self.relation not in get_args(Relation):
            raise ParameterError(
                f"neighbours must be one of {', '.join(get_args(Relation))}, got {safe_repr(self.relation)}; "
                "add-remove hides whether a row is there, replace-one what it says",
                code="LW303",
            )
        if self.max_rows < 1:
            raise ParameterError(
                f"max_rows must be at least 1, got {self.max_rows}; give the rows one unit may own", code="LW302"
            )
        if self.expected_rows is not None:
            rows = check_row_count("expected_rows", self.expected_rows, 1, code="LW315")
            object.__setattr__(self, "expected_rows", rows)
        if self.rows is not None and (self.relation != "replace-one" or self.max_rows != 1):
            raise ParameterError(
                "the number of rows is public only under replace-one with one row per unit; leave rows out",
                code="LW314",
            )
