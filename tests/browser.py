"""A real headless browser, spoken to over Chromium's debugging pipe: no driver, no network."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
PROGRAM = next((path for path in map(shutil.which, NAMES) if path), None)
START = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
WAIT = 120  # seconds until a browser that does not answer is given up


class Browser:
    """One page of a browser; console messages and errors are collected in ``errors``."""

    def __init__(self, profile: Path):
        to_browser, self.output = os.pipe()
        self.input, from_browser = os.pipe()
        # Out of the way of 3 and 4, where the browser reads and writes.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_browser, from_browser)]
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        options += ["--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank"]
        self.process = subprocess.Popen(
            [sys.executable, "-c", START, *map(str, ends), PROGRAM, *options],
            pass_fds=ends,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in (to_browser, from_browser, *ends):
            os.close(end)
        self.buffer, self.number, self.session = b"", 0, None
        self.events, self.errors = [], []
        page = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        """Send a command and wait for its answer."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.output, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]

    def open(self, path: Path, width=1440, height=900, dark=False, fragment=""):
        """Load a page at a size, in light or dark, and wait until it is there."""
        theme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", features=theme)
        self.call(
            "Emulation.setDeviceMetricsOverride",
            **{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
        )
        self.call("Page.navigate", url="about:blank")
        self.events.clear()
        self.call("Page.navigate", url=path.absolute().as_uri() + fragment)
        end = time.monotonic() + WAIT
        while (
            "Page.loadEventFired" not in self.events
            or self.run("document.URL.startsWith('file') && document.readyState") != "complete"
        ):
            assert time.monotonic() < end, "the page was not loaded"
            self.run("1")

    def run(self, expression):
        """The value of a JavaScript expression."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def type(self, text):
        """Press the keys of a text, one after the other, where the focus is."""
        for key in text:
            self.press(key, key)

    def press(self, key, text=""):
        """Press and release a key."""
        down = (
            {"type": "keyDown", "key": key, "text": text}
            if text
            else {"type": "rawKeyDown", "key": key}
        )
        self.call("Input.dispatchKeyEvent", **down)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def screenshot(self, path: Path):
        """Write what is seen as PNG."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def close(self):
        """End the browser."""
        self.session = None
        self.call("Browser.close")
        self.process.wait(WAIT)
        os.close(self.output)
        os.close(self.input)

    def _read(self):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.input], [], [], WAIT)
            assert ready, "the browser does not answer"
            data = os.read(self.input, 1 << 16)
            assert data, "the browser has ended"
            self.buffer += data
        message, _, self.buffer = self.buffer.partition(b"\0")
        message = json.loads(message)
        method, found = message.get("method"), message.get("params", {})
        self.events.append(method)
        if method == "Runtime.exceptionThrown":
            self.errors.append(found["exceptionDetails"].get("exception", {}).get("description"))
        if method == "Runtime.consoleAPICalled" and found["type"] in ("error", "warning", "assert"):
            self.errors.append(str(found["args"]))
        if method == "Log.entryAdded" and found["entry"]["level"] in ("error", "warning"):
            self.errors.append(found["entry"]["text"])
        return message
