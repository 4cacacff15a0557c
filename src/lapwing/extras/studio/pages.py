"""Pages from templates: texts from one file, the room one is in, what every form carries."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, cast

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from lapwing.errors import LapwingError
from lapwing.extras.studio.guard import Keys
from lapwing.extras.studio.jobs import Job, read_job
from lapwing.extras.studio.works import Works
from lapwing.present.document import Fact, Facts
from lapwing.present.html import facts_html, parts_html
from lapwing.present.messages import words_in

_HERE: Final = Path(__file__).resolve().parent
ROOMS: Final = ("schema", "check", "plan", "budget", "release", "look", "hand-over")
"""The rooms of a job, in order; before them is the one where a table is chosen."""


@dataclass(frozen=True, slots=True)
class Studio:
    """One studio: its working folder, the table it was started with, a browser's keys, and the work under way."""

    folder: Path
    first: str = ""
    keys: Keys = field(default_factory=Keys)
    works: Works = field(default_factory=Works)


def texts() -> Mapping[str, Any]:
    """Return all that the studio says, by room and name."""
    return words_in(_HERE / "texts")


def labelled_facts(room: str, said: Mapping[str, str]) -> Facts:
    """Return what a room says, each under its label, that of which there is something to say."""
    return Facts(tuple(Fact(key, texts()[room][key], text) for key, text in said.items() if text))


@cache
def _templates() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    tools: dict[str, Any] = {"facts": facts_html, "parts": parts_html}
    made.globals.update(tools)
    return made


def studio_of(request: Request) -> Studio:
    """Return the studio that a request came to."""
    return cast("Studio", request.app.state.studio)


def job_of(request: Request) -> Job:
    """Return the job that an address names."""
    job = read_job(studio_of(request).folder, request.path_params["job"])
    if job is None:
        raise HTTPException(404)
    return job


def form_of(request: Request) -> dict[str, str]:
    """Return what a form holds; the last of what is there twice."""
    return dict(request.state.form)


def page(request: Request, template: str, *, status: int = 200, room: str = "table", **values: Any) -> Response:  # noqa: ANN401
    """Return a page: `templates/TEMPLATE`, in a room.

    values: what the template shows; ``job``, where it is about one; ``said``, a refusal, shown on top.
    """
    whole = {"job": None, "said": "", **values}
    shown = (
        _templates()
        .get_template(template)
        .render(t=texts(), rooms=ROOMS, room=room, key=studio_of(request).keys.form, **whole)
    )
    return HTMLResponse(shown, status_code=status)


def go(address: str) -> Response:
    """Send the browser on, after a form: a reload does not send it again."""
    return RedirectResponse(address, status_code=303)


def refusal_page(request: Request, error: Exception) -> Response:
    """Return the page of what no room caught: a sentence of ours, which holds no value."""
    if isinstance(error, HTTPException):
        known = texts()["errors"]
        return page(
            request, "refused.html", status=error.status_code, said=known.get(str(error.status_code), known["other"])
        )
    if isinstance(error, OSError):  # its own text names files that say nothing to anybody
        return page(request, "refused.html", status=400, said=texts()["errors"]["files"])
    assert isinstance(error, LapwingError)
    return page(request, "refused.html", status=400, said=str(error))
