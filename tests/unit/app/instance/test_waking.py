"""Who got no node is woken when there is room: the longest wait first, and not in vain."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random

import msgspec
import pytest
from prometheus_client import CollectorRegistry

from app.instance.waking import Waking
from app.kube.connection import Connection
from app.kube.resource import AnyRecord
from app.process.surroundings import Surroundings
from app.serving.metrics import Metrics
from extender import Answer, Basis, ClusterView, Extender, PodRef, Rejection
from extender.demand import resolve
from extender.holds import Asked, End, Timeouts
from extender.kubernetes import ClaimKey
from extender.verdicts.rejections import NodeTags
from extender.verdicts.shortages import InsufficientStorage, PendingReplicas, RoomHeld
from extender.view import ChangeLog
from longhorn import NodeName, VolumeName
from tests.builders import (
    GENEROUS,
    GIB,
    bound,
    claim,
    core_document,
    disk,
    node,
    persistent_volume,
    replica,
    view_of,
    volume,
)
from tests.fakes import Answer as Reply
from tests.fakes import Call, FakeApiServer, Fault, Hang, LostAnswer

pytestmark = pytest.mark.looptime

PREFIX = "longhorn_scheduler_extender_"
WOKEN_AT = "longhorn-scheduler-extender/woken-at"
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
SMALL, LARGE = 10 * GIB, 60 * GIB
ONE, TWO = NodeName("node-1"), NodeName("node-2")


class Bench:
    """Pods of one claim each, two nodes without room, and an API server."""

    def __init__(self, connection: Connection, server: FakeApiServer) -> None:
        self.server = server
        self.extender = Extender(GENEROUS)
        self.may_wake = True
        self.registry = CollectorRegistry()
        self._volumes: list[AnyRecord] = []
        self._sizes = {ONE: 0, TWO: 0}
        self.node_changes = ChangeLog[NodeName]()
        self._volume_changes = ChangeLog[VolumeName]()
        self.view: ClusterView = view_of()
        self.rebuild()
        self.seconds_per_call, self.calls, self._passed = 0.0, 0, 0.0
        self.waking = Waking(
            Surroundings(connection, self._clock, self._wall_clock, Random(1)),
            self.extender,
            lambda: self.view,
            Metrics(self.registry, version="1"),
            may_wake=lambda: self.may_wake,
        )

    def _clock(self) -> float:
        self.calls += 1
        self._passed += self.seconds_per_call
        return asyncio.get_running_loop().time() + self._passed

    def _wall_clock(self) -> datetime:
        return EPOCH + timedelta(seconds=asyncio.get_running_loop().time())

    def rebuild(self) -> None:
        """Show the nodes and claims as they are now."""
        nodes = [node(name, disk(maximum_bytes=size or GIB)) for name, size in self._sizes.items()]
        self.view = msgspec.structs.replace(
            view_of(*nodes, *self._volumes),
            changes=self.node_changes,
            volume_changes=self._volume_changes,
        )

    def show(self, name: NodeName, size_bytes: int) -> None:
        """Give a node a size, and tell nobody."""
        self._sizes[name] = size_bytes
        self.rebuild()

    def place(self, name: str, on: NodeName) -> None:
        """Show a healthy replica of a pod's volume on a node, and tell of it."""
        self._volumes.append(replica(of=name, on=on))
        self._volume_changes.add(VolumeName(name))
        self.rebuild()
        self.waking.note_changes()

    def change_another_volume(self) -> None:
        """Have a volume change that is nobody's, and tell of it."""
        self._volume_changes.add(VolumeName("another"))
        self.waking.note_changes()

    def add(self, *names: str, size_bytes: int = SMALL) -> list[PodRef]:
        """Create pods whose volumes are bound and not placed."""
        for name in names:
            self._volumes += bound(volume(name, size_bytes=size_bytes))
            self.server.put(core_document("Pod", name, spec={}, status={}))
        self.rebuild()
        return [self.ref(name) for name in names]

    def ref(self, name: str) -> PodRef:
        found = self.server.get("pods", name, "default")
        assert found is not None
        claims = (ClaimKey(f"default/{name}"),)
        return PodRef(namespace="default", name=name, uid=found["metadata"]["uid"], claims=claims)

    def reject(
        self,
        pods: Iterable[PodRef],
        nodes: Sequence[NodeName] = (ONE, TWO),
        why: Rejection = InsufficientStorage(size_bytes=SMALL),  # noqa: B008 (frozen)
    ) -> None:
        """Take in that pods got no node, one a moment after the other."""
        now = asyncio.get_running_loop().time()
        for number, pod in enumerate(pods):
            # Also one whose claims are not those that it had.
            had = msgspec.structs.replace(pod, claims=(ClaimKey(f"default/{pod.name}"),))
            answer = Answer(
                request=msgspec.structs.replace(resolve(had, self.view), pod=pod),
                view=self.view,
                basis=Basis.PLACEMENT,
                candidates=nodes,
                accepted=[],
                rejected=dict.fromkeys(nodes, why),
            )
            self.waking.remember(answer, now + number * 1e-9)

    def grow(self, name: NodeName, size_bytes: int) -> None:
        """Make room on a node."""
        self.show(name, size_bytes)
        self.node_changes.add(name)
        self.waking.note_changes()

    def hold(self, pod: PodRef) -> None:
        """Answer about a pod, and hold what is said."""
        result = self.extender.filter(pod, [ONE, TWO], self.view)
        timeouts = Timeouts(choosing_seconds=60.0, placing_seconds=60.0)
        self.extender.hold(result, Asked(), timeouts=timeouts, now=0.0)
        assert result.accepted

    @property
    def patches(self) -> list[Call]:
        return [call for call in self.server.calls if call.verb == "patch"]

    @property
    def woken(self) -> list[str]:
        """The pods for which a patch was sent, in order."""
        return [call.name for call in self.patches]

    def count(self, outcome: str) -> float:
        value = self.registry.get_sample_value(f"{PREFIX}wake_ups_total", {"outcome": outcome})
        assert value is not None
        return value


