"""Hostile requests to a studio: each is refused, tells nothing, changes nothing, and the studio goes on."""

import contextlib
import os
import socket
import sys
import time
from http.client import HTTPConnection

import pytest

from helpers.studio import Answer, is_strict, running, tree
from lapwing.extras.studio import peers
from lapwing.extras.studio.guard import MOST_FORM

pytestmark = pytest.mark.skipif(os.name != "posix", reason="modes of files and links are those of POSIX")
LONG = "x" * (MOST_FORM + 1)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return a working folder, with a secret beside it that a link leads to."""
    folder = tmp_path_factory.mktemp("hostile") / "work"
    folder.mkdir()
    (folder / "people.csv").write_text("age,sex\n31,f\n42,m\n")
    (folder.parent / "secret.csv").write_text("outside\n739173\n")
    (folder / "link.csv").symlink_to(folder.parent / "secret.csv")
    (folder / "broken.lapwing").write_bytes(b"no model")
    return folder


@pytest.fixture(scope="module")
def studio(place):
    with running(place) as found:
        assert found.visitor.post("/open", {"table": "people.csv"}).status == 303
        yield found


def as_answer(content):
    """Return an answer from its bytes; status 0 where there is none."""
    if not content:
        return Answer(0, (), b"")
    head, _, body = content.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    pairs = tuple(tuple(line.split(": ", 1)) for line in lines[1:])
    return Answer(int(lines[0].split()[1]), pairs, body)


def raw(request, *, ends=True, seconds=10.0):
    """Return what sends bytes with the studio's own host and cookie in them."""

    def send(studio):
        own = {b"HOST": studio.visitor.host, b"COOKIE": studio.visitor.cookie, b"KEY": studio.visitor.key}
        whole = request
        for word, value in own.items():
            whole = whole.replace(word, value.encode())
        return as_answer(studio.raw(whole, ends=ends, seconds=seconds))

    return send


def get(path, **headers):
    return lambda studio: studio.visitor.get(path, {name.replace("_", "-"): each for name, each in headers.items()})


def post(path="/open", form=None, **headers):
    said = {name.replace("_", "-"): each for name, each in headers.items()}
    return lambda studio: studio.visitor.post(path, {"table": "people.csv", **(form or {})}, said)


def upload(name, content=b"a\n1\n", **headers):
    said = {header.replace("_", "-"): each for header, each in headers.items()}
    return lambda studio: studio.visitor.upload(name, content, said)


def with_method(method):
    return lambda studio: studio.visitor.ask(method, "/open", headers={"origin": f"http://{studio.visitor.host}"})


def with_port(number):
    return lambda studio: studio.visitor.get("/", {"host": f"127.0.0.1:{number}"})


def with_key_of_another(studio):
    return studio.visitor.post("/open", {"key": "0" * 64, "table": "people.csv"})


