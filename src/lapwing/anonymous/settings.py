"""The settings of an anonymous table, checked before any row is read."""

from dataclasses import dataclass
from typing import Final, Literal, get_args

from lapwing.errors import ParameterError
from lapwing.schema.scalars import check_row_count, is_among, safe_repr

Variant = Literal["default", "paper"]
Partition = Literal["practical", "mdav"]
Output = Literal["systematic", "shuffle"]
Categories = Literal["random", "mode"]

MOST_ROWS: Final = 10**8
"""Synthetic rows at most."""

_WORDS = {
    "variant": get_args(Variant),
    "partition": get_args(Partition),
    "output": get_args(Output),
    "categories": get_args(Categories),
}


_OF_DEFAULT = ("partition", "improve", "output", "categories")


@dataclass(frozen=True, slots=True, kw_only=True)
class AnonymousSettings:
    """Say how a table is made anonymous; `lapwing.anonymize` tells what each setting means."""

    min_group_size: int = 10
    variant: Variant = "default"
    partition: Partition = "practical"
    improve: bool = True
    output: Output = "systematic"
    categories: Categories = "random"
    rows: int | None = None

    def __post_init__(self) -> None:
        for name, words in _WORDS.items():
            value = getattr(self, name)
            if not is_among(value, words):
                raise ParameterError(f"{name} must be one of {', '.join(words)}, got {safe_repr(value)}", code="LW303")
        size = check_row_count("min_group_size", self.min_group_size, 2, such_as=10, code="LW302")
        object.__setattr__(self, "min_group_size", size)
        if not isinstance(self.improve, bool):
            raise ParameterError(f"improve must be true or false, got {safe_repr(self.improve)}", code="LW304")
        if self.rows is not None:
            object.__setattr__(self, "rows", check_row_count("rows", self.rows, 1, MOST_ROWS, code="LW302"))
        if self.variant == "paper":
            free = type(self)(min_group_size=size, rows=self.rows)
            other = next((name for name in _OF_DEFAULT if getattr(self, name) != getattr(free, name)), None)
            if other is not None:
                raise ParameterError(
                    f"variant paper is Algorithm 1, which has no {other}; leave {other} out, or take variant default",
                    code="LW316",
                )
        if self.output == "shuffle" and self.rows is not None:
            raise ParameterError(
                "output shuffle makes as many rows as are kept; leave rows out, or take another output",
                code="LW316",
            )
        if self.output == "shuffle" and self.categories == "mode":
            raise ParameterError(
                "output shuffle keeps every category; leave out categories mode, or take another output",
                code="LW316",
            )
