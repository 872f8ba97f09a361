"""Replicas under faults drawn from a seed, and what must hold at every moment of it.

Every fault that one replica or the network can have is drawn: kill, end, freeze, cut off, lost and
late answers, refusals, broken watches, and edits of the EndpointSlice. The lease is not edited and
no clock leaps further than time passes: both can make two lead for up to a renewal.
"""

import asyncio
from random import Random

from tests.fakes import (
    Answer,
    Call,
    CutAnswer,
    Delay,
    FaultKind,
    Hang,
    LostAnswer,
    Outage,
    Refused,
    WatchCut,
    WatchEndsAtOnce,
    WatchHang,
)
from tests.integration.instances import GLANCE_SECONDS, Replica, Replicas

FAULTY_SECONDS = 30.0
CALM_SECONDS = 16.0
EDITS_END_SECONDS = 10.0
"""So long before the end nobody edits the slice any more: the leader looks at it every 10 s."""
REQUEST_FAULT_PROBABILITY = 0.06


class TwoLeadersError(AssertionError):
    """More than one replica would act."""


class Simulation:
    """One run.

    Attributes:
        trace: What happened and what came of it, a line each, with the time.
    """

    def __init__(self, seed: int) -> None:
        self.trace: list[str] = []
        self._random = Random(f"simulation {seed}")
        self._count = self._random.choice([2, 3, 3])
        self._replicas = Replicas(seed, pods=self._count)
        self._frozen: list[Replica] = []
        self._outages: list[Outage] = []
        self._state = ""
        self._began = 0.0

    async def run(self) -> float:
        """Go through faults and a calm after it; return how long until all was well for good."""
        self._began = asyncio.get_running_loop().time()
        async with self._replicas as replicas:
            watch = asyncio.create_task(self._watch())
            try:
                for number in range(self._count):
                    replicas.start(number)
                replicas.server.interfere = self._interfere
                await self._suffer()
                await self._mend()
                took = await self._calm_down()
            finally:
                watch.cancel()
                await asyncio.wait([watch])
            if not watch.cancelled():
                watch.result()
        self.trace.append(f"settled after {took:.2f} s")
        return took

    async def _calm_down(self) -> float:
        loop = asyncio.get_running_loop()
        began = loop.time()
        took = 0.0
        while loop.time() - began < CALM_SECONDS:
            await asyncio.sleep(GLANCE_SECONDS)
            if not await self._is_settled():
                took = loop.time() - began
        return took

    async def _suffer(self) -> None:
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + FAULTY_SECONDS
        while loop.time() < ends_at:
            await asyncio.sleep(self._random.uniform(0.1, 4))
            events = [self._kill, self._terminate, self._freeze, self._cut_off, self._start]
            if loop.time() < ends_at - EDITS_END_SECONDS:
                events.append(self._edit)
            self._random.choice(events)()

    def _kill(self) -> None:
        if replica := self._any_running():
            self._note(f"kill {replica.pod}")
            replica.kill()

    def _terminate(self) -> None:
        if replica := self._any_running():
            self._note(f"end {replica.pod}")
            replica.terminate()

    def _freeze(self) -> None:
        if replica := self._any_running():
            seconds = self._random.choice([self._random.uniform(0, 3), self._random.uniform(3, 20)])
            self._note(f"freeze {replica.pod} for {seconds:.2f} s")
            replica.freeze()
            self._frozen.append(replica)
            asyncio.get_running_loop().call_later(seconds, replica.resume)

    def _cut_off(self) -> None:
        pods = [f"extender-{number}" for number in range(self._count)]
        client = self._random.choice([None, *pods])
        silent = self._random.random() < 0.5
        seconds = self._random.uniform(0, 12)
        self._note(f"cut off {client or 'all'} for {seconds:.2f} s{', silently' * silent}")
        outage = self._replicas.server.outage(client, silent=silent)
        self._outages.append(outage)
        asyncio.get_running_loop().call_later(seconds, outage.end)

    def _start(self) -> None:
        vacant = self._vacant()
        if vacant:
            number = self._random.choice(vacant)
            self._note(f"start extender-{number}")
            self._replicas.start(number)

    def _edit(self) -> None:
        found = self._replicas.slice()
        if found:
            self._note("empty the slice")
            self._replicas.server.put({**found, "endpoints": []})

    async def _mend(self) -> None:
        """End all faults, and start what does not run."""
        self._note("mend")
        self._replicas.server.interfere = None
        for outage in self._outages:
            outage.end()
        for replica in self._frozen:
            replica.resume()
        ending = [each.ended for each in self._replicas.all if each.is_ending]
        if ending:
            await asyncio.wait(ending)
        for number in self._vacant():
            self._replicas.start(number)

    def _vacant(self) -> list[int]:
        """Pods without a process, be it frozen."""
        taken = {
            each.pod for each in self._replicas.all if not (each.is_killed or each.ended.done())
        }
        return [number for number in range(self._count) if f"extender-{number}" not in taken]

    def _any_running(self) -> Replica | None:
        running = [each for each in self._replicas.all if each.is_running]
        return self._random.choice(running) if running else None

    def _interfere(self, call: Call) -> FaultKind | None:
        if self._random.random() >= REQUEST_FAULT_PROBABILITY:
            return None
        silent = self._random.random() < 0.5
        kinds: list[FaultKind] = [
            Refused(),
            Hang(),
            LostAnswer(hang=silent),
            CutAnswer(),
            Delay(self._random.uniform(0, 10)),
            Answer(500),
            Answer(429, headers={"Retry-After": "1"}),
        ]
        if call.verb == "watch":
            after = self._random.randrange(3)
            kinds += [WatchCut(after), WatchHang(after), WatchEndsAtOnce()]
        return self._random.choice(kinds)

    async def _watch(self) -> None:
        """Look all the time; two leaders end the run."""
        while True:
            leaders = self._replicas.leaders
            self._see(leaders)
            if len(leaders) > 1:
                raise TwoLeadersError("\n".join(self.trace))
            await asyncio.sleep(GLANCE_SECONDS)

    def _see(self, leaders: list[Replica]) -> None:
        state = f"leading {[each.pod for each in leaders]}, endpoints {self._replicas.addresses()}"
        if state != self._state:
            self._state = state
            self._note(state)

    async def _is_settled(self) -> bool:
        leaders = self._replicas.leaders
        return (
            len(leaders) == 1
            and self._replicas.points_at(leaders[0])
            and await self._replicas.is_answered()
        )

    def _note(self, text: str) -> None:
        seconds = asyncio.get_running_loop().time() - self._began
        self.trace.append(f"{seconds:8.2f} {text}")