HEAD = b"POST /open HTTP/1.1\r\nHost: HOST\r\nCookie: COOKIE\r\nOrigin: http://HOST\r\n"
FORM = b"Content-Type: application/x-www-form-urlencoded\r\n"
HOSTILE = {
    "DNS rebinding": (421, get("/", host="evil.example")),
    "DNS rebinding on the port": (421, lambda studio: studio.visitor.get("/", {"host": f"evil.example:{studio.port}"})),
    "a name that ends as ours": (421, lambda studio: studio.visitor.get("/", {"host": f"x.localhost:{studio.port}"})),
    "a host with another port": (421, with_port(80)),
    "a host without a port": (421, get("/", host="127.0.0.1")),
    "any address": (421, lambda studio: studio.visitor.get("/", {"host": f"0.0.0.0:{studio.port}"})),
    "no host": (400, raw(b"GET / HTTP/1.1\r\nCookie: COOKIE\r\n\r\n")),
    "no host by HTTP/1.0": (421, raw(b"GET / HTTP/1.0\r\nCookie: COOKIE\r\n\r\n")),
    "two hosts": (400, raw(b"GET / HTTP/1.1\r\nHost: HOST\r\nHost: evil.example\r\nCookie: COOKIE\r\n\r\n")),
    "an address of a proxy": (404, raw(b"GET http://HOST/ HTTP/1.1\r\nHost: HOST\r\nCookie: COOKIE\r\n\r\n")),
    "a form of another site": (403, post(origin="https://evil.example")),
    "a form of another port": (403, post(origin="http://127.0.0.1:1")),
    "a form of another scheme": (403, lambda studio: post(origin=f"https://{studio.visitor.host}")(studio)),
    "a form of a sandbox": (403, post(origin="null")),
    "a form of nowhere": (403, post(origin=None)),
    "a form told to be of another site": (403, post(sec_fetch_site="cross-site")),
    "a picture of another site": (403, get("/", sec_fetch_site="cross-site")),
    "a frame of another port": (403, get("/", sec_fetch_site="same-site")),
    "a script of another port": (403, get("/assets/studio.js", sec_fetch_site="same-site")),
    "no cookie": (403, get("/", cookie=None)),
    "no cookie, for a style": (403, get("/assets/studio.css", cookie=None)),
    "a wrong cookie": (403, lambda studio: studio.visitor.get("/", {"cookie": f"lapwing-{studio.port}={'0' * 64}"})),
    "a cookie of letters beyond ASCII": (
        403,
        lambda studio: studio.visitor.get("/", {"cookie": f"lapwing-{studio.port}=\xe9"}),
    ),
    "a wrong token": (403, get(f"/?token={'0' * 64}", cookie=None)),
    "an empty token": (403, get("/?token=", cookie=None)),
    "a token that is a list": (403, get(f"/?token[]={'0' * 64}&token=1", cookie=None)),
    "a wrong key": (403, post(form={"key": "0" * 64})),
    "no key": (403, post(form={"key": ""})),
    "the key of another studio": (403, with_key_of_another),
    "the token as a key": (403, lambda studio: post(form={"key": studio.visitor.token})(studio)),
    "the wrong key of an upload": (403, upload("a.csv", x_form_key="0" * 64)),
    "an upload of another site": (403, upload("a.csv", origin="https://evil.example")),
    "a form as JSON": (415, post(content_type="application/json")),
    "a form as parts": (415, post(content_type="multipart/form-data; boundary=x")),
    "a form as text": (415, post(content_type="text/plain")),
    "a form without a type": (415, post(content_type=None)),
    "PUT": (405, with_method("PUT")),
    "DELETE": (405, with_method("DELETE")),
    "PATCH": (405, with_method("PATCH")),
    "OPTIONS": (405, with_method("OPTIONS")),
    "TRACE": (405, with_method("TRACE")),
    "a method nobody knows": (405, with_method("LAPWING")),
    "what a page of another site asks first": (403, get("/", origin="https://evil.example", cookie=None)),
    "a socket": (200, get("/", connection="Upgrade", upgrade="websocket")),
    "up": (404, get("/../secret.csv")),
    "up, in other signs": (404, get("/%2e%2e/secret.csv")),
    "up, in signs of signs": (404, get("/%252e%252e/secret.csv")),
    "up, by a backslash": (404, get("/..%5csecret.csv")),
    "up, from the assets": (404, get("/assets/../../pages.py")),
    "up, from the assets in other signs": (404, get("/assets/..%2f..%2fpages.py")),
    "up, from the assets in signs of signs": (404, get("/assets/%252e%252e%252fpages.py")),
    "up, from the assets by letters too long": (404, get("/assets/%c0%ae%c0%ae/pages.py")),
    "the root, from the assets": (404, get("/assets//etc/passwd")),
    "the root, from the assets in other signs": (404, get("/assets/%2fetc%2fpasswd")),
    "a folder of the assets": (404, get("/assets/")),
    "a zero": (404, get("/assets/studio.css%00.html")),
    "a job that is up": (404, get("/job/../schema")),
    "a job that is up in other signs": (404, get("/job/%2e%2e/schema")),
    "a job that is two up": (404, get("/job/..%2f..%2fx/schema")),
    "a job that is a path": (404, get("/job/%2fetc/schema")),
    "a job of odd letters": (404, get("/job/People/schema")),
    "a job of many letters": (404, get(f"/job/{'a' * 5000}/schema")),
    "a job with a line": (404, get("/job/people%0a/schema")),
    "a job with a dot": (404, get("/job/people./schema")),
    "an address that is too long": (400, lambda studio: as_answer(studio.raw(b"GET /" + b"a" * 200_000))),
    "a table that is up": (400, post(form={"table": "../secret.csv"})),
    "a table at the root": (400, post(form={"table": "/etc/passwd"})),
    "a table that is a link": (400, post(form={"table": "link.csv"})),
    "a table with a zero": (400, post(form={"table": "people.csv\0"})),
    "a query without a database": (400, post("/query", {"sql": "select 1", "db": ""})),
    "a query of another kind": (400, post("/query", {"sql": "select 1", "db": "file:///etc/passwd"})),
    "a query with a password": (400, post("/query", {"sql": "select 1", "db": "postgresql://me:hush@h/d"})),
    "a query with a password behind": (
        400,
        post("/query", {"sql": "select 1", "db": "postgresql://h/d?password=hush"}),
    ),
    "a query of no address": (400, post("/query", {"sql": "select 1", "db": "postgresql://[/d"})),
    "a form that is too long": (413, post(form={"table": LONG})),
    "a form of many fields": (400, post(form={"table": ["x"] * 50_000})),
    "a form of no text": (403, lambda studio: studio.visitor.ask("POST", "/open", b"\xff\xfe=%ff&key=%00")),
    "an upload that is up": (400, upload("..%2fup.csv")),
    "an upload that is up by a backslash": (400, upload("..%5cup.csv")),
    "an upload at the root": (400, upload("%2ftmp%2fup.csv")),
    "an upload that is hidden": (400, upload(".hidden.csv")),
    "an upload of another kind": (400, upload("run.sh")),
    "an upload over a job": (400, upload("lapwing-studio")),
    "an upload with a line": (400, upload("a%0d%0aset-cookie:%20a=b.csv")),
    "an upload with a zero": (400, upload("a%00.csv")),
    "an upload that turns around": (400, upload("a%e2%80%aevsc.csv")),
    "an upload of a long name": (400, upload("a" * 250 + ".csv")),
    "an upload of many long letters": (400, upload("%e2%82%ac" * 100 + ".csv")),
    "an upload over a table": (409, upload("people.csv")),
    "an upload over a link": (409, upload("link.csv")),
    "an upload without a name": (400, upload("")),
    "two lengths": (400, raw(HEAD + FORM + b"Content-Length: 3\r\nContent-Length: 70\r\n\r\nkey")),
    "two origins": (400, raw(HEAD + FORM + b"Origin: https://evil.example\r\nContent-Length: 0\r\n\r\n")),
    "two types": (400, raw(HEAD + FORM + b"Content-Type: text/plain\r\nContent-Length: 0\r\n\r\n")),
    "two cookies of headers": (400, raw(b"GET / HTTP/1.1\r\nHost: HOST\r\nCookie: COOKIE\r\nCookie: a=b\r\n\r\n")),
    "a header with a line": (
        400,
        raw(b"GET / HTTP/1.1\r\nHost: HOST\r\nX: a\rSet-Cookie: b\r\nCookie: COOKIE\r\n\r\n"),
    ),
    "headers that are too long": (400, raw(b"GET / HTTP/1.1\r\nHost: HOST\r\nX: " + b"a" * 200_000)),
    "a body of odd pieces": (400, raw(HEAD + FORM + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n")),
    "no HTTP": (400, raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n")),
}


def faults(answer, studio):
    """Return what is wrong with an answer, whatever was asked."""
    names = [name.lower() for name, _ in answer.headers]
    whole = f"{answer.headers}{answer.text}"
    rules = {
        "it lets another site read": any(name.startswith("access-control") for name in names),
        "it sets a cookie": "set-cookie" in names,
        "it sends elsewhere": answer.at.startswith(("http", "//")),
        "it tells a trace": "Traceback" in whole or ".py" in whole or "File " in whole,
        "it tells the token": studio.visitor.token in whole,
        "it shows what lies outside": "739173" in answer.text or "root:" in answer.text,
        "it says a password": "hush" in answer.text,
        "it may be framed or run": answer.status != 400 and not is_strict(answer),
        "it names its server": "server" in names,
        "it failed": answer.status >= 500,
    }
    return [what for what, is_so in rules.items() if is_so]


def wrong(studio):
    """Send all hostile requests, and yield what is wrong with an answer, by name."""
    for name, (status, send) in HOSTILE.items():
        answer = send(studio)
        said = faults(answer, studio) + ([] if answer.status == status else [f"{answer.status}, not {status}"])
        if said:
            yield name, said, answer.text[:200]


def test_hostile_requests_are_refused_tell_nothing_and_change_nothing(studio, place):
    before = tree(place.parent)

    assert [*wrong(studio)] == []
    assert len(HOSTILE) >= 90
    assert tree(place.parent) == before
    assert studio.visitor.get("/").status == 200


PLANTED = {
    "answers other sites may read": "guard._HEADERS['access-control-allow-origin'] = '*'",
    "any host": "guard.Guard._hosts = property(lambda _: Any(), lambda *_: None)",
    "any form": "guard.Guard._check_key = lambda *_: None",
    "any path": "guard._ODD_PATH = __import__('re').compile('(?!)')",
    "scripts in pages": "guard._HEADERS['content-security-policy'] += \"; script-src-elem 'unsafe-inline'\"",
}
LOOSE = """
from lapwing.extras.studio import guard
class Any(tuple):
    __contains__ = lambda *_: True
    __iter__ = lambda _: iter(["evil.example", "127.0.0.1:1"])
{planted}
from lapwing.cli.main import run
run()
"""


@pytest.mark.parametrize("planted", PLANTED)
def test_a_guard_that_lets_through_is_found(planted, tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "people.csv").write_text("age,sex\n31,f\n")
    with running(folder, start=LOOSE.format(planted=PLANTED[planted])) as studio:
        assert any(wrong(studio))


def test_a_body_without_an_end_keeps_nobody_waiting(studio):
    waiting = []
    for rest in (b"Content-Length: 99\r\n\r\nkey=", b"Transfer-Encoding: chunked\r\n\r\n4\r\nkey=\r\n", b"Content-L"):
        for _ in range(60):
            connection = HTTPConnection("127.0.0.1", studio.port, timeout=10)
            connection.connect()
            own = HEAD.replace(b"HOST", studio.visitor.host.encode()).replace(b"COOKIE", studio.visitor.cookie.encode())
            connection.send(own + FORM + rest)
            waiting.append(connection)

    begun = time.monotonic()
    answer = studio.visitor.get("/")

    for connection in waiting:
        connection.close()
    assert answer.status == 200
    assert time.monotonic() - begun < 20


def idle_connections(port, count, uid):
    """Open connections in a process of another user, or of this one; return its pipe, which ends them, and its id."""
    ready, telling = os.pipe()
    waiting, ending = os.pipe()
    if not (child := os.fork()):
        os.close(ending)
        os.setuid(uid)
        held = []
        with contextlib.suppress(OSError):
            for _ in range(count):
                held.append(socket.create_connection(("127.0.0.1", port), 1))
                held[-1].sendall(b"GET / HTTP/1.1\r\nHost: x\r\n")
        os.write(telling, b"!")
        os.read(waiting, 1)
        os._exit(0)
    for each in (telling, waiting):
        os.close(each)
    os.read(ready, 1)
    os.close(ready)
    return ending, child


FEW = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)); from lapwing.cli.main import run; run()"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells whose a connection is")
@pytest.mark.parametrize("who", ["another user", "the owner"])
def test_idle_connections_keep_the_owner_from_nothing(who, tmp_path):
    if who == "another user" and os.getuid() != 0:
        pytest.skip("only root can be another user")
    place = tmp_path / "work"
    place.mkdir()
    with running(place, start=FEW) as studio:
        studio.visitor.get("/job/none/plan")  # the rooms' modules are open files while they are imported
        ending, child = idle_connections(studio.port, 150, 65534 if who == "another user" else os.getuid())
        begun = time.monotonic()
        found = [studio.visitor.get("/").status for _ in range(3)]
        taken = time.monotonic() - begun
        os.close(ending)
        os.waitpid(child, 0)
        said = studio.stop()

    assert found == [200] * 3
    assert taken < 20
    assert len(said) < 1000, said[-1000:]
    assert b"Traceback" not in said


