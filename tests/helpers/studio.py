"""A studio that is driven as a browser would: the real server in its own process, or its application in this one."""

import asyncio
import contextlib
import http.client
import os
import re
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from lapwing.extras.studio.app import make_app
from lapwing.extras.studio.guard import REPORT_CONTENT
from lapwing.extras.studio.pages import Studio

SOURCE = Path(__file__).resolve().parents[2] / "src"
PATIENCE_S = 60
APP_PORT = 8765
"""The port that an application in this process believes to be on."""

STRICT = ("default-src 'none'", "script-src 'self';", "frame-ancestors 'self'", "base-uri 'none'", "form-action 'self'")
_KEY = re.compile(r'name="key" value="([0-9a-f]{64})"|data-key="([0-9a-f]{64})"')
_STAMP = re.compile(r'name="stamp" value="([0-9a-f]+)"')
_SPENDING = ("/release", "/buy")
_START = "from lapwing.cli.main import run; run()"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode(errors="replace")

    @property
    def words(self) -> str:
        """What is read of a page, in one line."""
        return " ".join(unescape(re.sub(r"<[^>]+>", " ", self.text)).split())

    @property
    def at(self) -> str:
        """Where it sends the browser on to."""
        return self.header("location")

    def header(self, name: str) -> str:
        """Return a header, empty where it is not there."""
        return next((value for key, value in self.headers if key.lower() == name), "")


def is_strict(answer: Answer) -> bool:
    """Return whether a page may run nothing but the studio's own script, or is a report that runs nothing at all."""
    policy = answer.header("content-security-policy")
    is_own = all(each in policy for each in STRICT) and answer.header("cache-control") == "no-store"
    return policy == REPORT_CONTENT or (is_own and "unsafe" not in policy)


def tree(folder: Path) -> dict[str, bytes | None]:
    """Return all that lies in a folder, by name."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")
    }


@dataclass(slots=True)
class Visitor:
    """A browser with its cookie.

    send: takes method, address, headers and body, and returns the answer; host: as the browser names it; token: what
    the studio printed.
    """

    send: Callable[[str, str, Sequence[tuple[str, str]], bytes], Answer]
    host: str
    token: str
    cookie: str = ""
    _key: str = ""

    def enter(self) -> Answer:
        """Open the address that the studio printed, and keep its cookie."""
        answer = self.ask("GET", f"/?token={self.token}")
        self.cookie = answer.header("set-cookie").partition(";")[0]
        return answer

    @property
    def key(self) -> str:
        """What every form carries, read from the first page."""
        if not self._key:
            found = _KEY.search(self.get("/").text)
            assert found is not None
            self._key = found[1] or found[2]
        return self._key

    def ask(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str | None] | None = None) -> Answer:
        """Send a request as the studio's own pages would; headers change what it says, None leaves one out."""
        said: dict[str, str | None] = {"host": self.host, "cookie": self.cookie or None}
        if method == "POST":
            said |= {"origin": f"http://{self.host}", "content-type": "application/x-www-form-urlencoded"}
        if body or method == "POST":
            said["content-length"] = str(len(body))
        said |= headers or {}
        return self.send(method, path, [(name, value) for name, value in said.items() if value is not None], body)

    def get(self, path: str, headers: Mapping[str, str | None] | None = None) -> Answer:
        """Read a page."""
        return self.ask("GET", path, headers=headers)

    def post(
        self, path: str, form: Mapping[str, Any] | None = None, headers: Mapping[str, str | None] | None = None
    ) -> Answer:
        """Send a form with its key; a value that is a list is a field that is there more than once.

        A form that spends carries the stamp of its page as it is now, unless another one is given.
        """
        if path.endswith(_SPENDING) and "stamp" not in (form or {}):
            found = _STAMP.search(self.get(path).text)
            form = {**(form or {}), "stamp": "" if found is None else found[1]}
        body = urlencode({"key": self.key, **(form or {})}, doseq=True).encode()
        return self.ask("POST", path, body, headers)

    def upload(self, name: str, content: bytes, headers: Mapping[str, str | None] | None = None) -> Answer:
        """Add a file, as the studio's script does."""
        said = {"x-form-key": self.key, "x-name": name, "content-type": "application/octet-stream"}
        return self.ask("POST", "/upload", content, {**said, **(headers or {})})

    def follow(self, answer: Answer) -> Answer:
        """Go where an answer sends the browser."""
        while answer.status == 303:
            answer = self.get(answer.at)
        return answer

    def wait(self, path: str, until: Callable[[Answer], object], seconds: float = PATIENCE_S) -> Answer:
        """Load a page again and again, the less often the longer it takes, until something is so."""
        deadline, pause = time.monotonic() + seconds, 0.02
        while not until(answer := self.get(path)):
            assert time.monotonic() < deadline, f"waited in vain at {path}: {answer.text}"
            time.sleep(pause)
            pause = min(2 * pause, 0.5)
        return answer

    def work(self, path: str, form: Mapping[str, Any] | None = None) -> Answer:
        """Send a form that begins a work of its room, and wait until this is done."""
        answer = self.post(path, form)
        room = re.match(r"/job/[^/]+/[^/]+", path)
        assert room is not None
        self.wait(f"{room[0]}/work", lambda page: "data-done" in page.text)
        return answer


