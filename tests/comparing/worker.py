"""Runs in one of the two checkouts: plays seeds, and writes what the service answered and holds.

Each line of input is a seed and the numbers of the events to play. Each line of output is what
there is after one event, with everything in an order of its own, so that equal is equal.
"""

import asyncio
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import looptime
import msgspec

from tests.comparing.asking import Answer, Request, ask, draw_request
from tests.comparing.events import EVENTS, start
from tests.comparing.objects import Object
from tests.comparing.tree import Service, silence
from tests.comparing.world import PODS, World

RESOLUTION = 2**-20
PAUSES = [0.0617, 0.3137, 1.0171]
"""After an event, so that all is done that it leads to, or not."""
WAITS = [2.113, 2.113, 5.317, 5.317, 11.13, 31.17, 61.19, 611.3]
LONGEST_ANSWER_SECONDS = 7.0


class Task(msgspec.Struct, frozen=True):
    """What to play."""

    seed: int
    events: Sequence[int]


class Line(msgspec.Struct, kw_only=True):
    """What there is after an event; the fields are compared in this order.

    *places* is where the service thinks that Longhorn may place what is due: it answers by it, but
    does not promise it. *facts* and *counts* are for statistics.
    """

    step: int
    what: str
    answers: Mapping[str, Answer]
    holds: Object
    ended: list[str]
    woken: list[str]
    waiting: Object
    charged: Object
    upcoming: Object
    disks: Object
    places: Object
    facts: list[list[str]]
    counts: Mapping[str, int]


class Player:
    """One seed."""

    def __init__(self, task: Task, ended: list[Mapping[str, Any]]) -> None:
        self._task = task
        self._ended = ended
        self.world = World(task.seed)
        self._asking: dict[str, asyncio.Task[Answer]] = {}
        self._facts: list[list[str]] = []
        self._calls = 0
        self._counts: Counter[str] = Counter()

    async def play(self, write: Callable[[Line], None]) -> None:
        """Play all events."""
        self._ended.clear()
        start(self.world, Random(f"start {self._task.seed}"))
        self._service = await self._start()
        for number in [*self._task.events, -1]:
            random = Random(f"{self._task.seed} {number}")
            what = await self._happen(number, random)
            if what:
                write(await self._line(number, what))
        await self._service.end()

    async def _start(self) -> Service:
        service = Service(self.world.server, self.world.plan.environment)
        while not await service.is_answering():  # noqa: ASYNC110 (nobody tells)
            await asyncio.sleep(1.03)
        return service

    async def _happen(self, number: int, random: Random) -> str:
        if number < 0:
            await asyncio.sleep(LONGEST_ANSWER_SECONDS)
            return "the end"
        draw = random.random()
        if draw < 0.5:
            what = self._ask(number, random)
        elif draw < 0.57:
            seconds = random.choice(WAITS)
            what = f"{seconds:g} s pass"
            await asyncio.sleep(seconds)
        elif draw < 0.573:
            what = "another leader"
            await self._service.end()
            self._counts.update(self._service.counts())
            self._service = await self._start()
        else:
            [event] = random.choices([*EVENTS], [*EVENTS.values()])
            what = event(self.world, random)
        await asyncio.sleep(random.choice(PAUSES))
        return what

    def _ask(self, number: int, random: Random) -> str:
        """Send a request, and go on with what comes of it when it is answered."""
        request = draw_request(self.world, random)
        form = "names" if request.by_name else "whole nodes"
        self._facts.append([*self.world.plan.facts(request.pod), form])
        self._asking[f"{request.pod} {number}"] = asyncio.create_task(self._answer(request))
        return str(request)

    async def _answer(self, request: Request) -> Answer:
        answer = await ask(self._service, request, asyncio.get_running_loop().time)
        self.world.accepted[request.pod] = [*answer.order]
        return answer

    def _all_counts(self) -> Counter[str]:
        """Return what the metrics of all instances counted, zeros included."""
        self._counts.update(self._service.counts())
        return self._counts

    async def _line(self, number: int, what: str) -> Line:
        done = [key for key, task in self._asking.items() if task.done()]
        calls = self.world.server.calls[self._calls :]
        self._calls += len(calls)
        ended = [f"{each['pod']} {each['node']} {each['why']}" for each in self._ended]
        self._ended.clear()
        facts, self._facts = self._facts, []
        state = await self._service.state()
        nodes: Mapping[str, Any] = state["nodes"]
        expected = [{**each, "node": node} for node, of in nodes.items() for each in of["forecast"]]
        return Line(
            step=number,
            what=what,
            answers={key: self._asking.pop(key).result() for key in done},
            holds={f"{each['pod']} {each['uid']}": each for each in state["holds"]},
            ended=sorted(ended),
            woken=[each.name for each in calls if (each.verb, each.resource) == ("patch", PODS)],
            waiting={each["pod"]: each for each in state["waiting"]},
            charged={
                node: {each["pod"]: each for each in of["holds"]} for node, of in nodes.items()
            },
            upcoming=_upcoming(expected),
            disks={
                node: {disk["name"]: disk for disk in of["disks"]} for node, of in nodes.items()
            },
            places=_places(expected),
            facts=facts,
            counts=self._all_counts() if number < 0 else {},
        )


def _upcoming(expected: Sequence[Object]) -> Object:
    """Return what Longhorn is about to place, wherever that may be."""
    found: dict[str, list[str]] = {}
    for each in expected:
        size_bytes = each.get("size_bytes", each.get("bytes"))  # as older ones call it
        found.setdefault(each["volume"], []).append(f"{size_bytes} {each['state']}")
    return {volume: sorted(each) for volume, each in found.items()}


def _places(expected: Sequence[Object]) -> Object:
    found: dict[str, list[str]] = {}
    for each in expected:
        found.setdefault(each["volume"], []).append(f"{each['node']} {each['disk']}")
    return {volume: sorted(each) for volume, each in found.items()}


def run() -> None:
    """Play what is asked for, until there is no more."""
    ended: list[Mapping[str, Any]] = []
    silence(ended)
    encoder = msgspec.json.Encoder(order="deterministic")
    out = sys.stdout.buffer

    def write(line: Line) -> None:
        out.write(encoder.encode(line) + b"\n")

    for asked in sys.stdin.buffer:
        task = msgspec.json.decode(asked, type=Task)
        try:
            with asyncio.Runner(loop_factory=_new_loop) as runner:
                runner.run(Player(task, ended).play(write))
        except Exception as error:
            error.add_note(f"with the events {task.events} of seed {task.seed}")
            raise
        out.write(b"\n")
        out.flush()


def _new_loop() -> asyncio.AbstractEventLoop:
    return looptime.new_event_loop(resolution=RESOLUTION, noop_cycles=0)
