"""Runs in one of the two checkouts: plays seeds, and writes what the service answered and holds.

Each line of input is an event of a seed, each line of output what there is after it, with
everything in an order of its own, so that equal is equal.
"""

import asyncio
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
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
WAITS = [2.113, 5.317, 11.13, 31.17] * 4 + [61.19, 61.19, 611.3]
END, ANOTHER_LEADER = -1, -2
"""Events that are not drawn."""
AT_ONCE = [1, 6, 12, 20]
"""So many pods are asked about, some twice, before anything else happens."""
BETWEEN_REQUESTS = 0.0173
"""So that each is answered before the next is sent, unless it is to wait."""
LONGEST_ANSWER_SECONDS = 7.0


class Choices(msgspec.Struct):
    """What the world takes from answers, so that it can be the same with other answers.

    Attributes:
        accepted: The nodes that each pod got with its last answer before the event.
        scored: By request, the accepted nodes, of which scores are asked.
    """

    accepted: dict[str, list[str]] = {}
    scored: dict[str, list[str]] = {}


class Task(msgspec.Struct, frozen=True):
    """An event to play.

    Attributes:
        begun: How many seeds have begun before.
        seed: The one to play.
        number: The event, or one of those below.
        followed: What the other checkout chose, if that is to be chosen.
    """

    begun: int
    seed: int
    number: int
    followed: Choices | None = None


class Line(msgspec.Struct, kw_only=True):
    """What there is after an event; the fields are compared in this order.

    *choices* are those of this event. *places* is where the service thinks that Longhorn may
    place what is due: it answers by it, but does not promise it. *facts* and *counts* are for
    statistics.
    """

    step: int
    what: str
    choices: Choices
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

    def __init__(self, seed: int, ended: list[Mapping[str, Any]]) -> None:
        self._seed = seed
        self._ended = ended
        self.world = World(seed)
        self._followed: Choices | None = None
        self._choices = Choices()
        self._asking: dict[str, asyncio.Task[Answer]] = {}
        self._facts: list[list[str]] = []
        self._calls = 0
        self._counts: Counter[str] = Counter()

    async def begin(self) -> None:
        """Make what there is at first, and start an instance."""
        self._ended.clear()
        start(self.world, Random(f"start {self._seed}"))
        self._service = await self._start()

    async def play(self, task: Task) -> Line:
        """Play an event, and say what there is then."""
        self._followed = task.followed
        if task.followed:
            self.world.accepted = task.followed.accepted
        self._choices = Choices(dict(self.world.accepted))
        what = await self._happen(task.number, Random(f"{self._seed} {task.number}"))
        line = await self._line(task.number, what)
        if task.number == END:
            await self._service.end()
        return line

    async def _start(self) -> Service:
        service = Service(self.world.server, self.world.plan.environment)
        while not await service.is_answering():  # noqa: ASYNC110 (nobody tells)
            await asyncio.sleep(1.03)
        return service

    async def _begin_anew(self) -> None:
        await self._service.end()
        self._counts.update(self._service.counts())
        self._service = await self._start()

    async def _happen(self, number: int, random: Random) -> str:
        if number == END:
            await asyncio.sleep(LONGEST_ANSWER_SECONDS)
            return "the end"
        if number == ANOTHER_LEADER:
            await self._begin_anew()
            return "another leader, so that both know the same"
        draw = random.random()
        if draw < 0.5:
            what = await self._ask(number, random)
        elif draw < 0.57:
            seconds = random.choice(WAITS)
            what = f"{seconds:g} s pass"
            await asyncio.sleep(seconds)
        elif draw < 0.573:
            what = "another leader"
            await self._begin_anew()
        else:
            [event] = random.choices([*EVENTS], [*EVENTS.values()])
            what = event(self.world, random)
        await asyncio.sleep(random.choice(PAUSES))
        return what

    async def _ask(self, number: int, random: Random) -> str:
        """Send requests one after another, and go on with what comes of them when it comes."""
        drawn = [draw_request(self.world, random) for _ in range(random.choice(AT_ONCE))]
        requests = {each.pod: each for each in drawn}.values()
        for count, request in enumerate(requests):
            form = "names" if request.by_name else "whole nodes"
            self._facts.append([*self.world.plan.facts(request.pod), form])
            key = f"{request.pod} {number} {count}"
            self._asking[key] = asyncio.create_task(self._answer(key, request))
            await asyncio.sleep(BETWEEN_REQUESTS)
        return "; ".join(map(str, requests))

    async def _answer(self, key: str, request: Request) -> Answer:
        scored = self._followed.scored.get(key) if self._followed else None
        answer = await ask(self._service, request, asyncio.get_running_loop().time, scored)
        if self._followed is None:
            self.world.accepted[request.pod] = self._choices.scored[key] = [*answer.order]
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
        answers = {key: self._asking.pop(key).result() for key in done}
        told = {each["pod"]: each["best"] for each in reversed(state["scores"])}
        for key, answer in answers.items():
            if answer.scores is not None:
                answer.scores.parts = told.get(f"default/{key.split()[0]}", {})
        return Line(
            step=number,
            what=what,
            choices=self._choices,
            answers=answers,
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
            counts=self._all_counts() if number == END else {},
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
    tasks = (msgspec.json.decode(line, type=Task) for line in sys.stdin.buffer)
    for _, of_seed in groupby(tasks, key=lambda task: task.begun):
        with asyncio.Runner(loop_factory=_new_loop) as runner:
            player = None
            for task in of_seed:
                if player is None:
                    player = Player(task.seed, ended)
                    runner.run(player.begin())
                sys.stdout.buffer.write(encoder.encode(runner.run(player.play(task))) + b"\n")
                sys.stdout.buffer.flush()


def _new_loop() -> asyncio.AbstractEventLoop:
    return looptime.new_event_loop(resolution=RESOLUTION, noop_cycles=0)
