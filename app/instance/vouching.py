"""Whether the pods exist that clients ask about: anybody who reaches the port can invent one.

A client whose pods were found is believed, and its pods are looked up after the answer. For any
other the look-up comes before, so that what it invents never takes room.
"""

import asyncio
from collections.abc import Callable
from random import Random
from typing import NoReturn

import structlog

from app.instance.trust import Trust
from app.kube.connection import Connection
from app.kube.errors import ApiError, ImpossibleNameError
from app.kube.looking_up import LookUps, Searches
from app.metrics import Metrics, Refuted
from app.serving.decisions import Asking, OtherPodError, UnavailableError
from extender import Ledger, PodRef, PodStatus

log = structlog.get_logger()

_FIND_SECONDS = 2.0
"""Most that an answer waits for a look-up. kube-scheduler gives up after 5 s."""
_MOST_FOUND = 1_000
_UNKNOWN = "it is not known which pod has this uid; try again"


class Vouching:
    """Knows of each hold whether its pod exists, or finds out.

    Args:
        ledger: The holds.
        connection: To the API server.
        metrics: Counts requests about pods that do not exist.
        on_found: Called with a pod that has a hold and its status; None if there is no such pod.
        random: Spreads pauses.
    """

    def __init__(
        self,
        ledger: Ledger,
        connection: Connection,
        metrics: Metrics,
        *,
        on_found: Callable[[PodRef, PodStatus | None], None],
        random: Random,
    ) -> None:
        self._ledger = ledger
        self._metrics = metrics
        self._on_found = on_found
        self._look_ups = LookUps(connection)
        self._searches = Searches(self._look_ups, on_found=self._found, random=random)
        self._trust = Trust()
        self._clients: dict[str, str] = {}
        """For whom each hold was made, by uid; nobody for what a leader before had held, and once
        another client has asked about its pod."""
        self._unfound: dict[str, str] = {}
        """The same for the pods that are not found yet."""
        self._just_found: dict[PodRef, bool] = {}
        """Those that were looked up before their answer, which is not given yet."""

    async def run(self) -> NoReturn:
        """Look up pods after their answers, until cancelled."""
        await self._searches.run()

    async def exists(self, asking: Asking) -> bool:
        """Whether a pod may be taken to exist before its request is answered.

        Raises:
            OtherPodError: The pod that has a hold with this uid is another one.
            UnavailableError: It cannot be looked up in time.
        """
        pod = asking.request.pod
        hold = self._ledger.get(pod.uid)
        if hold is not None and hold.pod != pod and self._ledger.is_seen(hold.pod):
            self._metrics.refuted_requests_total.labels(Refuted.OTHER_POD).inc()
            raise OtherPodError(
                f"pod {pod.namespace}/{pod.name} is not the one that has its uid and claims"
            )
        if hold is not None:  # of two pods with one uid, one is invented
            return hold.pod == pod or await self._find(pod, asking.client)
        # Nothing is held or remembered of a pod without uid or claims.
        if not (pod.uid and pod.claims) or self._is_believed(asking.client):
            return True
        return await self._find(pod, asking.client)

    def is_anothers(self, asking: Asking) -> bool:
        """Whether the hold of a pod is not only the one's who asks now.

        Raises:
            UnavailableError: Another pod has a hold with this uid, and it is not known which of the
                two there is.
        """
        pod = asking.request.pod
        was_found = self._just_found.pop(pod, False)
        hold = self._ledger.get(pod.uid)
        if hold is None:
            return False
        if hold.pod != pod:
            if was_found:
                return False
            raise UnavailableError(_UNKNOWN)
        if self._clients.get(pod.uid) == asking.client:
            return False
        self._clients.pop(pod.uid, None)
        return True

    def note(self, asking: Asking) -> None:
        """Note that a hold was made for a request, and look its pod up if need be."""
        pod = asking.request.pod
        self._clients[pod.uid] = asking.client
        if not self._ledger.is_seen(pod):
            self._unfound[pod.uid] = asking.client
            self._searches.begin(pod)

    def forget(self, pod: PodRef) -> None:
        """Note that a pod has no hold any more."""
        self._clients.pop(pod.uid, None)
        self._unfound.pop(pod.uid, None)
        self._searches.forget(pod)

    def _is_believed(self, client: str) -> bool:
        credit = self._trust.credit(client)
        return credit > 0 and credit > [*self._unfound.values()].count(client)

    async def _find(self, pod: PodRef, client: str) -> bool:
        try:
            async with asyncio.timeout(_FIND_SECONDS):
                status = await self._look_ups.find(pod, client)
        except TimeoutError:
            raise UnavailableError("the pod could not be looked up in time; try again") from None
        except ImpossibleNameError:
            status = None
        except ApiError as error:
            log.warning("pod.not_found_out", pod=pod.name, error=str(error))
            if self._ledger.get(pod.uid) is not None:
                raise UnavailableError(
                    "it is not known which pod has this uid; try again"
                ) from None
            return True
        self._note(client, exists=status is not None)
        if status is not None:
            self._just_found[pod] = True
            if len(self._just_found) > _MOST_FOUND:
                del self._just_found[next(iter(self._just_found))]
        return status is not None

    def _found(self, pod: PodRef, status: PodStatus | None) -> None:
        client = self._unfound.pop(pod.uid, None)
        if client is not None:
            self._note(client, exists=status is not None)
        self._on_found(pod, status)

    def _note(self, client: str, *, exists: bool) -> None:
        self._trust.note(client, exists=exists)
        if not exists:
            self._metrics.refuted_requests_total.labels(Refuted.NO_POD).inc()