@dataclass(slots=True)
class Running:
    """A studio in a process of its own; said: all that it printed so far."""

    process: "subprocess.Popen[bytes]"
    visitor: Visitor
    address: str
    port: int
    said: bytearray = field(default_factory=bytearray)

    def raw(self, request: bytes, *, seconds: float = 10, ends: bool = True) -> bytes:
        """Send bytes as they are, and return what comes until the server closes the connection or is silent."""
        with socket.create_connection(("127.0.0.1", self.port), seconds) as stream:
            found = bytearray()
            with contextlib.suppress(OSError):  # it may have refused before it read all
                stream.sendall(request)
                if ends:
                    stream.shutdown(socket.SHUT_WR)
            with contextlib.suppress(TimeoutError, ConnectionResetError):
                while piece := stream.recv(1 << 16):
                    found += piece
            return bytes(found)

    def stop(self, how: signal.Signals = signal.SIGINT, seconds: float = PATIENCE_S) -> bytes:
        """End it, and return all that it printed on both streams."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        rest, _ = self.process.communicate(timeout=seconds)
        self.said += rest
        return bytes(self.said)


@contextlib.contextmanager
def running(
    place: Path, *arguments: str, settings: Mapping[str, str] | None = None, start: str = _START
) -> Iterator[Running]:
    """Start a studio for a folder or a table, as a user does; end it at the end.

    Its notes of tables go to a folder beside; settings: of its environment; start: what Python is to do.
    """
    state = place.parent / f"{place.name}-state"
    environment = {
        **os.environ,
        "PYTHONPATH": str(SOURCE),
        "XDG_STATE_HOME": str(state),
        "OMP_NUM_THREADS": "1",
        "POLARS_MAX_THREADS": "1",
        **(settings or {}),
    }
    process = subprocess.Popen(
        [sys.executable, "-c", start, "studio", str(place), "--no-browser", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        cwd=place if place.is_dir() else place.parent,
    )
    try:
        said = _until_address(process)
        address = re.search(rb"http://\S+", said)
        assert address is not None, said
        found = urlsplit(address[0].decode())
        assert found.port is not None
        host = f"127.0.0.1:{found.port}"
        visitor = Visitor(_over_http(found.port), host, found.query.partition("=")[2])
        studio = Running(process, visitor, address[0].decode(), found.port, bytearray(said))
        visitor.enter()
        yield studio
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def _until_address(process: "subprocess.Popen[bytes]") -> bytes:
    """Return what a studio prints, up to its address."""
    assert process.stdout is not None
    found, deadline = bytearray(), time.monotonic() + PATIENCE_S
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while not re.search(rb"http://\S+\n", found):
            assert selector.select(deadline - time.monotonic()), f"the studio does not start: {found!r}"
            piece = os.read(process.stdout.fileno(), 1 << 16)
            assert piece, f"the studio ended: {found!r}"
            found += piece
    return bytes(found)


def _over_http(port: int) -> Callable[[str, str, Sequence[tuple[str, str]], bytes], Answer]:
    def send(method: str, path: str, headers: Sequence[tuple[str, str]], body: bytes) -> Answer:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)) as connection:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in headers:
                connection.putheader(name, value)
            connection.endheaders(body)
            found = connection.getresponse()
            return Answer(found.status, tuple(found.getheaders()), found.read())

    return send


def in_process(folder: Path, first: str = "") -> Visitor:
    """Return a visitor, already let in, of an application that is called in this process, without a server.

    first: the table that it was started with.
    """
    studio = Studio(folder, first)
    app = make_app(studio, APP_PORT)

    def send(method: str, path: str, headers: Sequence[tuple[str, str]], body: bytes) -> Answer:
        return asyncio.run(_called(app, method, path, headers, body))

    visitor = Visitor(send, f"127.0.0.1:{APP_PORT}", studio.keys.token)
    visitor.enter()
    return visitor


async def _called(app: Any, method: str, path: str, headers: Sequence[tuple[str, str]], body: bytes) -> Answer:
    """Return what an application answers to one request."""
    split = urlsplit(path)
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": split.path,
        "raw_path": split.path.encode(),
        "root_path": "",
        "query_string": split.query.encode(),
        "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers],
        "server": ("127.0.0.1", APP_PORT),
        "client": ("127.0.0.1", 1),
    }
    sent: list[dict[str, Any]] = []
    given = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if given:
            return given.pop()
        await asyncio.Event().wait()  # the visitor stays, and files that come in pieces come to their end
        raise AssertionError

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    start = next(each for each in sent if each["type"] == "http.response.start")
    found = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in start["headers"]]
    return Answer(start["status"], tuple(found), b"".join(each.get("body", b"") for each in sent))