@asynccontextmanager
async def waking() -> AsyncIterator[Bench]:
    """Wake pods until the end of the block."""
    server = FakeApiServer(Random(5))
    async with server.client("us") as client:
        bench = Bench(Connection(client), server)
        bench.waking.note_changes()
        task = asyncio.create_task(bench.waking.run())
        try:
            yield bench
            assert not task.done(), "nobody is woken any more"
        finally:
            task.cancel()
            await asyncio.wait([task])
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error


async def test_nobody_is_woken_without_room():
    async with waking() as bench:
        bench.reject(bench.add("pod"))

        bench.waking.note_less_held(None)
        bench.grow(ONE, 2 * GIB)
        await asyncio.sleep(1)

        assert bench.woken == []


async def test_room_wakes_a_pod_and_says_when():
    async with waking() as bench:
        bench.reject(bench.add("pod"))
        await asyncio.sleep(30)

        bench.grow(ONE, SMALL)
        await asyncio.sleep(1)

        [patch] = bench.patches
        assert patch.body["metadata"]["annotations"] == {WOKEN_AT: "2026-01-01T00:00:30+00:00"}
        assert bench.count("woken") == 1


async def test_room_on_a_node_that_was_no_candidate_wakes_nobody():
    async with waking() as bench:
        bench.reject(bench.add("pod"), [TWO])

        bench.grow(ONE, SMALL)
        bench.waking.note_less_held(None)
        await asyncio.sleep(1)

        assert bench.woken == []


async def test_room_anywhere_wakes_a_pod_that_depends_on_others():
    """What is in its way may go to the other node then."""
    async with waking() as bench:
        [pod] = bench.add("pod")
        bench.reject([pod], [ONE], PendingReplicas())
        bench.show(ONE, LARGE)

        bench.grow(TWO, 2 * GIB)
        await asyncio.sleep(1)

        assert bench.woken == ["pod"]


async def test_time_alone_wakes_a_pod_that_depends_on_others():
    """What others wait for is given up after a minute, and nothing tells of that."""
    async with waking() as bench:
        [pod] = bench.add("pod")
        bench.reject([pod], [ONE], PendingReplicas())
        bench.show(ONE, LARGE)

        await asyncio.sleep(9)
        assert bench.woken == []

        await asyncio.sleep(3)
        assert bench.woken == ["pod"]


