"""Carries a trial out: one run after another, each of which leaves nothing behind."""

import asyncio
from collections.abc import Callable, Mapping, Sequence

import msgspec

from app.errors import AppError
from cli.scheduler_config.wanted import DEFAULT_SCHEDULER
from cli.trial import requests as kinds
from cli.trial.cases import LOCAL, PREFIX, Action, Case, Class
from cli.trial.cleaning import Cleaning
from cli.trial.looking import Look, Plan
from cli.trial.manifests import (
    Asking,
    Way,
    affinity,
    namespace,
    probe,
    stateful_set,
    storage_class,
)
from cli.trial.outcome import Outcome, PodSeen, outcome, without_room
from cli.trial.requests import Requests

_LOOK_SECONDS = 1.0
_TOLD_SECONDS = 10.0
_PROBE_SECONDS = 60.0
_STUCK_SECONDS = 45.0
"""kube-scheduler tries again every 10 s, or when something changes that may help."""
_MAIN = "trial"


class _NotSetUpError(AppError):
    """What has to be there before a run did not come to be."""


class Trial:
    """One trial.

    Args:
        requests: To the API server.
        plan: What is carried out.
        say: Takes lines for whoever waits.
    """

    def __init__(self, requests: Requests, plan: Plan, say: Callable[[str], None]) -> None:
        self._requests, self._plan, self._say = requests, plan, say
        self._look = Look(requests, plan)
        self._cleaning = Cleaning(requests, plan.namespace, plan.longhorn_namespace)
        self.outcomes: list[Outcome] = []
        self.unasked: dict[Way, str] = {}
        """Why a way could not be tried."""

    async def run(self) -> None:
        """Carry everything out; `outcomes` has what came of it so far.

        Raises:
            ApiError: The API server refuses something, or something of a run is not gone after it.
        """
        plan = self._plan
        await self._requests.create(kinds.NAMESPACES, namespace(plan.namespace))
        for each in {case.class_.name: case.class_ for case in plan.cases}.values():
            await self._requests.create(kinds.CLASSES, storage_class(each))
        if self._fills:
            await self._requests.create(kinds.CLASSES, storage_class(_FILLING))
        ways = [each for each in plan.asking if await self._is_answered(each)]
        total = len(plan.cases) * len(ways) * plan.repeat
        for case in plan.cases:
            for run in range(1, plan.repeat + 1):
                for asking in ways:  # in turn, so that all meet the same cluster
                    told = f"[{len(self.outcomes) + 1}/{total}] {case.name} ({case.told})"
                    self._say(f"{told}, {asking.way}, run {run}")
                    self.outcomes.append(await self._run(case, asking, run))
                    await self._cleaning.remove_pods_and_claims()
                    await asyncio.sleep(plan.settle_seconds)

    @property
    def _fills(self) -> bool:
        return any(case.fillers for case in self._plan.cases)

    async def _is_answered(self, asking: Asking) -> bool:
        """Whether a pod that asks in this way gets a node; else say why not."""
        if asking.way is Way.NONE:
            return True
        here = self._plan.namespace
        await self._requests.create(kinds.PODS, probe(here, asking, self._plan.nodes))
        pods = await self._wait(lambda pods: all(each.node for each in pods), _PROBE_SECONDS)
        await self._cleaning.remove_pods()
        if all(each.node for each in pods):
            return True
        refused = next((each.refused for each in pods if each.refused), "no scheduler looks at it")
        why = f"a pod that asks gets no node in {_PROBE_SECONDS:.0f} s: {refused}"
        self.unasked[asking.way] = why
        self._say(f"{asking.way} is left out: {why}; `doctor` says more")
        return False

    async def _run(self, case: Case, asking: Asking, run: int) -> Outcome:
        try:
            return await self._carried_out(case, asking, run)
        except _NotSetUpError as error:
            self._say(f"  not carried out: {error}")
            empty = outcome(
                *(case, asking.way, run, (), {}, {}), before={}, room={}, seconds=None, calls=None
            )
            return msgspec.structs.replace(empty, problem=str(error))

    async def _carried_out(self, case: Case, asking: Asking, run: int) -> Outcome:
        await self._fill(case, asking)
        before: Mapping[str, str] = {}
        old = frozenset[str]()
        if case.action is not Action.CREATE:
            first = [case.start] if case.start else self._plan.nodes
            await self._create(case, asking, first)
            pods = await self._settled(case)
            if not _all_run(pods, case.pods):
                raise _NotSetUpError(f"only {_running(pods)} of {case.pods} pods ran beforehand")
            before = {each.name: each.node for each in pods}
            old = frozenset(each.uid for each in pods)
        calls = await self._look.calls(asking.way)
        began = asyncio.get_running_loop().time()
        if case.action is Action.DRAIN:
            others = [name for name in self._plan.nodes if name != case.start]
            template = {"spec": {"affinity": affinity(others)}}
            here = self._plan.namespace
            changes = {"spec": {"template": template}}
            await self._requests.change(kinds.STATEFUL_SETS, _MAIN, changes, here)
            for name in before:
                await self._requests.evict(name, here)
        else:
            if case.action is Action.RESTART:
                await self._cleaning.remove_pods()
                began = asyncio.get_running_loop().time()
            await self._create(case, asking, self._plan.nodes)
        pods = await self._settled(case, but=old, began=began)
        after = await self._look.calls(asking.way)
        volume_of, replicas = await self._look.replicas(pods)
        return outcome(
            case,
            asking.way,
            run,
            pods,
            volume_of,
            replicas,
            before=before,
            room={
                node: count - case.fillers.get(node, 0)
                for node, count in self._plan.sizing.slots.items()
            },
            seconds=self._all_ran_after,
            calls=None if calls is None or after is None else after - calls,
        )

    async def _fill(self, case: Case, asking: Asking) -> None:
        """Take room on nodes, so that the others alone have as much as the case is about."""
        filling = Asking(way=Way.NONE, scheduler=DEFAULT_SCHEDULER, image=asking.image)
        for number, (node, claims) in enumerate(case.fillers.items()):
            await self._requests.create(
                kinds.STATEFUL_SETS,
                stateful_set(
                    f"fill-{number}",
                    self._plan.namespace,
                    pods=claims,
                    claims=1,
                    claim_bytes=self._plan.sizing.claim_bytes,
                    class_=_FILLING,
                    asking=filling,
                    nodes=[node],
                ),
            )
        if not case.fillers:
            return
        wanted = sum(case.fillers.values())
        pods = await self._wait(lambda pods: _all_run(pods, wanted), self._plan.within_seconds)
        volume_of, replicas = await self._look.replicas(pods)
        if not _all_run(pods, wanted) or without_room(pods, volume_of, replicas):
            raise _NotSetUpError("other nodes could not be filled beforehand")
        await asyncio.sleep(self._plan.settle_seconds)

    async def _create(self, case: Case, asking: Asking, nodes: Sequence[str]) -> None:
        await self._requests.create(
            kinds.STATEFUL_SETS,
            stateful_set(
                _MAIN,
                self._plan.namespace,
                pods=case.pods,
                claims=case.claims,
                claim_bytes=self._plan.sizing.claim_bytes,
                class_=case.class_,
                asking=asking,
                nodes=nodes,
            ),
        )

    async def _settled(
        self, case: Case, but: frozenset[str] = frozenset(), began: float = 0.0
    ) -> list[PodSeen]:
        """Wait until all pods of a case run and have their replicas, or nothing changes any more.

        Args:
            case: Theirs.
            but: Pods that are to go.
            began: When they were asked for.
        """
        loop, plan = asyncio.get_running_loop(), self._plan
        began = began or loop.time()
        self._all_ran_after: float | None = None

        def all_run(pods: Sequence[PodSeen]) -> bool:
            return _all_run(pods, case.pods) and not any(each.uid in but for each in pods)

        pods = await self._wait(all_run, plan.within_seconds, f"app={_MAIN}")
        if all_run(pods):
            self._all_ran_after = round(loop.time() - began, 1)
        if waiting := [each for each in pods if not each.node]:
            self._say(f"  {len(waiting)} pods got no node: {waiting[0].refused}")
        seen, deadline = None, loop.time() + plan.settle_seconds
        while loop.time() < deadline:
            volume_of, replicas = await self._look.replicas(pods)
            found = (len(replicas.get(each, ())) for each in volume_of.values())
            is_whole = all(count >= case.class_.replicas for count in found)
            if is_whole and not (case.class_.is_local and without_room(pods, volume_of, replicas)):
                break
            if replicas != seen:
                seen, deadline = replicas, loop.time() + plan.settle_seconds
            await asyncio.sleep(_LOOK_SECONDS)
        return await self._look.pods(f"app={_MAIN}")

    async def _wait(
        self, is_done: Callable[[Sequence[PodSeen]], bool], within: float, selector: str = ""
    ) -> list[PodSeen]:
        """Look at the pods until they are as wished, or kube-scheduler finds no node for the rest.

        It takes *within* seconds at most.
        """
        loop = asyncio.get_running_loop()
        began = told = changed = loop.time()
        seen: list[PodSeen] | None = None
        while not is_done(pods := await self._look.pods(selector)) and loop.time() - began < within:
            if pods != seen or not pods or any(each.node and not each.runs for each in pods):
                seen, changed = pods, loop.time()
            if loop.time() - changed > _STUCK_SECONDS:
                break
            if loop.time() - told > _TOLD_SECONDS:
                told = loop.time()
                waiting = sum(not each.node for each in pods)
                self._say(
                    f"  {_running(pods)} of {len(pods)} pods run, {waiting} wait for a node, "
                    f"after {told - began:.0f} s"
                )
            await asyncio.sleep(_LOOK_SECONDS)
        return pods


def _all_run(pods: Sequence[PodSeen], wanted: int) -> bool:
    return len(pods) == wanted and all(each.runs for each in pods)


def _running(pods: Sequence[PodSeen]) -> int:
    return sum(each.runs for each in pods)


_FILLING = Class(name=f"{PREFIX}-fill", told="", parameters=LOCAL)
