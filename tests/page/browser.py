# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A headless Chromium, controlled through its own pipe: no driver and no package besides the browser.

    with Browser() as browser:
        page = browser.open(Path("memory.html"))
        page.evaluate("document.title")
"""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

FLAGS = [
    "--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-quic", "--disable-gpu",
    "--disable-dev-shm-usage", "--hide-scrollbars", "--mute-audio", "--force-device-scale-factor=1",
]


def find_browser() -> str | None:
    return next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)


class Browser:
    def __init__(self, width: int = 1280, height: int = 900):
        self.size = (width, height)

    def __enter__(self) -> "Browser":
        self.home = tempfile.TemporaryDirectory(prefix="sonde-page-")
        to_read, self.to = os.pipe()
        self.back, from_write = os.pipe()

        def place():  # the browser reads at 3 and writes at 4
            low = [os.dup2(to_read, 100), os.dup2(from_write, 101)]
            os.dup2(low[0], 3)
            os.dup2(low[1], 4)

        self.process = subprocess.Popen(
            [find_browser() or "chromium", *FLAGS, f"--user-data-dir={self.home.name}", f"--window-size={self.size[0]},{self.size[1]}",
             "about:blank"], preexec_fn=place, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)
        self.buffer = b""
        self.number = 0
        self.events: list[dict] = []
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
        except (OSError, EOFError):
            pass
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.back)
        for _ in range(20):  # its helpers leave a moment later
            try:
                self.home.cleanup()
                break
            except OSError:
                time.sleep(0.1)

    def read_message(self) -> dict:
        while b"\0" not in self.buffer:
            got = os.read(self.back, 1 << 20)
            if not got:
                raise EOFError("the browser ended")
            self.buffer += got
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method: str, session: str | None = None, **params) -> dict:
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        while True:
            answer = self.read_message()
            if answer.get("id") != self.number:
                self.events.append(answer)
            elif "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']}")
            else:
                return answer["result"]

    def open(self, path: Path) -> "Page":
        return self.open_address(path.resolve().as_uri())

    def open_address(self, address: str) -> "Page":
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.call(f"{domain}.enable")
        page.call("Emulation.setDeviceMetricsOverride", width=self.size[0], height=self.size[1], deviceScaleFactor=1, mobile=False)
        page.call("Page.navigate", url=address)
        return page


class Page:
    def __init__(self, browser: Browser, session: str):
        self.browser, self.session = browser, session

    def call(self, method: str, **params) -> dict:
        return self.browser.call(method, self.session, **params)

    def evaluate(self, expression: str):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["text"] + ": " + expression)
        return result["result"].get("value")

    def wait_for(self, expression: str, seconds: float = 30):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if value := self.evaluate(expression):
                return value
            time.sleep(0.05)
        raise TimeoutError(expression)

    def mouse(self, kind: str, x: float, y: float, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x: float, y: float):
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def press(self, key: str, shift: bool = False):
        text = key if len(key) == 1 else "\r" if key == "Enter" else ""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, text=text if kind == "keyDown" else "", modifiers=8 if shift else 0)

    def screenshot(self, path: Path):
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def scheme(self, name: str):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def problems(self) -> list[str]:
        """Errors of the page, and what it requested from elsewhere."""
        found = []
        for event in self.browser.events:
            method, params = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(params["exceptionDetails"].get("exception", {}).get("description", "an exception"))
            elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
                found.append(params["entry"]["text"])
            elif method == "Network.requestWillBeSent" and not params["request"]["url"].startswith(("file:", "blob:", "data:")):
                found.append("asked for " + params["request"]["url"])
        return found
