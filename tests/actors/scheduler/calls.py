"""Calls of the extender within one scheduling cycle."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from random import Random

from tests.actors.api import Object
from tests.actors.scheduler import exchange
from tests.actors.scheduler.configuration import Configuration
from tests.actors.scheduler.events import Answered, Asked, Event
from tests.actors.scheduler.exchange import Ask, CallError, Reply, Verb, Verdict
from tests.actors.scheduler.status import nominated_node

TIMED_OUT = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
REFUSED = "connect: connection refused"


class Extender:
    """Our service, as the scheduler uses it."""

    def __init__(
        self,
        ask: Ask,
        *,
        configuration: Configuration,
        random: Random,
        tell: Callable[[Event], None],
    ) -> None:
        self._ask = ask
        self._configuration = configuration
        self._random = random
        self._tell = tell

    async def filter(self, pod: Object, names: list[str], nodes: Mapping[str, Object]) -> Verdict:
        """Ask about the nominated node alone, if it is left, and about all if that is in vain.

        Raises:
            CallError: The call about all nodes failed.
        """
        nominated = nominated_node(pod)
        if nominated in names:
            try:
                verdict = await self._call(pod, [nominated], nodes)
            except CallError:
                verdict = Verdict([], {})
            if verdict.accepted:
                return verdict
        return await self._call(pod, self._random.sample(names, len(names)), nodes)

    async def prioritize(
        self, pod: Object, names: Sequence[str], nodes: Mapping[str, Object]
    ) -> Mapping[str, int]:
        """Ask how good accepted nodes are; without a choice, or an answer, none has a score."""
        if len(names) < 2 or not self._configuration.score_weight:
            return {}
        capable = self._configuration.node_cache_capable
        body = exchange.request(pod, names, None if capable else nodes)
        try:
            return exchange.read_scores(await self._post(Verb.PRIORITIZE, body))
        except CallError:
            return {}

    async def _call(
        self, pod: Object, names: Sequence[str], nodes: Mapping[str, Object]
    ) -> Verdict:
        capable = self._configuration.node_cache_capable
        body = exchange.request(pod, names, None if capable else nodes)
        self._tell(Asked(pod, names))
        try:
            reply = await self._post(Verb.FILTER, body)
            verdict = exchange.read(reply, names, node_cache_capable=capable)
        except CallError as error:
            self._tell(Answered(pod, [], str(error)))
            raise
        self._tell(Answered(pod, verdict.accepted))
        return verdict

    async def _post(self, verb: Verb, body: bytes) -> Reply:
        try:
            async with asyncio.timeout(self._configuration.http_timeout_seconds):
                reply = await self._ask(verb, body)
        except TimeoutError as error:
            raise CallError(TIMED_OUT) from error
        if reply is None:
            raise CallError(REFUSED)
        return reply
