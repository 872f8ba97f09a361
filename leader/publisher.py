"""The loop that makes the Service point at the leader, and repairs it when others change it."""

import asyncio
from collections.abc import Callable, Sequence, Set

import msgspec
import structlog

from leader.endpointslice import (
    SERVICE_LABEL,
    Backend,
    Create,
    Delete,
    Repair,
    Replace,
    backend_of,
    desired_slices,
    repairs,
    withdrawals,
)
from leader.store import (
    Absent,
    Body,
    Collection,
    Conflict,
    Failed,
    ObjectStore,
    Stored,
)

log = structlog.get_logger()


_ADVICE = {
    Collection.SERVICES: "; create it",
    Collection.PODS: "; EXTENDER_POD_NAME must name the pod this process runs in",
}


class PublisherSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Which pod to publish in which Service, and how often to look."""

    service: str
    pod: str
    port: int
    """The TCP port that the pod listens on."""
    verify_seconds: float = 10.0
    """The pause between two checks of the slices, which others may have edited."""
    retry_seconds: float = 1.0
    """The pause after a step that failed, and while this instance does not lead."""
    request_seconds: float = 2.0
    """How long one request may take."""


class Publisher:
    """Publishes this instance while it leads, and withdraws it afterwards."""

    def __init__(
        self, store: ObjectStore, settings: PublisherSettings, *, is_leading: Callable[[], bool]
    ) -> None:
        self._store = store
        self._settings = settings
        self._is_leading = is_leading
        self._backend: Backend | None = None
        self._is_published = False
        self._is_name_taken = False
        """Whether a slice with our name exists that lacks the Service's label."""
        self._trouble = ""
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """Check at once, because leading has begun or ended."""
        self._woken.set()

    async def run(self) -> None:
        """Publish and withdraw until cancelled. Whoever cancels this must call `withdraw` then."""
        while True:
            self._woken.clear()
            was_leading = self._is_leading()
            done = await self.step()
            # An instance that does not lead checks again soon, mostly without a request. It may
            # lead again without a call of `wake`: when it missed the deadline, was withdrawn, and
            # renewed before the election noticed.
            verified = was_leading and done
            pause = self._settings.verify_seconds if verified else self._settings.retry_seconds
            try:
                async with asyncio.timeout(pause):
                    await self._woken.wait()
            except TimeoutError:
                pass

    @property
    def knows_address(self) -> bool:
        """Whether an address of this pod is known, so that it can be published."""
        return self._backend is not None

    async def step(self) -> bool:
        """Do once what is due; return whether all is as it should be."""
        if self._is_leading():
            return await self._publish()
        return await self.withdraw() and await self._own_pod() is not None

    async def withdraw(self) -> bool:
        """Remove this instance from all slices; return whether that is done."""
        if not self._is_published or self._backend is None:
            return True
        existing = await self._existing()
        if existing is None or self._is_leading():  # it may lead again since the list was asked
            return False
        done = [await self._write(step) for step in withdrawals(existing, self._backend.uid)]
        if not all(done):
            return False
        self._is_published = False
        if done:
            log.info("endpointslice.withdrawn", pod=self._settings.pod)
        return True

    async def _publish(self) -> bool:
        service = await self._read(Collection.SERVICES, self._settings.service)
        backend = await self._own_pod() if service is not None else None
        if service is None or backend is None:
            return False
        desired = desired_slices(service, backend, self._settings.port)
        problem = _problem(service, desired)
        if problem:
            self._log_trouble(problem)
            return False
        existing = await self._existing({body["metadata"]["name"] for body in desired})
        # If another leader writes after this check, the versions just read are old, and the writes
        # below are refused.
        if existing is None or not self._is_leading():
            return False
        steps = repairs(desired, existing)
        self._is_published, self._is_name_taken = True, False
        for step in steps:
            if not await self._write(step):
                return False
        if steps:
            log.info(
                "endpointslice.published",
                service=self._settings.service,
                addresses=sorted(backend.addresses.values()),
            )
        self._log_trouble("")
        return True

    async def _own_pod(self) -> Backend | None:
        """Return how to reach this pod; ask for the pod until it has an address."""
        if self._backend is None:
            pod = await self._read(Collection.PODS, self._settings.pod)
            backend = backend_of(pod) if pod is not None else None
            if backend is not None and not backend.addresses:
                self._log_trouble(f"Pod {self._settings.pod} has no IPv4 or IPv6 address yet")
            elif backend is not None:
                self._backend = backend
                self._log_trouble("")
        return self._backend

    async def _read(self, collection: Collection, name: str) -> Body | None:
        answer = await self._store.read(
            collection, name, deadline_seconds=self._settings.request_seconds
        )
        match answer:
            case Stored(body=body):
                return body
            case Absent():
                advice = _ADVICE.get(collection, "")
                self._log_trouble(
                    f"there is no {name} among the {collection} of this namespace{advice}"
                )
            case Failed(why=why):
                self._log_trouble(why)
        return None

    async def _existing(self, names: Set[str] = frozenset()) -> Sequence[Body] | None:
        """Return the slices of the Service, and those of *names* that have lost its label."""
        label = {SERVICE_LABEL: self._settings.service}
        answer = await self._store.select(
            Collection.ENDPOINT_SLICES,
            {} if self._is_name_taken else label,
            deadline_seconds=self._settings.request_seconds,
        )
        if isinstance(answer, Failed):
            self._log_trouble(answer.why)
            return None
        return [
            body
            for body in answer.bodies
            if body["metadata"]["name"] in names
            or label.items() <= (body["metadata"].get("labels") or {}).items()
        ]

    async def _write(self, step: Repair) -> bool:
        seconds, slices = self._settings.request_seconds, Collection.ENDPOINT_SLICES
        answer: Stored | Absent | Conflict | Failed
        match step:
            case Create(body=body):
                answer = await self._store.create(slices, body, deadline_seconds=seconds)
                self._is_name_taken = isinstance(answer, Conflict)
            case Replace(body=body):
                answer = await self._store.replace(slices, body, deadline_seconds=seconds)
            case Delete(body=body):
                answer = await self._store.delete(slices, body, deadline_seconds=seconds)
        if isinstance(answer, Failed):
            self._log_trouble(answer.why)
        return isinstance(answer, Stored)

    def _log_trouble(self, why: str) -> None:
        """Log trouble once: again only when it changes, or comes back. Empty text ends it."""
        if why and why != self._trouble:
            log.warning("endpointslice.unpublished", service=self._settings.service, error=why)
        self._trouble = why


def _problem(service: Body, desired: Sequence[Body]) -> str:
    name = service["metadata"]["name"]
    if (service.get("spec") or {}).get("selector"):
        return (
            f"Service {name} has a selector, so requests reach instances that do not lead: "
            f"remove it"
        )
    if not any(body["ports"] for body in desired):
        return f"Service {name} has no TCP port; add one"
    if not any(body["endpoints"] for body in desired):
        return f"Service {name} has no address family that this pod has an address of"
    return ""
