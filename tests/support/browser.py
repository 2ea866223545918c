"""A headless Chromium driven over its DevTools protocol: opens a page and tells everything it did."""

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import websocket

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-port=0",
    "--remote-allow-origins=*",
    "--window-size=1280,1600",
)
TIMEOUT_S = 60
DRAWN = """new Promise((done) => {
  const look = () => "drawn" in document.body.dataset ? setTimeout(done, 200) : requestAnimationFrame(look);
  look();
})"""
"""Waits until a page of ours has drawn its charts."""


def find_browser() -> str | None:
    """Path of a Chromium, or None."""
    return next((path for path in map(shutil.which, PROGRAMS) if path), None)


@dataclass
class Page:
    """An open page: `problems` are its errors, console lines and dialogs, `requests` what it asked for."""

    socket: "websocket.WebSocket"
    problems: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    _number: int = 0

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        """Send a command and return its result."""
        self._number += 1
        self.socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv())
            if message.get("id") == self._number:
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result
            self._note(message["method"], message["params"])

    def wait_for(self, event: str) -> None:
        """Read events until one of this name."""
        while True:
            message = json.loads(self.socket.recv())
            self._note(message["method"], message["params"])
            if message["method"] == event:
                return

    def evaluate(self, expression: str) -> Any:
        """Value of a JavaScript expression."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def _note(self, method: str, parameters: dict[str, Any]) -> None:
        if method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"):
            self.problems.append(json.dumps(parameters))
        elif method == "Page.javascriptDialogOpening":
            self.problems.append(f"dialog: {parameters['message']}")
            self.socket.send(
                json.dumps({"id": -1, "method": "Page.handleJavaScriptDialog", "params": {"accept": True}})
            )


@contextmanager
def open_page(program: str, address: str, profile: Path) -> Iterator[Page]:
    """Open `address` in a new browser whose profile is the empty folder `profile`."""
    process = subprocess.Popen(
        [program, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        socket = websocket.create_connection(_page_address(profile, process), timeout=TIMEOUT_S)
        page = Page(socket)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        page.call("Page.navigate", url=address)
        page.wait_for("Page.loadEventFired")
        page.evaluate(DRAWN)
        yield page
        socket.close()
    finally:
        process.terminate()
        process.wait(TIMEOUT_S)


def _page_address(profile: Path, process: "subprocess.Popen[bytes]") -> str:
    """Address of the first tab, once the browser has written its port."""
    limit = time.monotonic() + TIMEOUT_S
    port_file = profile / "DevToolsActivePort"
    while time.monotonic() < limit and process.poll() is None:
        if port_file.exists() and port_file.read_text().count("\n"):
            port = port_file.read_text().splitlines()[0]
            with urlopen(f"http://127.0.0.1:{port}/json/list") as answer:
                tabs = [tab for tab in json.load(answer) if tab["type"] == "page"]
            if tabs:
                return str(tabs[0]["webSocketDebuggerUrl"])
        time.sleep(0.05)
    raise AssertionError("the browser did not start")
