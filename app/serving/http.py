"""The HTTP interface: verbs for kube-scheduler and the API server, health and metrics."""

from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, NamedTuple

import msgspec
import structlog
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.routing import APIRoute
from starlette.responses import StreamingResponse

from app.process.health import JSON, Text, add_health, add_metrics, refusing
from app.serving.body import Bodies
from app.serving.decisions import Decisions
from app.serving.exchange import Exchange
from app.serving.filtering import Filtering
from app.serving.metrics import Metrics
from app.serving.mutating import Mutating
from app.serving.openapi import (
    FILTER_RESPONSES,
    PREEMPT_REQUEST,
    PREEMPT_RESPONSES,
    PRIORITIZE_RESPONSES,
    REQUEST,
    add_schemas,
)
from app.serving.preempting import Preempting
from app.serving.prioritizing import Prioritizing
from app.settings import Settings

log = structlog.get_logger()

_PAGE_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",  # which the page itself cannot say
    "X-Content-Type-Options": "nosniff",
}


class VerbRoute(APIRoute):
    """A path whose function takes the request as it is.

    FastAPI would look for what else the function may want, with each request.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the function itself."""
        return self.endpoint


class Apps(NamedTuple):
    """The applications, one for each port."""

    main: FastAPI
    """Health is here, too, and metrics if they have no port of their own."""
    on_webhook_port: FastAPI | None
    """/mutate alone, if there is a webhook."""


def create_apps(
    *,
    decisions: Decisions,
    mutating: Mutating | None,
    unready: Callable[[], str | None],
    state: Callable[[], msgspec.Struct] | None,
    picture: Callable[[], AsyncIterator[str]] | None,
    metrics: Metrics,
    text: Text,
    settings: Settings,
    version: str,
    idle: Callable[[], str | None] = lambda: None,
) -> Apps:
    """Build the applications.

    Args:
        decisions: Answers /filter, /prioritize and /preempt.
        mutating: Answers /mutate; None if there is no webhook.
        unready: Returns why this instance cannot take over now, None if it can.
        state: Returns what /debug/state shows; None if there is to be no such path.
        picture: Returns the page at /, in pieces; None if there is to be no such path.
        metrics: Counts requests and answers.
        text: Returns the text of the metrics.
        settings: Limits on requests, and whether metrics have a port of their own.
        version: Version of the service, for the schema.
        idle: Returns why no instance leads though it could, None if one may.
    """
    main = _app(version)
    bodies = Bodies(settings)
    _add_verbs(main, decisions, metrics, bodies)
    add_health(main, unready, idle)
    if settings.metrics_port is None:
        add_metrics(main, text)
    # Never on the port of the metrics, where no client needs a certificate.
    if state is not None:
        _add_state(main, state)
    if picture is not None:
        _add_picture(main, picture)
    add_schemas(main)
    webhook = None
    if mutating is not None:
        webhook = _app(version)
        _add_webhook(webhook, mutating, Exchange(mutating.not_injecting, bodies, metrics))
    return Apps(main, webhook)


def _app(version: str) -> FastAPI:
    return refusing(
        FastAPI(
            title="Longhorn scheduler extender",
            version=version,
            description="Tells kube-scheduler which nodes can hold the Longhorn volumes of a pod, "
            "and which of them is best.",
            docs_url=None,
            redoc_url=None,
            redirect_slashes=False,
        )
    )


def _add_verbs(app: FastAPI, decisions: Decisions, metrics: Metrics, bodies: Bodies) -> None:
    exchange = Exchange(decisions.unavailable, bodies, metrics)
    filtering = Filtering(decisions, metrics)
    prioritizing = Prioritizing(decisions, metrics)
    preempting = Preempting(decisions, metrics)
    request_body = {"requestBody": REQUEST}
    router = APIRouter(route_class=VerbRoute)

    @router.post("/filter", openapi_extra=request_body, responses=FILTER_RESPONSES)
    async def filter_nodes(request: Request) -> Response:
        """Say which of the candidate nodes can hold the pod's Longhorn volumes, and why not."""
        return await exchange.answer(request, filtering)

    @router.post("/prioritize", openapi_extra=request_body, responses=PRIORITIZE_RESPONSES)
    async def prioritize_nodes(request: Request) -> Response:
        """Say how good each candidate node is for the pod's Longhorn volumes."""
        return await exchange.answer(request, prioritizing)

    @router.post(
        "/preempt",
        openapi_extra={"requestBody": PREEMPT_REQUEST},
        responses=PREEMPT_RESPONSES,
    )
    async def preempt_pods(request: Request) -> Response:
        """Say on which nodes the pod's Longhorn volumes find room once others are evicted."""
        return await exchange.answer(request, preempting)

    app.include_router(router)


def _add_webhook(app: FastAPI, mutating: Mutating, exchange: Exchange) -> None:
    # Not in the schema: the API server speaks a protocol of its own, which Kubernetes documents.
    router = APIRouter(route_class=VerbRoute)

    @router.post("/mutate", include_in_schema=False)
    async def mutate(request: Request) -> Response:
        return await exchange.answer(request, mutating)

    app.include_router(router)


def _add_state(app: FastAPI, state: Callable[[], msgspec.Struct]) -> None:
    @app.get("/debug/state", include_in_schema=False)
    async def debug_state() -> Response:
        return Response(msgspec.json.encode(state()), media_type=JSON)


def _add_picture(app: FastAPI, picture: Callable[[], AsyncIterator[str]]) -> None:
    @app.get("/", include_in_schema=False)
    async def draw() -> Response:
        return StreamingResponse(picture(), media_type="text/html", headers=_PAGE_HEADERS)
