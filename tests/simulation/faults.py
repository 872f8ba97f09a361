"""What goes wrong: to our instances, kube-scheduler, the provisioner, Longhorn and the network."""

import asyncio
from collections.abc import Callable
from random import Random

from tests.actors.longhorn import Delays
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
from tests.integration.instances import Process
from tests.simulation.world import GRANTING, World

REQUEST_FAULT_PROBABILITY = 0.02
WATCH_FAULT_PROBABILITY = 0.2
SLOW = Delays(
    volume_sync=(0.5, 3.0),
    attach_wish=(1.0, 6.0),
    attach=(3.0, 10.0),
    node_status=(2.0, 15.0),
    replica_cleanup=(2.0, 10.0),
)


class Faults:
    """Draws faults, and ends them."""

    def __init__(self, world: World, random: Random) -> None:
        self._world = world
        self._service = world.service
        self._random = random
        self._frozen: list[Process] = []
        self._outages: list[Outage] = []

    def begin(self) -> None:
        """Let single requests fail from now on."""
        if self._world.plan.faults:
            self._world.server.interfere = self._interfere

    def strike(self) -> None:
        """Let one thing go wrong."""
        kinds: list[Callable[[], None]] = [
            self._kill,
            self._terminate,
            self._freeze,
            self._start,
            self._start,
            self._cut_off,
            self._edit_slices,
            self._compact,
            self._slow_network,
            self._slow_longhorn,
            self._crash_scheduler,
            self._slow_provisioner,
            self._exhaust,
        ]
        self._random.choice(kinds)()

    async def mend(self) -> None:
        """End all faults, and start what does not run."""
        self._note("mend")
        self._world.server.interfere = None
        for outage in self._outages:
            outage.end()
        for process in self._frozen:
            process.resume()
        self._well()
        ending = [each.ended for each in self._service.all if each.is_ending]
        if ending:
            await asyncio.wait(ending)
        for number in self._vacant():
            self._service.start(number)

    def _well(self) -> None:
        world = self._world
        world.latency_seconds, world.news_seconds = 0.02, 0.01
        world.longhorn.cluster.delays = Delays()
        world.driver.delay, world.driver.is_exhausted = lambda: 0.0, lambda: False

    def _kill(self) -> None:
        if process := self._any_running():
            self._strikes("kill", process.pod)
            process.kill()

    def _terminate(self) -> None:
        if process := self._any_running():
            self._strikes("terminate", process.pod)
            process.terminate()

    def _freeze(self) -> None:
        if process := self._any_running():
            seconds = self._random.choice([self._random.uniform(0, 3), self._random.uniform(3, 20)])
            self._strikes("freeze", f"{process.pod} for {seconds:.2f} s")
            process.freeze()
            self._frozen.append(process)
            asyncio.get_running_loop().call_later(seconds, process.resume)

    def _start(self) -> None:
        if vacant := self._vacant():
            number = self._random.choice(vacant)
            self._strikes("start", f"extender-{number}")
            self._service.start(number)

    def _cut_off(self) -> None:
        pods = [f"extender-{number}" for number in range(self._world.plan.instances)]
        others = ["scheduler", "longhorn", *([GRANTING] * self._world.plan.disk_schedules)]
        client = self._random.choice([None, *pods, *pods, *others])
        silent = client in pods and self._random.random() < 0.5
        seconds = self._random.uniform(0, 12)
        self._strikes("cut off", f"{client or 'all'} for {seconds:.2f} s{', silently' * silent}")
        outage = self._world.server.outage(client, silent=silent)
        self._outages.append(outage)
        asyncio.get_running_loop().call_later(seconds, outage.end)

    def _edit_slices(self) -> None:
        if found := self._service.slice():
            self._strikes("edit", "the endpoints away")
            self._world.server.put({**found, "endpoints": []})

    def _compact(self) -> None:
        self._strikes("compact", "and break all watches")
        self._world.server.compact()
        with self._world.server.outage():
            pass

    def _slow_network(self) -> None:
        seconds = self._random.uniform(1, 8)
        self._strikes("slow network", f"for {seconds:.2f} s")
        world = self._world
        world.latency_seconds = self._random.uniform(0.1, 1.5)
        world.news_seconds = self._random.uniform(0.1, 3.0)
        asyncio.get_running_loop().call_later(seconds, self._mend_network)

    def _mend_network(self) -> None:
        self._world.latency_seconds, self._world.news_seconds = 0.02, 0.01

    def _slow_longhorn(self) -> None:
        seconds = self._random.uniform(2, 15)
        self._strikes("slow Longhorn", f"for {seconds:.2f} s")
        cluster = self._world.longhorn.cluster
        cluster.delays = SLOW

        def mend() -> None:
            cluster.delays = Delays()

        asyncio.get_running_loop().call_later(seconds, mend)

    def _crash_scheduler(self) -> None:
        """End kube-scheduler; the next one begins a little later, or before it has ended."""
        seconds = self._random.uniform(0.1, 3)
        loop = asyncio.get_running_loop()
        if self._random.random() < 0.5:
            self._strikes("crash scheduler", f"for {seconds:.2f} s")
            self._world.kill_scheduler()
            loop.call_later(seconds, self._world.start_scheduler)
        else:
            self._strikes("two schedulers", f"for {seconds:.2f} s")
            self._world.start_scheduler()
            loop.call_later(seconds, self._world.kill_older_schedulers)

    def _slow_provisioner(self) -> None:
        most = self._random.choice([5.0, 20.0])
        self._strikes("slow provisioner", f"by up to {most:.0f} s")
        self._world.driver.delay = lambda: self._random.uniform(0, most)

    def _exhaust(self) -> None:
        self._strikes("exhausting provisioner", "at times")
        self._world.driver.is_exhausted = lambda: self._random.random() < 0.3

    def _vacant(self) -> list[int]:
        """Pods without a process, be it frozen."""
        taken = {
            each.pod for each in self._service.all if not (each.is_killed or each.ended.done())
        }
        count = self._world.plan.instances
        return [number for number in range(count) if f"extender-{number}" not in taken]

    def _any_running(self) -> Process | None:
        """Take the leader more often than others."""
        running = [each for each in self._service.all if each.is_running]
        leading = [each for each in running if each.is_leading]
        found = leading if leading and self._random.random() < 0.6 else running
        return self._random.choice(found) if found else None

    def _interfere(self, call: Call) -> FaultKind | None:
        is_watch = call.verb == "watch"
        if is_watch and call.resource == "persistentvolumeclaims":
            self._world.deaf_since.pop(call.client, None)
        probability = WATCH_FAULT_PROBABILITY if is_watch else REQUEST_FAULT_PROBABILITY
        if self._random.random() >= probability:
            return None
        silent = self._random.random() < 0.5
        kinds: list[FaultKind] = [
            Refused(),
            LostAnswer(hang=silent),
            CutAnswer(),
            Delay(self._random.uniform(0, 4)),
            Answer(500),
            Answer(429, headers={"Retry-After": "1"}),
        ]
        if call.client.startswith("extender-"):
            kinds.append(Hang())
        if is_watch:
            after = self._random.randrange(3)
            kinds = [WatchCut(after), WatchEndsAtOnce(), Refused()]
            kinds += [WatchHang(after)] * call.client.startswith("extender-")
        kind = self._random.choice(kinds)
        if isinstance(kind, WatchHang) and call.resource == "pods":
            selected = call.query.get("fieldSelector", "")
            self._world.unheard.add((call.client, selected.removeprefix("metadata.name=")))
        if isinstance(kind, WatchHang) and call.resource == "persistentvolumeclaims":
            self._world.deaf_since[call.client] = self._world.trace.seconds
        self._world.trace.count(f"request: {type(kind).__name__}")
        return kind

    def _strikes(self, kind: str, detail: str) -> None:
        self._world.trace.count(f"fault: {kind}")
        self._note(f"{kind} {detail}")

    def _note(self, text: str) -> None:
        self._world.trace.note(f"fault: {text}")
