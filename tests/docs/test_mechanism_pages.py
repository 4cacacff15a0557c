"""The page of each mechanism has the same sections, and its settings and guarantee are those of the code."""

import dataclasses
import re
import struct
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Literal, get_args, get_origin

import pytest

from helpers.source_tree import ROOT
from lapwing.anonymous.settings import AnonymousSettings
from lapwing.errors import ParameterError
from lapwing.mechanisms.registry import MECHANISMS

DOCS = ROOT / "docs"
SECTIONS = [
    "The idea",
    "Guarantee",
    "Accuracy",
    "When to use it, and when not",
    "Cost",
    "Settings",
    "References",
    "Details",
]
PAGES: dict[str, tuple[Any, ...]] = {
    "adaptive.md": (MECHANISMS["adaptive"],),
    "tables.md": (MECHANISMS["tables"], MECHANISMS["independent"]),
    "pmm.md": (MECHANISMS["pmm"], MECHANISMS["psmm"]),
    "kd-tree.md": (MECHANISMS["kdtree"], MECHANISMS["grid"]),
    "microaggregation.md": (MECHANISMS["microaggregation"],),
    "linear-statistics.md": (MECHANISMS["linearstatistics"],),
    "private-sampling.md": (MECHANISMS["privatesampling"],),
    "anonymous.md": (AnonymousSettings,),
}
KINDS = [(page, kind) for page, kinds in PAGES.items() for kind in kinds]
NAMES = [kind.__name__ for _, kind in KINDS]
WITH: dict[tuple[str, str], dict[str, Any]] = {
    ("LinearStatistics", "degree"): {"statistics": ("age >= 65",)},
    ("PMM", "consistency"): {"variant": "paper"},
}
"""What else a setting needs, to be tried alone."""

MOST_BYTES = 60_000


def section(page: str, title: str) -> str:
    """Return the text of one section of a page."""
    return re.split(r"^## ", (DOCS / page).read_text().partition(f"\n## {title}\n")[2], flags=re.MULTILINE)[0]


def table(text: str, first: str) -> list[list[str]]:
    """Return the rows of the table whose first column has this name."""
    lines = text.partition(f"| {first} |")[2].splitlines()[2:]
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def settings_table(page: str, kind: Any) -> dict[str, list[str]]:
    """Return default and allowed values that a page gives each setting, by name."""
    text = section(page, "Settings")
    if len(PAGES[page]) > 1:
        text = text.partition(f"### {kind.__name__}\n")[2].partition("\n### ")[0]
    return {row[0].strip("`"): row[1:] for row in table(text, "setting")}


