"""Pages of a studio as a browser sees them: links, and forms with what stands in their fields."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from typing import Any

from helpers.studio import Answer, Visitor

_CHOSEN = ("radio", "checkbox")


@dataclass(frozen=True, slots=True)
class Form:
    """A form.

    fields: what is sent as it stands; options: what each list or group of choices offers; buttons: the name and value
    that each button adds, and where it sends the form; live: where the script sends it to, as it changes.
    """

    method: str
    action: str
    live: str = ""
    fields: dict[str, list[str]] = field(default_factory=dict)
    options: dict[str, list[str]] = field(default_factory=dict)
    buttons: list[tuple[str, str, str]] = field(default_factory=list)


@dataclass(slots=True)
class _Reader(HTMLParser):
    """Read a page from its start to its end."""

    links: list[str] = field(default_factory=list)
    forms: list[Form] = field(default_factory=list)
    watched: list[str] = field(default_factory=list)
    _select: str = ""
    _area: str | None = None
    _option: dict[str, str] | None = None

    def __post_init__(self) -> None:
        HTMLParser.__init__(self, convert_charrefs=True)

    def handle_starttag(self, tag: str, pairs: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in pairs}
        if tag in ("a", "iframe"):
            self.links.append(said.get("href") or said.get("src", ""))
        if "data-watch" in said:
            self.watched.append(said["data-watch"])
        if tag == "form":
            live = said.get("data-at") or (said.get("action", "") if "data-live" in said else "")
            self.forms.append(Form(said.get("method", "get").upper(), said.get("action", ""), live))
        elif self.forms:
            self._field(tag, said)

    def _field(self, tag: str, said: Mapping[str, str]) -> None:
        form, name = self.forms[-1], said.get("name", "")
        if tag == "button":
            form.buttons.append((name, said.get("value", ""), said.get("formaction", form.action)))
        elif tag == "select":
            self._select = name
        elif tag == "option":
            self._option = dict(said) if "value" not in said else None
            self._offer(form, said.get("value"), "selected" in said)
        elif tag == "textarea":
            self._area = name
            form.fields[name] = [""]
        elif tag == "input" and name:
            self._input(form, name, said)

    def _offer(self, form: Form, value: str | None, is_selected: bool) -> None:
        """Take note of one value of a list, which may still be to come as a text."""
        if value is None:
            return
        form.options.setdefault(self._select, []).append(value)
        if is_selected or self._select not in form.fields:
            form.fields[self._select] = [value]

    def _input(self, form: Form, name: str, said: Mapping[str, str]) -> None:
        value = said.get("value", "on" if said.get("type") in _CHOSEN else "")
        if said.get("type") in _CHOSEN:
            form.options.setdefault(name, []).append(value)
        if said.get("type") not in _CHOSEN or "checked" in said:
            form.fields.setdefault(name, []).append(value)

    def handle_data(self, data: str) -> None:
        if self._option is not None:
            self._offer(self.forms[-1], data.strip(), "selected" in self._option)
            self._option = None
        if self._area is not None:
            form = self.forms[-1]
            form.fields[self._area] = [form.fields[self._area][0] + data]

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            fields = self.forms[-1].fields
            fields[self._area or ""] = [fields[self._area or ""][0].removeprefix("\n")]
            self._area = None


def read(answer: Answer) -> _Reader:
    """Return what a page offers."""
    reader = _Reader()
    reader.feed(answer.text)
    return reader


def form_to(answer: Answer, action: str) -> Form:
    """Return the form of a page whose address ends so."""
    found = [form for form in read(answer).forms if form.action.endswith(action)]
    assert found, (action, [form.action for form in read(answer).forms], answer.text)
    return found[0]


def submit(visitor: Visitor, form: Form, changes: Mapping[str, Any] | None = None, *, button: int = 0) -> Answer:
    """Send a form as it stands but for changes, by one of its buttons."""
    name, value, action = (form.buttons or [("", "", form.action)])[button]
    whole: dict[str, Any] = {**form.fields, **({name: [value]} if name else {}), **(changes or {})}
    return visitor.post(action, {field: values for field, values in whole.items() if field != "key"})


def send(visitor: Visitor, page: str, action: str, changes: Mapping[str, Any] | None = None) -> Answer:
    """Load a page, send one of its forms, and return the page that this leads to."""
    return visitor.follow(submit(visitor, form_to(visitor.get(page), action), changes))


def ways(form: Form) -> list[Form]:
    """Return the ways in which a form is sent: by each of its buttons, and by the script while one types."""
    pressed = [
        replace(form, action=action, fields={**form.fields, **({name: [value]} if name else {})}, buttons=[])
        for name, value, action in form.buttons or [("", "", form.action)]
    ]
    return pressed + ([replace(form, action=form.live, buttons=[])] if form.live else [])
