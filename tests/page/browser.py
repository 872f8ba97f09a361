"""A real headless Chromium, driven by the DevTools protocol over its websocket."""

import asyncio
import contextlib
import json
import shutil
import subprocess
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

import aiohttp

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE_SECONDS = 20.0
"""Longer than anything here takes; what takes longer has gone wrong."""
_START = "DevTools listening on "
_KEY_CODES = {
    "Tab": 9, "Enter": 13, "Escape": 27, "End": 35, "Home": 36,
    "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40,
}  # fmt: skip

Event = dict[str, Any]


def program() -> str | None:
    """Return the path of a browser, None if there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def started(path: str) -> Iterator[str]:
    """Start a browser without a window; give the address that it is driven at, and end it."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        process = subprocess.Popen(
            [
                path,
                "--headless=new",
                "--no-sandbox",  # it shows nothing but our own pages, and root has no other way
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--remote-debugging-port=0",
                f"--user-data-dir={folder}",
                "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert process.stderr is not None
        try:
            yield _address(process, process.stderr)
        finally:
            process.terminate()
            try:
                process.wait(timeout=PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stderr.close()


class Tab:
    """One page of a browser.

    Attributes:
        events: What the browser told of it, in order: its method, and its parameters.
    """

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.events: list[tuple[str, Event]] = []
        self._socket = socket
        self._session = ""
        self._calls = 0

    async def attach(self) -> None:
        """Open an empty page, and be told of all that happens in it."""
        target = await self.call("Target.createTarget", url="about:blank")
        attached = await self.call(
            "Target.attachToTarget", targetId=target["targetId"], flatten=True
        )
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            await self.call(f"{domain}.enable")

    async def call(self, method: str, **params: Any) -> Event:
        """Call a method of the protocol, and return its result."""
        self._calls += 1
        message: Event = {"id": self._calls, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        await self._socket.send_json(message)
        while True:
            answer = await self._take()
            if answer.get("id") == self._calls:
                assert "error" not in answer, (method, answer["error"])
                result: Event = answer["result"]
                return result

    async def open(self, url: str) -> None:
        """Go to a page, and wait until it has been loaded and drawn."""
        self.events.clear()
        await self.call("Page.navigate", url=url)
        while not self.told("Page.loadEventFired"):
            await self._take()
        await self.settle()

    async def settle(self) -> None:
        """Wait until all that was asked for is drawn."""
        await self.run("new Promise(d => requestAnimationFrame(() => requestAnimationFrame(d)))")

    async def run(self, script: str) -> Any:
        """Evaluate an expression in the page, and return its value."""
        result = await self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    async def texts(self, selector: str) -> list[str]:
        """Return the texts of all elements that a selector finds, as they are drawn."""
        script = f"[...document.querySelectorAll({json.dumps(selector)})].map(e => e.innerText)"
        found: list[str] = await self.run(script)
        return found

    async def text(self, selector: str) -> str:
        """Return the text of the only element that a selector finds."""
        [text] = await self.texts(selector)
        return text

    async def press(self, *keys: str) -> None:
        """Press and release keys, such as ArrowRight."""
        for key in keys:
            for kind in ("rawKeyDown", "keyUp"):
                await self.call(
                    "Input.dispatchKeyEvent",
                    type=kind,
                    key=key,
                    code=key,
                    windowsVirtualKeyCode=_KEY_CODES[key],
                )
        await self.settle()

    async def point_at(self, selector: str, index: int = 0, *, click: bool = False) -> None:
        """Move the mouse onto the middle of an element, and click if it is said."""
        found = f"document.querySelectorAll({json.dumps(selector)})[{index}]"
        await self.run(f"{found}.scrollIntoView({{block: 'center'}})")
        await self.settle()  # what comes into sight is laid out only now
        x, y = await self.run(
            f"(b => [b.x + b.width / 2, b.y + b.height / 2])({found}.getBoundingClientRect())"
        )
        kinds = ["mouseMoved", *(["mousePressed", "mouseReleased"] if click else [])]
        for kind in kinds:
            await self.call(
                "Input.dispatchMouseEvent",
                type=kind,
                x=x,
                y=y,
                button="none" if kind == "mouseMoved" else "left",
                clickCount=0 if kind == "mouseMoved" else 1,
            )
        await self.settle()

    async def resize(self, width: int, height: int, *, scale: float = 1.0) -> None:
        """Give the page a window of this size."""
        await self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=False,
        )

    async def emulate(self, *, media: str = "", **features: str) -> None:
        """Show the page as on another medium, or to a person who wants it otherwise."""
        listed = [{"name": name.replace("_", "-"), "value": it} for name, it in features.items()]
        await self.call("Emulation.setEmulatedMedia", media=media, features=listed)
        await self.settle()

    def told(self, method: str) -> list[Event]:
        """Return the parameters of all events of a kind."""
        return [params for name, params in self.events if name == method]

    async def _take(self) -> Event:
        message: Event = await self._socket.receive_json(timeout=PATIENCE_SECONDS)
        if "method" in message:
            self.events.append((message["method"], message["params"]))
        return message


def _address(process: subprocess.Popen[str], said: IO[str]) -> str:
    """Wait until the browser says where it is driven at; from then on nobody reads what it says."""
    watchdog = threading.Timer(PATIENCE_SECONDS, process.kill)
    watchdog.start()
    found = next((line for line in said if line.startswith(_START)), None)
    watchdog.cancel()
    assert found is not None, "the browser has ended, or did not start in time"
    threading.Thread(target=said.read, daemon=True).start()  # else it would wait for a reader
    return found.removeprefix(_START).strip()


@asynccontextmanager
async def tab(address: str) -> AsyncIterator[Tab]:
    """Open an empty page in a browser, and close it in the end."""
    async with (
        aiohttp.ClientSession() as client,
        client.ws_connect(address, max_msg_size=0) as socket,
    ):
        page = Tab(socket)
        await page.attach()
        try:
            yield page
        finally:
            with contextlib.suppress(asyncio.TimeoutError, aiohttp.ClientError):
                await page.call("Page.close")


def write(folder: Path, content: str) -> str:
    """Write a page into a folder; return its address."""
    file = folder / "page.html"
    file.write_text(content, encoding="utf-8")
    return file.as_uri()
