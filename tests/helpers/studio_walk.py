"""Walk through a studio: every link of its pages, and every form, with what stands in it and with what is odd."""

import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from helpers.studio import Answer, Visitor
from helpers.studio_forms import Form, form_to, read, ways

ODD = {
    "nothing": lambda _: "",
    "a zero": lambda value: f"{value}\0",
    "a script": lambda _: "<script>alert(1)</script>",
    "a long text": lambda _: "x" * 3000,
    "a number that is none": lambda _: "nan",
    "a large number": lambda _: "9" * 40,
    "a number below": lambda _: "-1",
    "lines": lambda value: f"{value}\r\n\r\n{value}",
    "the way up": lambda _: "../../../etc/passwd",
    "another alphabet": lambda _: "\u202e\u0661\u06f2\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
}
"""What is put into every field of a form, one kind at a time."""


@dataclass(frozen=True, slots=True)
class Visit:
    """One request of a walk, and what came back."""

    method: str
    path: str
    form: Mapping[str, Any]
    answer: Answer


@dataclass(slots=True)
class Walk:
    """All that a visitor asks, one after the other.

    avoid: ends of the addresses of forms that are not sent.
    """

    visitor: Visitor
    avoid: tuple[str, ...] = ()
    visits: list[Visit] = field(default_factory=list)
    _queue: "deque[str]" = field(default_factory=deque)
    _seen: set[object] = field(default_factory=set)
    _forms: dict[object, Form] = field(default_factory=dict)

    def get(self, path: str) -> Answer:
        """Read a page, and note its links."""
        return self._note("GET", path, {}, self.visitor.get(path))

    def post(self, path: str, form: Mapping[str, Any]) -> Answer:
        """Send a form, and note where it leads."""
        return self._note("POST", path, form, self.visitor.post(path, form))

    def upload(self, name: str, content: bytes) -> Answer:
        """Add a file."""
        return self._note("POST", "/upload", {}, self.visitor.upload(name, content))

    def fill(self, page: str, action: str, changes: Mapping[str, Any]) -> Answer:
        """Read a page, and send its form whose address ends so, with changes."""
        form = form_to(self.get(page), action)
        return self.post(
            form.action, {**{name: each for name, each in form.fields.items() if name != "key"}, **changes}
        )

    def read_all(self, *starts: str) -> None:
        """Read all pages that can be reached by links."""
        self._queue.extend(starts)
        while self._queue:
            path = self._queue.popleft()
            if path not in self._seen:
                self._seen.add(path)
                self.get(path)

    def send_all(self, *only: str, kind: str = "") -> None:
        """Send the forms of the pages that were read, once for each of their buttons.

        only: what their addresses begin with; kind: of odd values for their fields; each form gets every third kind, or
        another one that differs from it in numbers alone, as of another column.
        """
        asked = [form for form in self._forms.values() if form.method == "POST" and form.action.startswith(only)]
        asked = [form for form in asked if not form.action.endswith(self.avoid)]
        if kind:
            alike: dict[object, list[Form]] = {}
            for form in asked:
                alike.setdefault((re.sub(r"\d+", "", form.action), tuple(sorted(form.fields))), []).append(form)
            place = [*ODD].index(kind)
            asked = [each[place % len(each)] for turn, each in enumerate(alike.values()) if (turn + place) % 3 == 0]
        change = ODD[kind] if kind else str
        for form in asked:
            self.post(form.action, {name: [*map(change, each)] for name, each in form.fields.items() if name != "key"})

    def read_again(self) -> None:
        """Read all pages again that can be reached from the first one."""
        self._seen.clear()
        self.read_all("/")

    def _note(self, method: str, path: str, form: Mapping[str, Any], answer: Answer) -> Answer:
        self.visits.append(Visit(method, path, form, answer))
        found = [answer.at] if answer.at else []
        if answer.header("content-type").startswith("text/html"):
            page = read(answer)
            found += [*page.links, *page.watched]
            # Once for each button, and as they are sent while one types.
            for way in (way for each in page.forms for way in ways(each)):
                self._forms.setdefault((way.action, tuple(sorted(way.fields))), way)
        for link in found:
            split = urlsplit(link)
            if not split.scheme and not split.netloc and split.path:
                self._queue.append(split.path + (f"?{split.query}" if split.query else ""))
        return answer
