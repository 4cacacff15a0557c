"""Drive Debian's Chromium over a pipe by the DevTools protocol, with the standard library alone."""

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PATIENCE_S = 60
_FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--remote-debugging-pipe",
]
KEYS = {
    "Tab": (9, ""),
    "Enter": (13, "\r"),
    " ": (32, " "),
    "ArrowLeft": (37, ""),
    "ArrowRight": (39, ""),
}


@dataclass
class Tab:
    """A page that is open: what it asked for, and what it complained about."""

    browser: "Browser"
    target: str
    session: str
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def call(self, method: str, **settings: Any) -> dict[str, Any]:
        return self.browser.call(method, self.session, **settings)

    def evaluate(self, script: str) -> Any:
        found = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait_for(self, script: str) -> Any:
        """Return the value of a script once it is true."""
        deadline = time.monotonic() + PATIENCE_S
        while not (found := self.evaluate(script)):
            assert time.monotonic() < deadline, f"waited in vain for {script}"
            time.sleep(0.05)
        return found

    def go(self, address: str) -> None:
        """Load an address."""
        self.call("Page.navigate", url=address)
        self.wait_for("document.readyState === 'complete' && location.protocol !== 'about:'")

    def click(self, script: str) -> None:
        """Click with the mouse in the middle of the element that a script finds; it must be seen there."""
        middle = """
            (each => {
              each.scrollIntoView({block: "center", behavior: "instant"});
              const box = each.getBoundingClientRect();
              const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
              const top = document.elementFromPoint(x, y);
              return [x, y, !!top && (each.contains(top) || top.contains(each))];
            })"""
        x, y, is_seen = self.evaluate(f"{middle}({script})")
        assert is_seen, f"{script} is covered"
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, *names: str) -> None:
        """Press keys: names such as Tab and Enter, or signs."""
        for name in names:
            code, text = KEYS.get(name, (0, name))
            said = {"key": name, "windowsVirtualKeyCode": code}
            self.call("Input.dispatchKeyEvent", type="keyDown", **said, **({"text": text} if text else {}))
            self.call("Input.dispatchKeyEvent", type="keyUp", **said)

    def type(self, text: str) -> None:
        """Put a text where the focus is, as if it were typed."""
        self.call("Input.insertText", text=text)

    def choose_file(self, selector: str, path: Path) -> None:
        """Choose a file in a field."""
        root = self.call("DOM.getDocument")["root"]["nodeId"]
        node = self.call("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self.call("DOM.setFileInputFiles", files=[str(path)], nodeId=node)

    def resize(self, width: int, height: int) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def colour_scheme(self, name: str) -> None:
        features = {"prefers-color-scheme": name, "prefers-reduced-motion": "reduce"}  # no colour is half of another
        self.call("Emulation.setEmulatedMedia", features=[{"name": key, "value": features[key]} for key in features])

    def medium(self, name: str) -> None:
        self.call("Emulation.setEmulatedMedia", media=name)

    def screenshot(self, path: Path, *, whole: bool = False, scale: float = 1) -> None:
        clip = {}
        if whole:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            box = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": scale}
            clip = {"clip": box, "captureBeyondViewport": True}
        data = self.call("Page.captureScreenshot", format="png", **clip)["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self) -> None:
        self.browser.call("Target.closeTarget", targetId=self.target)

    def pdf(self) -> bytes:
        found = self.call("Page.printToPDF", preferCSSPageSize=True, paperWidth=8.27, paperHeight=11.69)
        return base64.b64decode(found["data"])


class Browser:
    """One Chromium, with a profile of its own that is thrown away."""

    def __init__(self, process: subprocess.Popen[bytes], to_browser: int, from_browser: int) -> None:
        self.process, self.to_browser, self.from_browser = process, to_browser, from_browser
        self.tabs: dict[str, Tab] = {}
        self.rest, self.number = b"", 0

    def call(self, method: str, session: str | None = None, **settings: Any) -> dict[str, Any]:
        self.number += 1
        message = {"id": self.number, "method": method, "params": settings}
        if session is not None:
            message["sessionId"] = session
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        while True:
            said = self._next()
            if said.get("id") == self.number:
                assert "error" not in said, (method, said["error"])
                return said["result"]
            self._event(said)

    def open(self, place: Path | str, *, width: int = 1280, height: int = 900) -> Tab:
        """Return a new tab with a file or an address in it, loaded."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        tab = Tab(self, target, self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])
        self.tabs[tab.session] = tab
        for domain in ("Page", "Runtime", "Log", "Network", "DOM"):
            tab.call(f"{domain}.enable")
        tab.resize(width, height)
        tab.go(place.resolve().as_uri() if isinstance(place, Path) else place)
        return tab

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.from_browser], [], [], PATIENCE_S)
            assert ready, "Chromium does not answer"
            data = os.read(self.from_browser, 1 << 20)
            assert data, "Chromium is gone"
            self.rest += data
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def _event(self, said: dict[str, Any]) -> None:
        tab = self.tabs.get(said.get("sessionId", ""))
        if tab is None:
            return
        what = said["params"]
        match said["method"]:
            case "Network.requestWillBeSent":
                tab.requests.append(what["request"]["url"])
            case "Runtime.exceptionThrown":
                tab.complaints.append(json.dumps(what["exceptionDetails"])[:500])
            case "Runtime.consoleAPICalled" if what["type"] in ("error", "warning", "assert"):
                tab.complaints.append(json.dumps(what["args"])[:500])
            case "Log.entryAdded" if what["entry"]["level"] in ("error", "warning"):
                tab.complaints.append(what["entry"]["text"])


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """Start Chromium, and end it."""
    assert CHROMIUM is not None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        read_3, to_browser = os.pipe()
        from_browser, write_4 = os.pipe()
        # The protocol wants the descriptors 3 and 4: moved out of the way first, in case they have these numbers.
        high = [fcntl.fcntl(each, fcntl.F_DUPFD, 50) for each in (read_3, write_4)]
        command = f'exec "$0" "$@" 3<&{high[0]} 4>&{high[1]}'
        process = subprocess.Popen(
            ["bash", "-c", command, CHROMIUM, *_FLAGS, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=high,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": profile},
        )
        for each in (read_3, write_4, *high):
            os.close(each)
        browser = Browser(process, to_browser, from_browser)
        try:
            yield browser
        finally:
            with contextlib.suppress(AssertionError, OSError):
                browser.call("Browser.close")
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            os.close(to_browser)
            os.close(from_browser)
