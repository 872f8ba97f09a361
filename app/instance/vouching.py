"""Whether the pods exist that clients ask about: anybody who reaches the port can invent one.

A client whose pods were found is believed, and its pods are looked up after the answer. For any
other the look-up comes before, so that what it invents never takes room.
"""

import asyncio
from collections.abc import Callable
from random import Random
from typing import NoReturn

import structlog
from msgspec import structs

from app.instance.trust import Trust
from app.kube.connection import Connection
from app.kube.errors import ApiError, ImpossibleNameError
from app.kube.looking_up import LookUps, Searches
from app.serving.decisions import Asking, OtherPodError, UnavailableError
from app.serving.metrics import Metrics, Refuted
from extender import Ledger, PodRef
from extender.kubernetes import PodStatus
from extender.waiting import WaitingPods

log = structlog.get_logger()

_FIND_SECONDS = 2.0
"""Most that an answer waits for a look-up. kube-scheduler gives up after 5 s."""
MOST_UNFOUND = 1_000
"""While the API server refuses look-ups, more are wanted all the time. Pods beyond so many are seen
when they are watched, or asked about again."""
_UNKNOWN = "it is not known which pod has this uid; try again"


class Vouching:
    """Knows of each pod that has a hold or waits whether it exists, or finds out.

    Args:
        ledger: The holds.
        waiting: The pods that wait.
        connection: To the API server.
        metrics: Counts requests about pods that do not exist.
        on_found: Called with a pod and its status; None if there is no such pod.
        random: Spreads pauses.
    """

    def __init__(
        self,
        ledger: Ledger,
        waiting: WaitingPods,
        connection: Connection,
        metrics: Metrics,
        *,
        on_found: Callable[[PodRef, PodStatus | None], None],
        random: Random,
    ) -> None:
        self._ledger = ledger
        self._waiting = waiting
        self._metrics = metrics
        self._on_found = on_found
        self._look_ups = LookUps(connection)
        self._searches = Searches(self._look_ups, on_found=self._found, random=random)
        self._trust = Trust()
        self._contested = set[str]()
        """The uids of pods with a hold about which several clients have asked."""
        self._unfound: dict[PodRef, str] = {}
        """For whom a pod is looked up after its answer."""

    async def run(self) -> NoReturn:
        """Look up pods after their answers, until cancelled."""
        await self._searches.run()

    def is_known(self, client: str) -> bool:
        """Whether a client is likely to be kube-scheduler: its pods were found so far."""
        return self._trust.credit(client) > 0

    async def vouch(self, asking: Asking) -> Asking | None:
        """Return a request, with what was found of its pod if that was looked up.

        None if no such pod waits for a node.

        Raises:
            OtherPodError: The pod that has a hold or waits with this uid is another one.
            UnavailableError: It cannot be looked up in time.
        """
        pod = asking.request.pod
        hold, waiting = self._ledger.get(pod.uid), self._waiting.get(pod.uid)
        if waiting is not None and waiting.pod != pod and waiting.is_found:
            raise self._other(pod)
        if hold is not None and hold.pod != pod and self._ledger.is_seen(hold.pod):
            raise self._other(pod)
        if hold is not None and hold.pod == pod:
            return asking
        # Of two pods with one uid, one is invented.
        is_one_of_two = hold is not None or (waiting is not None and waiting.pod != pod)
        if not is_one_of_two and (
            not (pod.uid and pod.claims)  # nothing is held or remembered of it
            or self._is_believed(asking.client)
        ):
            return asking
        return await self._looked_up(asking, is_one_of_two=is_one_of_two)

    def is_anothers(self, asking: Asking) -> bool:
        """Whether the hold of a pod is not only the one's who asks now.

        Raises:
            UnavailableError: Another pod has a hold with this uid, and it is not known which of the
                two there is.
        """
        pod = asking.request.pod
        hold = self._ledger.get(pod.uid)
        if hold is None:
            return False
        if hold.pod != pod:
            if asking.found is not None:
                return False
            raise UnavailableError(_UNKNOWN)
        if hold.client != asking.client:
            self._contested.add(pod.uid)
        return pod.uid in self._contested

    def note_hold(self, asking: Asking) -> None:
        """Look up a pod for which a hold was made, if need be."""
        if not self._ledger.is_seen(asking.request.pod):
            self._search(asking)

    def note_waiting(self, asking: Asking) -> None:
        """Look up a pod that waits now, if need be."""
        waiting = self._waiting.get(asking.request.pod.uid)
        if waiting is not None and waiting.pod == asking.request.pod and not waiting.is_found:
            self._search(asking)

    def forget(self, pod: PodRef) -> None:
        """Note that a pod has no hold any more."""
        self._contested.discard(pod.uid)
        waiting = self._waiting.get(pod.uid)
        if waiting is None or waiting.pod != pod:
            self._unfound.pop(pod, None)
            self._searches.forget(pod)

    def _other(self, pod: PodRef) -> OtherPodError:
        self._metrics.refuted_requests_total.labels(Refuted.OTHER_POD).inc()
        return OtherPodError(
            f"pod {pod.namespace}/{pod.name} is not the one that has its uid and claims"
        )

    def _is_believed(self, client: str) -> bool:
        credit = self._trust.credit(client)
        return credit > 0 and credit > [*self._unfound.values()].count(client)

    async def _looked_up(self, asking: Asking, *, is_one_of_two: bool) -> Asking | None:
        pod = asking.request.pod
        try:
            async with asyncio.timeout(_FIND_SECONDS):
                status = await self._look_ups.find(pod, asking.client)
        except TimeoutError:
            raise UnavailableError("the pod could not be looked up in time; try again") from None
        except ImpossibleNameError:
            status = None
        except ApiError as error:
            log.warning("pod.not_found_out", pod=pod.name, error=str(error))
            if is_one_of_two:
                raise UnavailableError(_UNKNOWN) from None
            return asking
        if status is not None and not status.waits:  # kube-scheduler does not ask about it
            return None
        self._note(asking.client, exists=status is not None)
        return None if status is None else structs.replace(asking, found=status)

    def _search(self, asking: Asking) -> None:
        if len(self._unfound) < MOST_UNFOUND:
            self._unfound[asking.request.pod] = asking.client
            self._searches.begin(asking.request.pod)

    def _found(self, pod: PodRef, status: PodStatus | None) -> None:
        client = self._unfound.pop(pod, None)
        if client is not None:
            self._note(client, exists=status is not None)
        self._on_found(pod, status)

    def _note(self, client: str, *, exists: bool) -> None:
        self._trust.note(client, exists=exists)
        if not exists:
            self._metrics.refuted_requests_total.labels(Refuted.NO_POD).inc()
