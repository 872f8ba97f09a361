"""Health and metrics over HTTP, which every process serves."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future

import msgspec
import structlog
from fastapi import FastAPI, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.exceptions import HTTPException

from app.budget import Budget

log = structlog.get_logger()

JSON = "application/json"
LOGGED_TEXT_LENGTH = 500
HANGING_SECONDS = 10.0
"""An answer takes 5 s at most, or kube-scheduler has given up."""
_SHARE, _MOST_SECONDS = 0.05, 0.25
"""Of the time, for making the text of the metrics, and so much at once."""
_PATIENCE_SECONDS = 1.0
"""How long the text may take until that of the last time is shown."""

Text = Callable[[], Awaitable[bytes]]


class Pulse:
    """What the event loop that answers has last said of the process.

    Who asks on another thread learns that it hangs, though it cannot answer.

    Args:
        unready: Returns why the process could not do its work, None if it could.
        idle: Returns why it does none all the same, None if it does.
        clock: Monotonic seconds.
    """

    def __init__(
        self,
        unready: Callable[[], str | None],
        idle: Callable[[], str | None],
        clock: Callable[[], float],
    ) -> None:
        self._unready, self._idle, self._clock = unready, idle, clock
        self._last: tuple[float, str | None, str | None] = (clock(), "starting", None)

    def beat(self) -> None:
        """Say how it is now."""
        self._last = self._clock(), self._unready(), self._idle()

    def hanging(self) -> str | None:
        """Return that the loop hangs, None if it does not."""
        if self._clock() - self._last[0] > HANGING_SECONDS:
            return f"the event loop has done nothing else for more than {HANGING_SECONDS:g} s"
        return None

    def unready(self) -> str | None:
        """Return why the process could not do its work, None if it could."""
        return self.hanging() or self._last[1]

    def idle(self) -> str | None:
        """Return why it does none all the same, None if it does."""
        return self._last[2]


class MetricsText:
    """The text of the metrics, which is made no more often than there is time for.

    Args:
        registry: The metrics.
        clock: Monotonic seconds.
    """

    def __init__(self, registry: CollectorRegistry, clock: Callable[[], float]) -> None:
        self._registry, self._clock = registry, clock
        self._budget = Budget(_SHARE, _MOST_SECONDS)
        self._text = b""

    async def latest(self) -> bytes:
        """Return it, on the loop that changes the metrics."""
        began = self._clock()
        if not (self._text and self._budget.wait_seconds(began)):
            self._text = generate_latest(self._registry)
            now = self._clock()
            self._budget.spend(now - began, now)
        return self._text

    def beside(self, loop: asyncio.AbstractEventLoop) -> Text:
        """Return what returns it on another loop than *loop*, which changes the metrics.

        If that is busy, it is the text of the last time.
        """
        making: Future[bytes] | None = None

        async def text() -> bytes:
            nonlocal making
            if making is None or making.done():
                making = asyncio.run_coroutine_threadsafe(self.latest(), loop)
            await asyncio.wait([asyncio.wrap_future(making)], timeout=_PATIENCE_SECONDS)
            return self._text

        return text


def create_health_app(
    unready: Callable[[], str | None],
    text: Text,
    *,
    version: str,
    hanging: Callable[[], str | None] = lambda: None,
    idle: Callable[[], str | None] = lambda: None,
) -> FastAPI:
    """Build an application that serves only health and metrics."""
    app = refusing(FastAPI(version=version, openapi_url=None))
    add_health(app, unready, idle, hanging)
    add_metrics(app, text)
    return app


def refusing(app: FastAPI) -> FastAPI:
    """Have an application log what it refuses, and answer it in JSON."""

    @app.exception_handler(HTTPException)
    async def refuse(request: Request, error: HTTPException) -> Response:
        # A wrong urlPrefix or filterVerb in kube-scheduler's configuration leaves no other trace.
        log.warning("http.refused", path=request.url.path[:LOGGED_TEXT_LENGTH], error=str(error))
        body = msgspec.json.encode({"error": error.detail})
        return Response(body, error.status_code, error.headers, media_type=JSON)

    return app


def add_health(
    app: FastAPI,
    unready: Callable[[], str | None],
    idle: Callable[[], str | None] = lambda: None,
    hanging: Callable[[], str | None] = lambda: None,
) -> None:
    """Serve whether the process lives, and whether it could do its work.

    Args:
        app: Gets the paths.
        unready: Returns why it could not, None if it could.
        idle: Returns why it does none all the same, None if it does.
        hanging: Returns that it does not live, None if it does.
    """

    @app.get(
        "/healthz",
        responses={
            **_plain("The process and its loops are alive."),
            **_plain("The loop that answers hangs.", status=503),
        },
    )
    async def healthz(request: Request) -> Response:
        """Say that the process is alive."""
        if (reason := hanging()) is not None:
            return _state(request, 503, reason)
        return _state(request, 200, "ok")

    @app.get(
        "/readyz",
        responses={
            **_plain("The cluster is known, so that pods can be judged; also on a standby."),
            **_plain("The reason why not.", status=503),
        },
    )
    async def readyz(request: Request) -> Response:
        """Say whether pods can be judged."""
        if (reason := unready()) is not None:
            return _state(request, 503, reason)
        return _state(request, 200, "; ".join(filter(None, ("ok", idle()))))


def add_metrics(app: FastAPI, text: Text) -> None:
    """Serve the metrics."""

    @app.get("/metrics", responses=_plain("Prometheus text format."))
    async def prometheus() -> Response:
        """Return the metrics."""
        return Response(await text(), media_type=CONTENT_TYPE_LATEST)


def _state(request: Request, status: int, text: str) -> Response:
    if JSON in request.headers.get("accept", ""):
        return Response(msgspec.json.encode({"status": text}), status, media_type=JSON)
    return Response(text, status, media_type="text/plain")


def _plain(description: str, *, status: int = 200) -> dict[int | str, dict[str, object]]:
    return {status: {"description": description, "content": {"text/plain": {}}}}
