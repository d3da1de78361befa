"""A headless Chromium for tests, spoken to through its debugging pipe: no driver and no package is needed."""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_PATIENCE = 60.0  # seconds without a word after which a test gives up


def found_browser() -> str | None:
    """Return the path of a Chromium, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Page:
    """One page in the browser. ``troubles`` holds what went wrong in it, ``requests`` what it asked for."""

    def __init__(self, write_end: int, read_end: int) -> None:
        self._write_end, self._read_end = write_end, read_end
        self._rest = b""
        self._count = 0
        self.session = ""
        self.troubles: list[str] = []
        self.requests: list[str] = []

    def ask(self, method: str, **params: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
        """Send one command of the DevTools protocol and return its result."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self._write_end, json.dumps(message).encode() + b"\0")
        while True:
            said = self._next()
            if said.get("id") == self._count:
                assert "error" not in said, said
                result: dict[str, Any] = said["result"]
                return result

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._read_end], [], [], _PATIENCE)
            assert ready, "the browser says nothing"
            more = os.read(self._read_end, 1 << 20)
            assert more, "the browser is gone"
            self._rest += more
        line, _, self._rest = self._rest.partition(b"\0")
        said: dict[str, Any] = json.loads(line)
        self._note(said.get("method", ""), said.get("params", {}))
        return said

    def _note(self, event: str, params: dict[str, Any]) -> None:
        if event == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif event == "Runtime.exceptionThrown":
            self.troubles.append(json.dumps(params["exceptionDetails"]))
        elif event == "Log.entryAdded" and params["entry"]["source"] == "rendering":
            pass  # advice on how fast a canvas is read, which only tests do
        elif event in ("Runtime.consoleAPICalled", "Log.entryAdded", "Page.javascriptDialogOpening"):
            self.troubles.append(f"{event} {json.dumps(params)}")

    def run(self, script: str) -> Any:  # noqa: ANN401 - what the script gives
        """Return what an expression, or the promise that it is, comes to."""
        said = self.ask("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in said, said
        return said["result"].get("value")

    def until(self, condition: str) -> None:
        """Wait, frame by frame, until a condition holds in the page."""
        self.run(
            f"new Promise((done) => {{ const look = () => ({condition}) ? done(true) : requestAnimationFrame(look);"
            " look(); })"
        )

    def press(self, key: str, *, code: int = 0) -> None:
        """Press and release one key."""
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        common = {"key": key, "windowsVirtualKeyCode": code}
        self.ask("Input.dispatchKeyEvent", type="keyDown", **common, **text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **common)

    def click(self, x: float, y: float) -> None:
        """Click a point of the page."""
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            button = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **button)

    def type(self, text: str) -> None:
        """Put text in where the focus is."""
        self.ask("Input.insertText", text=text)

    def open(self, file: Path) -> None:
        """Load a file and wait until its graph has settled."""
        self.ask("Page.navigate", url=file.as_uri())
        self.until("document.readyState === 'complete' && document.body.dataset.layout === 'settled'")


@contextmanager
def opened_page(profile: Path, *, width: int = 1280, height: int = 800) -> Iterator[Page]:
    """Start a browser with an empty profile and give its page; it is ended afterwards."""
    browser = found_browser()
    assert browser is not None
    to_read, write_end = os.pipe()
    read_end, to_write = os.pipe()

    def as_three_and_four() -> None:  # where the browser looks for its pipes
        high = [os.dup(to_read), os.dup(to_write)]
        os.dup2(high[0], 3, inheritable=True)
        os.dup2(high[1], 4, inheritable=True)

    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]
    flags += ["--disable-quic", "--disable-sync", "--disable-background-networking"]
    flags += ["--disable-component-update", "--remote-debugging-pipe"]
    process = subprocess.Popen(
        [browser, *flags, f"--user-data-dir={profile}", f"--window-size={width},{height}", "about:blank"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        close_fds=False,
        preexec_fn=as_three_and_four,  # noqa: PLW1509
    )
    os.close(to_read)
    os.close(to_write)
    page = Page(write_end, read_end)
    try:
        target = page.ask("Target.createTarget", url="about:blank")["targetId"]
        page.session = page.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.ask(f"{domain}.enable")
        page.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        yield page
        page.session = ""
        page.ask("Browser.close")
    finally:
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        os.close(write_end)
        os.close(read_end)
