"""Chromium, driven over its debugging pipe: what a page is like once it stands in a browser."""

import base64
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

CHROMIUM = next(
    (
        found
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (found := shutil.which(name))
    ),
    None,
)

# The browser reads requests from descriptor 3 and writes to descriptor 4.
_START = "import os, sys; a, b = map(int, sys.argv[1:3]); os.dup2(a, 13); os.dup2(b, 14)\n"
_START += "os.dup2(13, 3); os.dup2(14, 4); os.execv(sys.argv[3], sys.argv[3:])"


class Page:
    """One page."""

    def __init__(self, requests: IO[bytes], replies: IO[bytes]) -> None:
        self._requests, self._replies = requests, replies
        self._number = 0
        self._session: str | None = None
        self.complaints: list[str] = []
        """What the page logged, or threw."""
        self.asked: list[str] = []
        """Every address that it asked for."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> Any:
        """The browser's reply to a command of the DevTools protocol."""
        self._number += 1
        request = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            request["sessionId"] = self._session
        self._requests.write(json.dumps(request).encode() + b"\0")
        self._requests.flush()
        while True:
            message = self._read()
            if message.get("id") == self._number:
                assert "error" not in message, message
                return message["result"]

    def show(self, file: Path, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Load a file into a window of that size, in pixels."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])
        self.send("Page.navigate", url=file.as_uri())
        while self._read().get("method") != "Page.loadEventFired":
            pass

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression."""
        done = self.send("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    def click(self, selector: str) -> None:
        """Click in the middle of the first element that fits."""
        x, y = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center', behavior: 'instant'});"
            "const r = e.getBoundingClientRect();"
            "return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            place = {"x": x, "y": y, "button": "left", "clickCount": 1}
            self.send("Input.dispatchMouseEvent", type=kind, **place)

    def press(self, key: str) -> None:
        """Press a key, such as ``Tab`` or ``/``."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32}
        extra = {"text": {"Enter": "\r"}.get(key, key)} if len(key) == 1 or key == "Enter" else {}
        code = codes.get(key, 0)
        self.send(
            "Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **extra
        )
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def write(self, text: str) -> None:
        """Write into what has the focus."""
        self.send("Input.insertText", text=text)

    def picture(self, *, whole: bool = False) -> bytes:
        """What it looks like, as a PNG."""
        shot = self.send("Page.captureScreenshot", captureBeyondViewport=whole)
        return base64.b64decode(shot["data"])

    def _read(self) -> Any:
        text = bytearray()
        while (byte := self._replies.read(1)) not in (b"\0", b""):
            text += byte
        assert text, "the browser is gone"
        message = json.loads(text)
        parameters = message.get("params", {})
        match message.get("method"):
            case "Log.entryAdded":
                self.complaints.append(parameters["entry"]["text"])
            case "Runtime.exceptionThrown" | "Runtime.consoleAPICalled":
                self.complaints.append(str(parameters))
            case "Network.requestWillBeSent":
                self.asked.append(parameters["request"]["url"])
        return message


@contextmanager
def open_page(scratch: Path) -> Iterator[Page]:
    """A new browser with one page; it is gone afterwards."""
    assert CHROMIUM is not None
    requests_out, requests_in = os.pipe()
    replies_out, replies_in = os.pipe()
    arguments = [
        CHROMIUM,
        "--headless",
        "--no-sandbox",  # it shows our own pages only, and may run as root in a container
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        f"--user-data-dir={scratch / 'browser'}",
        "--remote-debugging-pipe",
    ]
    browser = subprocess.Popen(
        [sys.executable, "-c", _START, str(requests_out), str(replies_in), *arguments],
        pass_fds=(requests_out, replies_in),
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    os.close(requests_out)
    os.close(replies_in)
    with os.fdopen(requests_in, "wb") as requests, os.fdopen(replies_out, "rb") as replies:
        try:
            yield Page(requests, replies)
        finally:
            browser.kill()
            browser.wait()