def test_a_request_whose_head_does_not_end_is_ended(studio):
    with socket.create_connection(("127.0.0.1", studio.port), 20) as stream:
        begun = time.monotonic()
        stream.sendall(b"GET / HTTP/1.1\r\n")
        with contextlib.suppress(ConnectionResetError):
            assert stream.recv(1) == b""

    assert time.monotonic() - begun < 10
    assert studio.visitor.get("/").status == 200


def as_another_user(port, request):
    """Return what a studio says to another user of this machine, as which a process of its own asks."""
    reading, writing = os.pipe()
    if not (child := os.fork()):
        os.setuid(65534)
        with socket.create_connection(("127.0.0.1", port), 10) as stream, contextlib.suppress(ConnectionError):
            stream.sendall(request)
            os.write(writing, stream.recv(1 << 16))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        found = file.read()
    os.waitpid(child, 0)
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells whose a connection is")
def test_only_the_user_who_started_the_studio_is_answered(studio):
    is_own = peers.own_user_only(studio.port)
    with socket.create_connection(("127.0.0.1", studio.port)) as stream:
        own, nobody = stream.getsockname(), ("127.0.0.1", 1)
        found = is_own(own), is_own(nobody)

    assert found == (True, False)
    if os.getuid() == 0:
        request = f"GET / HTTP/1.1\r\nHost: {studio.visitor.host}\r\nCookie: {studio.visitor.cookie}\r\n"
        request += f"X-Forwarded-For: 127.0.0.1:{own[1]}\r\nX-Real-IP: 127.0.0.1\r\n\r\n"
        assert as_another_user(studio.port, request.encode()) == b""


def test_a_cookie_of_another_port_locks_nobody_out(studio):
    own = studio.visitor.cookie
    name = own.partition("=")[0]
    found = [
        studio.visitor.get("/", {"cookie": each}).status
        for each in (f"{name}=x; {own}", f'odd={{"a": "b,c"}}; {own}', f"=; ;;{own}; \x01", f'x="; {own}')
    ]

    assert found == [200] * 4