async def test_time_counts_also_where_something_changes_all_the_time():
    async with waking() as bench:
        [pod] = bench.add("pod")
        bench.show(ONE, LARGE)
        bench.reject([pod], [ONE], PendingReplicas())

        for _ in range(120):
            await asyncio.sleep(0.1)
            bench.change_another_volume()

        assert bench.woken == ["pod"]


async def test_who_was_told_of_a_hold_is_woken_once_it_is_over_without_room():
    """Else the event says that room is held until kube-scheduler asks again by itself."""
    async with waking() as bench:
        first, second = bench.add("first", "second", size_bytes=LARGE)
        bench.grow(ONE, LARGE)
        bench.hold(first)
        bench.reject([second], [ONE], RoomHeld())
        bench.waking.note_less_held(None)
        await asyncio.sleep(11)
        assert bench.woken == []

        bench.extender.ledger.drop(first.uid, End.CONFIRMED, 0.0)
        bench.show(ONE, 0)
        bench.waking.note_less_held([ONE])
        await asyncio.sleep(30)

        assert bench.woken == ["second"]


async def test_who_was_told_of_no_hold_is_not_woken_by_its_end():
    async with waking() as bench:
        first, second = bench.add("first", "second", size_bytes=LARGE)
        bench.grow(ONE, LARGE)
        bench.hold(first)
        bench.reject([second])

        bench.extender.ledger.drop(first.uid, End.CONFIRMED, 0.0)
        bench.show(ONE, 0)
        bench.waking.note_less_held([ONE])
        await asyncio.sleep(30)

        assert bench.woken == []


async def test_only_nodes_that_changed_are_probed():
    async with waking() as bench:
        bench.reject(bench.add("pod", "another"))
        bench.grow(ONE, SMALL)
        await asyncio.sleep(1)
        assert bench.woken == ["pod", "another"]
        bench.reject(bench.add("late"))

        bench.grow(TWO, 2 * GIB)
        await asyncio.sleep(1)
        assert bench.woken == ["pod", "another"]

        bench.grow(ONE, SMALL + 1)
        await asyncio.sleep(1)
        assert bench.woken == ["pod", "another", "late"]


async def test_what_the_first_gets_is_not_there_for_the_second():
    async with waking() as bench:
        first, second = bench.add("first", "second")
        bench.reject([first])
        await asyncio.sleep(1)
        bench.reject([second])

        bench.grow(ONE, SMALL)
        await asyncio.sleep(0.01)
        bench.waking.forget(first.uid)
        bench.hold(first)
        await asyncio.sleep(1)
        assert bench.woken == ["first"]

        bench.extender.ledger.drop(first.uid, End.POD_GONE, 0.0)
        bench.waking.note_less_held([ONE])
        await asyncio.sleep(1)
        assert bench.woken == ["first", "second"]


async def test_a_pod_is_woken_once_until_it_is_rejected_again():
    async with waking() as bench:
        [pod] = bench.add("pod")
        bench.reject([pod])
        for size in (SMALL, 2 * SMALL, 3 * SMALL):
            bench.grow(ONE, size)
            await asyncio.sleep(1)
        assert bench.woken == ["pod"]

        bench.reject([pod])
        bench.grow(ONE, 4 * SMALL)
        await asyncio.sleep(1)

        assert bench.woken == ["pod", "pod"]


async def test_a_pod_that_is_rejected_before_its_patch_is_answered_is_woken_again():
    async with waking() as bench:
        [pod] = bench.add("pod")
        bench.reject([pod])
        bench.server.latency = lambda _: (0.0, 0.5)
        bench.grow(ONE, SMALL)
        await asyncio.sleep(0.1)
        bench.reject([pod])
        await asyncio.sleep(1)

        bench.grow(ONE, 2 * SMALL)
        await asyncio.sleep(1)

        assert bench.woken == ["pod", "pod"]


