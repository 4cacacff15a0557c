"""What stands before every page: who may ask, how much they may send, and what no answer leaves out.

A page of another site can make a browser send requests here. It cannot know the token, name this host as its origin or
read what comes back; each of the three is checked.
"""

import hmac
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qs, parse_qsl

from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_FORM: Final = 1 << 20
"""Bytes of a form."""

UPLOAD: Final = "/upload"
"""The one path that takes a file, as the body of a request of the studio's own script."""

_CONTENT: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-src 'self'; frame-ancestors 'self'; base-uri 'none'"
)
REPORT_CONTENT: Final = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
"""The content policy of a report that is shown within a page: it runs nothing, and fetches nothing."""

_HEADERS: Final = {
    "content-security-policy": _CONTENT,
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",  # without one, a browser would say of forms that their origin is null
    "x-content-type-options": "nosniff",
}
_ENTRY: Final = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Lapwing studio</title>'
    '<meta http-equiv="refresh" content="0; url=/"><link rel="icon" href="data:,">'
    '<p><a href="/">Lapwing studio</a></p></html>'
)
"""What leads on from the printed address. Were it a redirect, a browser that came from elsewhere would not send the
cookie, as the way would still be one from another site."""
_ONCE: Final = ("host", "origin", "content-length", "content-type", "sec-fetch-site", "x-form-key", "cookie")
"""Headers that decide: a browser sends each of them once."""
_MOST_PATH: Final = 1000
_ODD_PATH: Final = re.compile(r"\\|//|%2f|%5c|%00|%2e|(^|/)\.\.?(/|$)|[\x00-\x1f]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Keys:
    """What a browser must show: the token of this process, and what its own forms carry."""

    token: str = field(default_factory=lambda: os.urandom(32).hex())
    form: str = field(default_factory=lambda: os.urandom(32).hex())


class _RefusedError(Exception):
    """A request that goes no further."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status = status


class Guard:
    """Let through what the studio's own pages ask for in the browser that was given the token."""

    def __init__(self, app: ASGIApp, keys: Keys, port: int, is_own: Callable[[object], bool]) -> None:
        self._app, self._keys, self.is_own = app, keys, is_own
        self._hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        self._cookie = f"lapwing-{port}"  # cookies are shared by all ports of a host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        begun = False

        async def guarded(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                message = {**message, "headers": _with_headers(message["headers"])}
            await send(message)

        try:
            if await self._entered(scope, guarded):
                return
            await self._app(scope, await self._checked(scope, receive), guarded)
        except _RefusedError as error:
            await _answer(guarded, error.status, str(error))
        except Exception as error:  # its text, and a traceback, could hold what no page may show
            if not begun:
                await _answer(guarded, 500, f"Something went wrong ({type(error).__name__}). Nothing more is told.")

    async def _entered(self, scope: Scope, send: Send) -> bool:
        """Take the token from the address that the studio printed, and put it where no address shows it."""
        headers = _headers(scope)
        if not self.is_own(scope["client"]):
            raise _RefusedError(403, "The studio answers only the user of this machine who started it.")
        if headers.get("host") not in self._hosts:
            raise _RefusedError(421, "This address is not the studio's.")
        if len(_raw_path(scope)) > _MOST_PATH or _ODD_PATH.search(_raw_path(scope)):
            raise _RefusedError(404, "There is no such page.")
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token")
        if given is None or scope["method"] != "GET" or scope["path"] != "/":
            return False
        if not hmac.compare_digest(given[0].encode(), self._keys.token.encode()):
            raise _RefusedError(403, "This is not the token of this studio: open the address that it printed.")
        cookie = f"{self._cookie}={self._keys.token}; Path=/; HttpOnly; SameSite=Strict"
        kind = (b"content-type", b"text/html; charset=utf-8")
        secret = (b"referrer-policy", b"no-referrer")  # nor does the next page learn the token
        await _send(send, 200, [kind, secret, (b"set-cookie", cookie.encode())], _ENTRY)
        return True

    async def _checked(self, scope: Scope, receive: Receive) -> Receive:
        """Refuse what is not from the studio's own pages; a form is read here, and stands in the request's state."""
        headers, method = _headers(scope), scope["method"]
        given = _cookies(headers.get("cookie", ""), self._cookie)
        if not any(hmac.compare_digest(each.encode(), self._keys.token.encode()) for each in given):
            raise _RefusedError(403, "Open the address that `lapwing studio` printed: it holds the token.")
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            raise _RefusedError(403, "Another site asked for this page.")
        if method in ("GET", "HEAD"):
            return receive
        if method != "POST":
            raise _RefusedError(405, "Pages are read, and forms are sent; nothing else.")
        if headers.get("origin") not in [f"http://{host}" for host in self._hosts]:
            raise _RefusedError(403, "Another site sent this form.")
        if scope["path"] == UPLOAD:
            self._check_key(headers.get("x-form-key", ""))
            return receive
        if headers.get("content-type", "").partition(";")[0] != "application/x-www-form-urlencoded":
            raise _RefusedError(415, "This is no form of the studio.")
        form = parse_qsl((await _body(receive)).decode(errors="replace"), keep_blank_values=True)
        self._check_key(dict(form).get("key", ""))
        scope.setdefault("state", {})["form"] = [(name, value) for name, value in form if name != "key"]
        return receive

    def _check_key(self, given: str) -> None:
        if not hmac.compare_digest(given.encode(), self._keys.form.encode()):
            raise _RefusedError(403, "This form is not of this studio, or of an earlier one: load the page again.")


def _headers(scope: Scope) -> dict[str, str]:
    """Return the headers of a request; one that comes twice is refused where it decides."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        if key in found and key in _ONCE:
            raise _RefusedError(400, "A header was sent twice.")
        found[key] = value.decode("latin-1")
    return found


def _raw_path(scope: Scope) -> str:
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    return raw.decode("latin-1")


def _cookies(header: str, name: str) -> list[str]:
    """Return the values of a cookie: other ports of this host can set more of its name, and odd ones beside it."""
    pairs = [each.strip().partition("=") for each in header.split(";")]
    return [value for key, _, value in pairs if key == name]


async def _body(receive: Receive) -> bytes:
    """Return the body of a form, unless it is too long."""
    found = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _RefusedError(400, "The form ended before its time.")
        found += message.get("body", b"")
        if len(found) > MOST_FORM:
            raise _RefusedError(413, "This form is too long.")
        if not message.get("more_body", False):
            return bytes(found)


def _with_headers(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return the headers of an answer with those that none leaves out, where it has none of that name."""
    there = {name.lower() for name, _ in headers}
    return [
        *headers,
        *((name.encode(), value.encode()) for name, value in _HEADERS.items() if name.encode() not in there),
    ]


async def _answer(send: Send, status: int, said: str) -> None:
    await _send(send, status, [(b"content-type", b"text/plain; charset=utf-8")], f"{said}\n")


async def _send(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: str) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body.encode()})
