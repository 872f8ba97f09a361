"""Health and metrics over HTTP, which every process serves."""

from collections.abc import Callable

import msgspec
import structlog
from fastapi import FastAPI, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.exceptions import HTTPException

from app.metrics import ProcessMetrics

log = structlog.get_logger()

JSON = "application/json"
LOGGED_TEXT_LENGTH = 500


def create_health_app(
    unready: Callable[[], str | None], metrics: ProcessMetrics, *, version: str
) -> FastAPI:
    """Build the application of a process that serves only its health and its metrics."""
    app = refusing(FastAPI(version=version, openapi_url=None))
    add_health(app, unready)
    add_metrics(app, metrics)
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
) -> None:
    """Serve whether the process lives, and whether it could do its work.

    Args:
        app: Gets the paths.
        unready: Returns why it could not, None if it could.
        idle: Returns why it does none all the same, None if it does.
    """

    @app.get("/healthz", responses=_plain("The process and its loops are alive."))
    async def healthz(request: Request) -> Response:
        """Say that the process is alive."""
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


def add_metrics(app: FastAPI, metrics: ProcessMetrics) -> None:
    """Serve the metrics."""

    @app.get("/metrics", responses=_plain("Prometheus text format."))
    async def prometheus() -> Response:
        """Return the metrics."""
        return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)


def _state(request: Request, status: int, text: str) -> Response:
    if JSON in request.headers.get("accept", ""):
        return Response(msgspec.json.encode({"status": text}), status, media_type=JSON)
    return Response(text, status, media_type="text/plain")


def _plain(description: str, *, status: int = 200) -> dict[int | str, dict[str, object]]:
    return {status: {"description": description, "content": {"text/plain": {}}}}