async def test_a_pod_that_got_a_node_is_not_woken():
    async with waking() as bench:
        pod, other = bench.add("pod", "other")
        bench.reject([pod, other])

        bench.waking.forget(pod.uid)
        bench.grow(ONE, LARGE)
        await asyncio.sleep(1)

        assert bench.woken == ["other"]


async def test_who_leads_no_more_wakes_nobody():
    async with waking() as bench:
        pods = bench.add(*"abcdefgh")
        bench.reject(pods)
        bench.grow(ONE, 2 * LARGE)
        await asyncio.sleep(0.12)
        before = bench.woken
        assert 0 < len(before) < len(pods)

        bench.may_wake = False
        bench.waking.forget_all()
        await asyncio.sleep(5)

        assert bench.woken == before


async def test_who_may_not_wake_now_wakes_nobody():
    async with waking() as bench:
        bench.reject(bench.add("pod"))
        bench.may_wake = False

        bench.grow(ONE, SMALL)
        await asyncio.sleep(1)

        assert bench.woken == []


async def test_no_more_than_twenty_are_woken_in_a_second():
    async with waking() as bench:
        names = [f"pod-{number:02}" for number in range(60)]
        bench.reject(bench.add(*names, size_bytes=GIB))

        bench.grow(ONE, 100 * GIB)
        await asyncio.sleep(5)

        assert bench.woken == names
        times = [call.at for call in bench.patches]
        assert min(after - before for before, after in pairwise(times)) >= 0.0499


@pytest.mark.parametrize("status", [404, 409, 422])
async def test_a_pod_that_is_gone_is_forgotten(status):
    async with waking() as bench:
        bench.reject(bench.add("gone", "pod"))
        bench.server.faults.append(Fault(Reply(status), lambda call: call.name == "gone"))

        bench.grow(ONE, LARGE)
        await asyncio.sleep(20)

        assert bench.woken == ["gone", "pod"]
        assert [each.pod.name for each in bench.waking.pods] == ["pod"]
        assert (bench.count("gone"), bench.count("woken"), bench.count("failed")) == (1, 1, 0)


async def test_a_pod_that_has_a_node_by_now_is_forgotten():
    async with waking() as bench:
        bench.reject(bench.add("bound", "pod"))
        found = bench.server.get("pods", "bound", "default")
        assert found is not None
        bench.server.put({**found, "spec": {"nodeName": "node-9"}})

        bench.grow(ONE, LARGE)
        await asyncio.sleep(1)

        assert bench.woken == ["bound", "pod"]
        assert [each.pod.name for each in bench.waking.pods] == ["pod"]
        assert (bench.count("gone"), bench.count("woken")) == (1, 1)


@pytest.mark.parametrize(
    "kind", [Reply(403), Reply(429), Reply(500), Hang(), LostAnswer(), LostAnswer(hang=True)]
)
async def test_a_patch_that_fails_is_tried_again(kind):
    async with waking() as bench:
        bench.reject(bench.add("pod", "other"))
        bench.server.faults.append(Fault(kind, lambda call: call.name == "pod", times=2))

        bench.grow(ONE, LARGE)
        await asyncio.sleep(40)

        assert sorted(bench.woken) == ["other", "pod", "pod", "pod"]
        assert (bench.count("failed"), bench.count("woken")) == (2, 2)


async def test_one_whose_patch_always_fails_keeps_nobody_waiting_for_ever():
    async with waking() as bench:
        bench.reject(bench.add("bad"))
        bench.server.faults.append(Fault(Reply(403), lambda call: call.name == "bad", times=None))
        bench.grow(ONE, LARGE)
        await asyncio.sleep(60)

        bench.reject(bench.add("good"))
        bench.grow(ONE, 2 * LARGE)
        await asyncio.sleep(20)

        assert "good" in bench.woken
        assert len(bench.woken) < 30


async def test_claims_that_lead_nowhere_wake_nobody():
    async with waking() as bench:
        good, bad = bench.add("good", "bad")
        bad = msgspec.structs.replace(bad, claims=(ClaimKey("default/none"),))
        bench.reject([bad, good])

        bench.grow(ONE, LARGE)
        await asyncio.sleep(1)

        assert bench.woken == ["good"]


