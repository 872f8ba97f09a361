"""The HTTP interface: /filter for kube-scheduler, health and metrics for the cluster."""

from collections import Counter
from collections.abc import Callable
from time import perf_counter
from typing import NamedTuple

import msgspec
import structlog
from fastapi import FastAPI, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from app.config import Settings
from app.errors import BadRequestError
from app.metrics import Metrics, outcome_of
from app.serving import wire
from app.serving.body import Bodies, UnreadableBodyError
from app.serving.decisions import Asking, Decisions, UnavailableError
from app.serving.openapi import FILTER_REQUEST, FILTER_RESPONSES, add_schemas
from extender import UnresolvableClaimError

log = structlog.get_logger()

_LOGGED_TEXT_LENGTH = 500
_JSON = "application/json"


class Apps(NamedTuple):
    """The applications, one for each port."""

    main: FastAPI
    on_metrics_port: FastAPI | None
    """Metrics, state and health, if metrics have a port of their own. Health is on both."""


def create_apps(
    *,
    decisions: Decisions,
    unready: Callable[[], str | None],
    state: Callable[[], msgspec.Struct] | None,
    metrics: Metrics,
    settings: Settings,
    unsent_bytes: Callable[[], int],
    version: str,
) -> Apps:
    """Build the applications.

    Args:
        decisions: Answers /filter.
        unready: Returns why this instance cannot take over now, None if it can.
        state: Returns what /debug/state shows; None if there is to be no such path.
        metrics: Counts requests and answers.
        settings: Limits on requests, and whether metrics have a port of their own.
        unsent_bytes: Returns the size of the answers that clients do not read, in bytes.
        version: Version of the service, for the schema.
    """
    main = _app(version)
    _add_filter(main, decisions, metrics, Bodies(settings, unsent_bytes))
    other = None if settings.metrics_port is None else _app(version)
    for app in filter(None, (main, other)):
        _add_health(app, unready)
    _add_metrics(other or main, metrics)
    if state is not None:
        _add_state(other or main, state)
    add_schemas(main)
    return Apps(main, other)


def _app(version: str) -> FastAPI:
    app = FastAPI(
        title="Longhorn scheduler extender",
        version=version,
        description="Tells kube-scheduler which nodes can hold the Longhorn volumes of a pod.",
        docs_url=None,
        redoc_url=None,
    )

    @app.exception_handler(HTTPException)
    async def refuse(request: Request, error: HTTPException) -> Response:
        # A wrong urlPrefix or filterVerb in kube-scheduler's configuration leaves no other trace.
        log.warning("http.refused", path=request.url.path[:_LOGGED_TEXT_LENGTH], error=str(error))
        body = msgspec.json.encode({"error": error.detail})
        return Response(body, error.status_code, error.headers, media_type=_JSON)

    return app


def _add_filter(app: FastAPI, decisions: Decisions, metrics: Metrics, bodies: Bodies) -> None:
    @app.post("/filter", openapi_extra={"requestBody": FILTER_REQUEST}, responses=FILTER_RESPONSES)
    async def filter_nodes(request: Request) -> Response:
        """Say which of the candidate nodes can hold the pod's Longhorn volumes, and why not."""
        with metrics.requests_in_flight.track_inprogress():
            try:
                async with bodies.of(request) as body:
                    client = request.client.host if request.client else ""
                    if await decisions.turns.take(client) and await request.is_disconnected():
                        raise ClientDisconnect  # noqa: TRY301 (as while the body arrives)
                    response = await _answer(body, decisions, client, request, metrics)
            except UnreadableBodyError as error:
                response = _refusal(error.status, str(error), metrics)
            except ClientDisconnect:
                response = _refusal(400, "the client went away", metrics)
        if decisions.unavailable() is not None:
            # On an open connection the client would not notice that the endpoints have changed.
            response.headers["Connection"] = "close"
        return response


def _add_health(app: FastAPI, unready: Callable[[], str | None]) -> None:
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
        reason = unready()
        return _state(request, 200, "ok") if reason is None else _state(request, 503, reason)


def _add_metrics(app: FastAPI, metrics: Metrics) -> None:
    @app.get("/metrics", responses=_plain("Prometheus text format."))
    async def prometheus() -> Response:
        """Return the metrics."""
        return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)


def _add_state(app: FastAPI, state: Callable[[], msgspec.Struct]) -> None:
    @app.get("/debug/state", include_in_schema=False)
    async def debug_state() -> Response:
        return Response(msgspec.json.encode(state()), media_type=_JSON)


async def _answer(
    body: bytearray,
    decisions: Decisions,
    client: str,
    connection: Request,
    metrics: Metrics,
) -> Response:
    started = perf_counter()  # uvloop's own clock has a resolution of a millisecond
    metrics.request_bytes.observe(len(body))
    try:
        request = wire.decode_request(body)
    except BadRequestError as error:
        return _refusal(400, str(error), metrics)
    pod = f"{request.pod.namespace}/{request.pod.name}"[:_LOGGED_TEXT_LENGTH]
    try:
        is_gone = connection.is_disconnected
        asking = Asking(request=request, client=client, is_gone=is_gone)
        result = await decisions.filter(asking)
    except UnavailableError as error:
        metrics.count_failure("unavailable")
        log.warning("filter.unavailable", pod=pod, error=str(error))
        return Response(wire.encode_error(str(error), request), media_type=_JSON)
    except UnresolvableClaimError as error:
        metrics.count_failure("error")
        log.warning("filter.unanswered", pod=pod, error=str(error)[:_LOGGED_TEXT_LENGTH])
        answer = wire.encode_error(str(error), request)
    else:
        reasons = Counter([rejection.reason for rejection in result.rejected.values()])
        metrics.count_result(result, reasons)
        answer = wire.encode_result(result, request)
        log.info(
            "filter.answered",
            pod=pod,
            outcome=outcome_of(result),
            candidates=len(request.candidates),
            accepted=len(result.accepted),
            rejected=dict(reasons),
            steps=result.steps,
            duration_seconds=round(perf_counter() - started, 6),
        )

    async def observe_duration() -> None:
        metrics.filter_duration_seconds.observe(perf_counter() - started)

    return Response(answer, media_type=_JSON, background=BackgroundTask(observe_duration))


def _refusal(status: int, text: str, metrics: Metrics) -> Response:
    metrics.count_failure("bad_request")
    log.warning("filter.refused", status=status, error=text[:_LOGGED_TEXT_LENGTH])
    body = msgspec.json.encode({"error": text[:_LOGGED_TEXT_LENGTH]})
    headers = {} if status == 400 else {"Connection": "close"}
    return Response(body, status_code=status, media_type=_JSON, headers=headers)


def _state(request: Request, status: int, text: str) -> Response:
    if _JSON in request.headers.get("accept", ""):
        return Response(msgspec.json.encode({"status": text}), status, media_type=_JSON)
    return Response(text, status, media_type="text/plain")


def _plain(description: str, *, status: int = 200) -> dict[int | str, dict[str, object]]:
    return {status: {"description": description, "content": {"text/plain": {}}}}
