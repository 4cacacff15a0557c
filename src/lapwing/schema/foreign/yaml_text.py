"""YAML text that somebody else wrote → plain Python values; PyYAML is imported when first needed."""

from typing import Any, Final

from lapwing.errors import SchemaError
from lapwing.schema.checks import repeated
from lapwing.schema.scalars import quote

MAX_YAML_BYTES: Final = 8 * 2**20
"""Largest YAML file that is read: a megabyte takes some two seconds."""

_MAX_DEPTH: Final = 20


def parse_yaml(content: bytes, what: str) -> Any:  # noqa: ANN401
    """Return the value that the bytes of one YAML document hold.

    content: UTF-8 text of at most 8 MiB, without anchors, nested at most 20 deep. Returns mappings, lists and scalars
    of YAML's own types: dates are dates, and a key may be a number.
    """
    yaml = _library(what)
    if len(content) > MAX_YAML_BYTES:
        raise SchemaError(f"{what} is larger than 8 MiB, the most that is read of YAML; write it as JSON", code="LW202")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SchemaError(f"{what} is not UTF-8 text; save it in that encoding", code="LW202") from None
    try:
        _check_shape(yaml, text, what)
        return yaml.load(text, Loader=_loader(yaml, what))
    except yaml.YAMLError as error:
        raise SchemaError(
            f"{what} is neither JSON nor YAML: {_reason(error)}; correct it there", code="LW202"
        ) from None
    except (ValueError, OverflowError):
        # Scalars that look like numbers and dates and are none: 2020-02-31, an integer of thousands of digits.
        raise SchemaError(
            f"{what} holds a number or date that does not exist; put it in quotes", code="LW202"
        ) from None


def _library(what: str) -> Any:  # noqa: ANN401
    """Return PyYAML."""
    try:
        import yaml  # noqa: PLC0415
    except ImportError:
        raise SchemaError(f"{what} is not JSON; to read YAML, run pip install 'lapwing[yaml]'", code="LW701") from None
    return yaml


def _check_shape(yaml: Any, text: str, what: str) -> None:  # noqa: ANN401
    """Refuse what could not be built in bounded time and stack: aliases, which multiply, and deep nesting.

    The parser's events come one by one, and nothing is built of them.
    """
    depth = 0
    for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        if isinstance(event, yaml.AliasEvent):
            raise SchemaError(f"{what} repeats parts by anchors and aliases (& and *); write them out", code="LW202")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            raise SchemaError(
                f"{what} is nested more than {_MAX_DEPTH} deep; a description of tables needs five levels",
                code="LW202",
            )


def _loader(yaml: Any, what: str) -> Any:  # noqa: ANN401
    """Return PyYAML's safe loader, compiled where there is one, that refuses a key that stands twice."""

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        """The safe loader with `construct_mapping` of this module."""

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:  # noqa: ANN401
            """Return a mapping node as a dict."""
            if isinstance(node, yaml.MappingNode):
                keys = [(key.tag, key.value) for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
                for _, key in repeated(keys):
                    raise SchemaError(f"{what} has the key {quote(key)} twice in one object; remove one", code="LW202")
            return super().construct_mapping(node, deep=deep)

    return Loader


def _reason(error: Any) -> str:  # noqa: ANN401
    """Return what PyYAML found and where, on one line."""
    said = quote(getattr(error, "problem", None) or "characters that YAML does not allow").strip('"')
    mark = getattr(error, "problem_mark", None)
    return said if mark is None else f"{said} at line {mark.line + 1} column {mark.column + 1}"