def said(value: object) -> str:
    """Return a value as a page writes it."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {said(each)}" for key, each in value.items())
    if isinstance(value, tuple | list):
        return ", ".join(said(each) for each in value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and 0 < value < 0.001:
        return f"2^{round(Fraction(value).denominator.bit_length() - 1) * -1}" if _is_power(value) else f"{value:g}"
    if isinstance(value, int) and value >= 2**10 and _is_power(value):
        return f"2^{value.bit_length() - 1}"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _is_power(value: float) -> bool:
    ratio = Fraction(value)
    return all(part & (part - 1) == 0 for part in (ratio.numerator, ratio.denominator))


def number(text: str) -> Fraction:
    """Read a number of a page: with commas, or as a power."""
    base, _, power = text.replace(",", "").partition("^")
    return Fraction(base) ** int(power) if power else Fraction(base)


def accepted(kind: Any, name: str, value: object) -> bool:
    """Return whether a setting may have a value."""
    try:
        kind(**WITH.get((kind.__name__, name), {}), **{name: value})
    except ParameterError:
        return False
    return True


def ranges() -> Iterator[tuple[Any, str, str, Fraction, Fraction]]:
    """Yield the ranges of numbers that pages state."""
    for page, kind in KINDS:
        for name, (_, allowed, *_rest) in settings_table(page, kind).items():
            found = re.match(r"(above )?([\d.,^-]*\d) to ([\d.,^]*\d)", allowed)
            if found:
                yield kind, name, found[1] or "", number(found[2]), number(found[3])


@pytest.mark.parametrize("page", PAGES)
def test_a_page_begins_with_the_same_sections_in_the_same_order(page: str) -> None:
    titles = re.findall(r"^## (.+)$", (DOCS / page).read_text(), flags=re.MULTILINE)

    assert titles == SECTIONS


@pytest.mark.parametrize("page", PAGES)
def test_the_idea_is_a_small_picture_with_words_for_those_who_do_not_see_it(page: str) -> None:
    pictures = re.findall(r"!\[([^]]+)\]\((img/mechanism-[a-z-]+\.png)\)", section(page, "The idea"))

    assert 1 <= len(pictures) <= len(PAGES[page])
    for words, name in pictures:
        data = (DOCS / name).read_bytes()
        assert len(words) >= 60
        assert len(data) <= MOST_BYTES
        assert struct.unpack(">I", data[16:20])[0] <= 1000


@pytest.mark.parametrize(("page", "kind"), KINDS, ids=NAMES)
def test_every_setting_and_its_default_is_on_the_page(page: str, kind: Any) -> None:
    shown = settings_table(page, kind)

    assert list(shown) == [field.name for field in dataclasses.fields(kind)]
    for field in dataclasses.fields(kind):
        default = shown[field.name][0]
        if field.default is None:
            assert default.startswith(("chosen: ", "none")), field.name
        else:
            assert default == (f"`{said(field.default)}`" if field.default != () else "none"), field.name


@pytest.mark.parametrize(("page", "kind"), KINDS, ids=NAMES)
def test_every_setting_says_what_is_allowed_and_where_its_default_comes_from(page: str, kind: Any) -> None:
    for name, (_, allowed, origin) in settings_table(page, kind).items():
        assert allowed, name
        assert len(origin) >= 10, name


def test_ranges_on_the_pages_are_those_that_the_code_accepts() -> None:
    found = list(ranges())

    assert len(found) >= 25
    for kind, name, above, low, high in found:
        annotation = next(field.type for field in dataclasses.fields(kind) if field.name == name)
        is_whole = int in (annotation, *get_args(annotation))
        of = int if is_whole else float
        step = Fraction(1) if is_whole else Fraction(1, 10**8)
        inside = [of(low + step if above else low), of(high)]
        outside = [of(low if above else low - step), of(high + max(step, high / 10**6 if not is_whole else 1))]
        assert [accepted(kind, name, value) for value in (*inside, *outside)] == [True] * 2 + [False] * 2, (kind, name)


@pytest.mark.parametrize(("page", "kind"), KINDS, ids=NAMES)
def test_choices_on_the_pages_are_those_of_the_code(page: str, kind: Any) -> None:
    shown = settings_table(page, kind)
    for field in dataclasses.fields(kind):
        literals = [each for each in (field.type, *get_args(field.type)) if get_origin(each) is Literal]
        choices = [word for each in literals for word in get_args(each)]

        assert all(f"`{word}`" in shown[field.name][1] for word in choices), field.name
        if literals == [field.type]:
            assert sorted(re.findall(r"`([^`]+)`", shown[field.name][1])) == sorted(choices), field.name
        assert all(accepted(kind, field.name, word) for word in choices), field.name


@pytest.mark.parametrize("page", [page for page, kinds in PAGES.items() if kinds != (AnonymousSettings,)])
def test_the_guarantee_of_a_page_leads_to_that_of_the_page_of_guarantees(page: str) -> None:
    assert "](guarantees.md#mechanism-by-mechanism)" in section(page, "Guarantee")


@pytest.mark.parametrize("page", PAGES)
def test_the_page_that_chooses_leads_to_every_mechanism(page: str) -> None:
    assert f"]({page}" in (DOCS / "mechanisms.md").read_text()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2**22, "2^22"),
        (60_000, "60,000"),
        (Fraction(1, 10), "1/10"),
        ({"zcdp": 0.2, "pure": 0.3}, "zcdp 0.2, pure 0.3"),
        (2.0**-16, "2^-16"),
        (1e-06, "1e-06"),
        (True, "true"),
        ((2, 4), "2, 4"),
    ],
    ids=str,
)
def test_values_are_written_in_one_way(value: object, text: str) -> None:
    assert said(value) == text