async def test_a_pod_without_uid_is_nobody_to_wake():
    async with waking() as bench:
        [pod] = bench.add("pod")
        bench.reject([msgspec.structs.replace(pod, uid="")])

        bench.grow(ONE, SMALL)
        await asyncio.sleep(1)

        assert bench.woken == []
        assert len(bench.waking.pods) == 0


async def test_pods_of_the_leader_before_are_woken_once_wherever_they_fit():
    async with waking() as bench:
        pods = bench.add("pod", "large")
        bench.grow(TWO, SMALL)

        bench.waking.adopt(pods, 0.0)
        await asyncio.sleep(1)
        bench.waking.note_less_held(None)
        await asyncio.sleep(1)

        assert sorted(bench.woken) == ["large", "pod"]


async def test_pods_of_the_leader_before_that_need_no_room_are_left_alone():
    async with waking() as bench:
        bench.add("pod")
        plain = bench.ref("pod")
        bench.view = view_of(
            node(ONE),
            claim("pod", persistent_volume="nfs"),
            persistent_volume("nfs", driver="nfs"),
        )
        lost = msgspec.structs.replace(plain, uid="lost", claims=(ClaimKey("default/none"),))

        bench.waking.adopt([plain, lost], 0.0)
        await asyncio.sleep(1)

        assert bench.woken == []
        assert len(bench.waking.pods) == 0


async def test_another_log_of_changes_may_be_room_anywhere():
    async with waking() as bench:
        bench.reject(bench.add("pod"))
        await asyncio.sleep(1)

        bench.node_changes = ChangeLog[NodeName]()
        bench.show(TWO, SMALL)
        bench.waking.note_changes()
        await asyncio.sleep(1)

        assert bench.woken == ["pod"]


async def test_nodes_that_changed_may_have_room_and_each_is_probed_once():
    async with waking() as bench:
        [pod] = bench.add("pod")
        bench.reject([pod])
        bench.show(TWO, SMALL)

        bench.node_changes.add(ONE)
        bench.waking.note_changes()
        await asyncio.sleep(1)
        assert bench.woken == []

        bench.node_changes.add(TWO)
        bench.waking.note_changes()
        await asyncio.sleep(1)
        assert bench.woken == ["pod"]

        bench.reject([pod])
        bench.waking.note_changes()
        await asyncio.sleep(1)
        assert bench.woken == ["pod"]


@pytest.mark.parametrize(
    ("why", "woken"),
    [(InsufficientStorage(size_bytes=SMALL), ["pod"]), (NodeTags(selector=()), [])],
)
async def test_only_what_may_end_a_rejection_costs_a_probe(why, woken):
    """The reason of the second is made up: with a probe it would fit."""
    async with waking() as bench:
        bench.reject(bench.add("pod"), why=why)

        bench.grow(ONE, SMALL)
        await asyncio.sleep(15)

        assert bench.woken == woken


async def test_a_volume_of_its_own_that_changes_makes_a_pod_worth_a_look():
    """A replica of it may be on a node by now."""
    async with waking() as bench:
        bench.reject(bench.add("one", "two"))
        bench.waking.note_changes()
        await asyncio.sleep(1)

        bench.place("two", ONE)
        await asyncio.sleep(1)

        assert bench.woken == ["two"]


async def test_probes_take_no_more_than_their_share_of_the_time():
    """Whatever is done takes 5 ms here: so much passes whenever somebody asks for the time."""
    async with waking() as bench:
        bench.reject(bench.add("pod", size_bytes=LARGE), why=PendingReplicas())
        bench.seconds_per_call = 0.005
        bench.calls = 0

        for _ in range(1_000):
            bench.waking.note_less_held([ONE])
            await asyncio.sleep(0.01)

        assert 100 < bench.calls < 1_000


async def test_changes_that_help_nobody_take_no_more_than_that_share_either():
    async with waking() as bench:
        bench.reject(bench.add("pod", size_bytes=LARGE))
        bench.seconds_per_call = 0.005
        bench.calls = 0

        for _ in range(1_000):
            bench.change_another_volume()
            await asyncio.sleep(0.01)

        assert 100 < bench.calls < 1_000
