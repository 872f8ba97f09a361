"""One call of a client from body to answer, under the same rules for every verb."""

from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from time import perf_counter
from typing import NamedTuple, Protocol, TypeVar

import msgspec
import structlog
from fastapi import Request, Response
from prometheus_client import Histogram
from starlette.requests import ClientDisconnect

from app.errors import BadRequestError
from app.process.health import JSON, LOGGED_TEXT_LENGTH
from app.serving import wire
from app.serving.answers import Holding, response_of
from app.serving.body import Bodies, Body, UnreadableBodyError
from app.serving.decisions import Asking, UnavailableError
from app.serving.metrics import Metrics
from app.serving.names import NodeNames
from app.serving.wire import ExtenderRequest, Parts
from extender import UnresolvableClaimError

log = structlog.get_logger()

Found = TypeVar("Found")


UNKNOWN_NODE_BYTES = 512
"""What a candidate counts as that is no node of Longhorn. By the length of its name it takes 270 to
770 B while the answer is made, and 70 to 310 B while the request waits (`tracemalloc`, 20,000 at
once). Each of the others takes some bytes, since it is known already."""


class Call(NamedTuple):
    """A request as it has arrived."""

    body: Body
    client: str
    """Its address."""
    is_gone: Callable[[], Awaitable[bool]]
    """Says whether the client no longer waits for the answer."""
    started: float
    """When the last of it had arrived, in seconds of `perf_counter`."""
    held: ExitStack
    """What ends when the answer is sent."""


class Answering(Protocol):
    """How one verb is answered, and counted."""

    @property
    def verb(self) -> str:
        """The verb, as events in the log begin with it."""

    @property
    def most_bytes(self) -> int | None:
        """The largest body, if it is less than the setting."""

    async def answer(self, call: Call) -> Response:
        """Answer a request.

        Raises:
            BadRequestError: It cannot be decoded.
        """

    def count_failure(self, outcome: str) -> None:
        """Count a request without answer."""


class Exchange:
    """Reads a request and has it answered.

    Args:
        unavailable: Returns why this instance cannot answer now, None if it can.
        bodies: Reads bodies within the limits.
        metrics: Counts what arrives.
    """

    def __init__(
        self,
        unavailable: Callable[[], str | None],
        bodies: Bodies,
        metrics: Metrics,
    ) -> None:
        self._unavailable = unavailable
        self._bodies = bodies
        self._metrics = metrics

    async def answer(self, request: Request, by: Answering) -> Response:
        """Return what is answered to a request *by* its verb."""
        with self._metrics.requests_in_flight.track_inprogress(), ExitStack() as held:
            try:
                body = held.enter_context(self._bodies.body(by.most_bytes))
                await body.read(request)
                client = request.client.host if request.client else ""
                # uvloop's own clock has a resolution of a millisecond.
                call = Call(body, client, request.is_disconnected, perf_counter(), held)
                response = await self._answer_call(call, by)
            except UnreadableBodyError as error:
                response = _refusal(error.status, str(error), by)
            except ClientDisconnect:
                response = _refusal(400, "the client went away", by)
            if self._unavailable() is not None:
                # On an open connection the client would not notice that the endpoints have changed.
                response.headers["Connection"] = "close"
            return Holding(response, held.pop_all())

    async def _answer_call(self, call: Call, by: Answering) -> Response:
        self._metrics.request_bytes.observe(len(call.body.content))
        try:
            return await by.answer(call)
        except BadRequestError as error:
            return _refusal(400, str(error), by)


def asking_of(call: Call, node_names: NodeNames) -> Asking:
    """Decode what kube-scheduler asks.

    Raises:
        BadRequestError: It cannot be decoded.
        UnreadableBodyError: There is no room for so many candidates that are no nodes of Longhorn.
    """
    request = wire.decode_request(call.body.content, node_names)
    count_unknown(call, request)
    return Asking(request=request, client=call.client, is_gone=call.is_gone)


def count_unknown(call: Call, request: ExtenderRequest) -> None:
    """Count what candidates take that are no nodes of Longhorn.

    Raises:
        UnreadableBodyError: There is no room for so many.
    """
    call.body.count(UNKNOWN_NODE_BYTES * request.unknown)


def pod_of(request: ExtenderRequest) -> str:
    """Return the name of the pod, as it is logged."""
    return f"{request.pod.namespace}/{request.pod.name}"[:LOGGED_TEXT_LENGTH]


async def found_or_status(
    finding: Awaitable[Found], by: Answering, pod: str, call: Call, seconds: Histogram
) -> Found | Response:
    """Return what is found, or a status that says why there is nothing to answer.

    For verbs whose answer has no place for an error.
    """
    try:
        return await finding
    except UnavailableError as error:
        by.count_failure("unavailable")
        event = f"{by.verb}.unavailable"
        log.warning(event, pod=pod, error=str(error))
        return Response(error_body(str(error)), 503, media_type=JSON)
    except UnresolvableClaimError as error:
        by.count_failure("error")
        event = f"{by.verb}.unanswered"
        log.warning(event, pod=pod, error=str(error)[:LOGGED_TEXT_LENGTH])
        return timed(error_body(str(error)), call, seconds, status=422)


def timed(
    answer: bytes | Parts, call: Call, duration_seconds: Histogram, status: int = 200
) -> Response:
    """Return an answer that shows in *duration_seconds* when it is sent."""
    call.held.callback(lambda: duration_seconds.observe(perf_counter() - call.started))
    return response_of(answer, status)


def error_body(text: str) -> bytes:
    """Encode why there is no answer, for any status but 200."""
    return msgspec.json.encode({"error": text[:LOGGED_TEXT_LENGTH]})


def _refusal(status: int, text: str, by: Answering) -> Response:
    by.count_failure("bad_request")
    event = f"{by.verb}.refused"
    log.warning(event, status=status, error=text[:LOGGED_TEXT_LENGTH])
    headers = {} if status == 400 else {"Connection": "close"}
    return Response(error_body(text), status_code=status, media_type=JSON, headers=headers)
