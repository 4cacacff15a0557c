import sys
from html.parser import HTMLParser

import pytest

from lapwing.errors import LapwingError
from lapwing.extras.evaluate.report.charts import bars
from lapwing.extras.evaluate.report.page import NOTICE, render
from lapwing.present.document import Chart, Fact, Facts, Page, Section, Table, Text
from lapwing.release.marked import Internal, Releasable

HOSTILE = (
    "</script><script>alert(1)</script><!-- \"'><img src=x onerror=alert(2)> \u202edesrever\u202c \x00 \ud800 {{7*7}} `"
)


class Elements:
    """The elements of a page, with their attributes, and its words."""

    def __init__(self, text: str) -> None:
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        parser = HTMLParser(convert_charrefs=True)
        vars(parser).update(handle_starttag=self._start, handle_data=self._data)
        parser.feed(text)

    def _start(self, tag, attributes):
        self.found.append((tag, dict(attributes)))

    def _data(self, data):
        self.words.append(data)

    def named(self, tag):
        return [attributes for name, attributes in self.found if name == tag]


def page_of(*parts, title="A report", folded=()):
    return Page(title=title, sections=(Section(key="first", title="First", parts=parts, folded=folded),))


def hostile_page():
    chart = bars([HOSTILE, "b"], {"real": [0.5, 0.5]}, title=HOSTILE, meaning=HOSTILE, unit=HOSTILE)
    table = Table(caption=HOSTILE, heading=(HOSTILE, "b"), lines=((HOSTILE, "1"),), numbers=(1,), marked=(0,))
    facts = Facts(facts=(Fact(key="k", label=HOSTILE, text=HOSTILE, note=HOSTILE),))
    return page_of(Text(words=HOSTILE, points=(HOSTILE,), is_warning=True), chart, table, facts, title=HOSTILE)


def test_the_type_of_the_page_decides_on_the_watermark():
    page = page_of(Text(words="words"))

    internal, releasable = Elements(render(Internal(page))), Elements(render(Releasable(page)))

    marks = [each for each in internal.named("span") if each == {}]
    assert len(marks) >= 10
    assert " ".join(internal.words).count(NOTICE) > 10
    assert NOTICE not in " ".join(releasable.words)
    assert internal.named("html")[0]["class"].endswith("internal")
    assert releasable.named("html")[0]["class"].endswith("releasable")


def test_hostile_texts_make_no_element_and_no_script():
    calm = page_of(
        Text(words="w", points=("p",), is_warning=True),
        bars(["a", "b"], {"real": [0.5, 0.5]}, title="t", meaning="m", unit="u"),
        Table(caption="c", heading=("a", "b"), lines=(("x", "1"),), numbers=(1,), marked=(0,)),
        Facts(facts=(Fact(key="k", label="w", text="1", note="n"),)),
        title="t",
    )

    found, expected = Elements(render(Releasable(hostile_page()))), Elements(render(Releasable(calm)))

    assert [tag for tag, _ in found.found] == [tag for tag, _ in expected.found]
    assert {key for _, attributes in found.found for key in attributes if key.startswith("on")} == set()
    assert "alert(1)" in " ".join(found.words)


def test_a_page_has_no_script_and_its_policy_allows_none():
    found = Elements(render(Internal(hostile_page())))

    policy = next(each["content"] for each in found.named("meta") if "http-equiv" in each)
    assert found.named("script") == []
    assert policy.startswith("default-src 'none'; ")
    assert "script" not in policy
    assert "http" not in policy


def test_a_specification_that_is_no_json_is_an_error():
    chart = Chart(title="t", meaning="m", spec={"data": float("nan")})

    with pytest.raises(ValueError):
        render(Releasable(page_of(chart)))


def test_a_library_that_is_missing_is_one_sentence(monkeypatch):
    page = page_of(bars(["a"], {"real": [1.0]}, title="t", meaning="m", unit="u"))
    monkeypatch.setitem(sys.modules, "vl_convert", None)

    with pytest.raises(LapwingError, match=r'(?m)^a report needs vl-convert-python; run .*\[evaluate\]"$'):
        render(Releasable(page))
