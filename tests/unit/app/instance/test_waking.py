"""A pod that got no node is woken when there is room: the longest wait first, and not in vain."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random

import pytest
from msgspec.structs import replace
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
    node,
    nodes_of,
    persistent_volume,
    replica,
    view_of,
    volumes_of,
)
from tests.fakes import Answer as Reply
from tests.fakes import Call, FakeApiServer, Fault, Hang, LostAnswer

pytestmark = pytest.mark.looptime

PREFIX = "longhorn_scheduler_extender_"
WOKEN_AT = "longhorn-scheduler-extender/woken-at"
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
WHYS: dict[str, Rejection] = {
    "full": InsufficientStorage(size_bytes=10 * GIB),
    "held": RoomHeld(),
    "pending": PendingReplicas(),
    "tags": NodeTags(selector=()),
}
ENDS = {"confirmed": End.CONFIRMED, "gone": End.POD_GONE}


class Bench:
    """Pods of one claim each, node-1 and node-2 without room, and an API server."""

    def __init__(self, connection: Connection, server: FakeApiServer) -> None:
        self.server = server
        self.extender = Extender(GENEROUS)
        self.may_wake = True
        self.registry = CollectorRegistry()
        self._volumes: list[AnyRecord] = []
        self._gib = {"1": "1", "2": "1"}
        self._node_changes, self._volume_changes = ChangeLog[NodeName](), ChangeLog[VolumeName]()
        self.view: ClusterView = view_of()
        self._rebuild()
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

    def _rebuild(self) -> None:
        """Show the nodes and claims as they are now."""
        nodes = nodes_of(" ".join(f"{number}:{gib}" for number, gib in self._gib.items()))
        self.view = replace(
            view_of(*nodes, *self._volumes),
            changes=self._node_changes,
            volume_changes=self._volume_changes,
        )

    async def play(self, story: str) -> None:
        """Do each step of a story: a verb of `STEPS` and its words, `wait 1` s, or `woken a b`.

        The last one checks which pods were woken until then, in order.
        """
        for verb, *words in map(str.split, story.split(", ")):
            if verb == "wait":
                await asyncio.sleep(float(words[0]))
            elif verb == "woken":
                assert self.woken == words
            else:
                STEPS[verb](self, *words)

    def add(self, *pods: str) -> None:
        """Create pods, each with a volume that is bound and not placed: `a:60` has 60 GiB."""
        for each in volumes_of(" ".join(pods)):
            self._volumes += bound(each)
            self.server.put(core_document("Pod", each.name, spec={}, status={}))
        self._rebuild()

    def ref(self, name: str) -> PodRef:
        found = self.server.get("pods", name, "default")
        assert found is not None
        claims = (ClaimKey(f"default/{name}"),)
        return PodRef(namespace="default", name=name, uid=found["metadata"]["uid"], claims=claims)

    def reject(self, *pods: str) -> None:
        """Take in that pods got no node, one a moment after the other; create those not there.

        `a/held@1` got none for this reason of `WHYS`, and node-1 was its only candidate.
        """
        for number, each in enumerate(pods):
            text, _, only = each.partition("@")
            name, _, why = text.partition("/")
            if self.server.get("pods", name, "default") is None:
                self.add(name)
            self.take_in(self.ref(name), why or "full", only or "12", after=number * 1e-9)

    def take_in(self, pod: PodRef, why: str, candidates: str, *, after: float = 0.0) -> None:
        """Take in that a pod got no node; its claims may be others now than it had then."""
        had = replace(pod, claims=(ClaimKey(f"default/{pod.name}"),))
        nodes = [NodeName(f"node-{number}") for number in candidates]
        answer = Answer(
            request=replace(resolve(had, self.view), pod=pod),
            view=self.view,
            basis=Basis.PLACEMENT,
            candidates=nodes,
            accepted=[],
            rejected=dict.fromkeys(nodes, WHYS[why]),
        )
        self.waking.remember(answer, asyncio.get_running_loop().time() + after)

    def adopt(self, *pods: str) -> None:
        """Take over pods that the leader before may have rejected."""
        self.waking.adopt([self.ref(name) for name in pods], 0.0)

    def show(self, number: str, gib: str) -> None:
        """Give a node a size, and tell nobody."""
        self._gib[number] = gib
        self._rebuild()

    def tell(self, *numbers: str) -> None:
        """Tell that these nodes changed."""
        for number in numbers:
            self._node_changes.add(NodeName(f"node-{number}"))
        self.waking.note_changes()

    def grow(self, number: str, gib: str) -> None:
        """Give a node a size, and tell of it."""
        self.show(number, gib)
        self.tell(number)

    def tell_anew(self) -> None:
        """Begin another log of the changes of nodes."""
        self._node_changes = ChangeLog[NodeName]()
        self._rebuild()
        self.tell()

    def place(self, pod: str) -> None:
        """Show a healthy replica of a pod's volume on node-1, and tell of it."""
        self._volumes.append(replica(of=pod))
        self._rebuild()
        self.change_volume(pod)

    def change_volume(self, name: str) -> None:
        """Have a volume change, and tell of it."""
        self._volume_changes.add(VolumeName(name))
        self.waking.note_changes()

    def hold(self, pod: str) -> None:
        """Answer about a pod, and hold what is said."""
        result = self.extender.filter(self.ref(pod), [*self.view.spaces], self.view)
        timeouts = Timeouts(choosing_seconds=60.0, placing_seconds=60.0)
        self.extender.hold(result, Asked(), timeouts=timeouts, now=0.0)
        assert result.accepted

    def end(self, pod: str, why: str) -> None:
        """End what is held for a pod on node-1, and tell of it."""
        self.extender.ledger.drop(self.ref(pod).uid, ENDS[why], 0.0)
        self.waking.note_less_held([NodeName("node-1")])

    def forget(self, pod: str) -> None:
        self.waking.forget(self.ref(pod).uid)

    def release(self) -> None:
        """Tell that less may be held anywhere."""
        self.waking.note_less_held(None)

    def stop(self) -> None:
        """Let this instance act no more."""
        self.may_wake = False

    @property
    def patches(self) -> list[Call]:
        return [call for call in self.server.calls if call.verb == "patch"]

    @property
    def woken(self) -> list[str]:
        """The pods for which a patch was sent, in order."""
        return [call.name for call in self.patches]

    def counts(self, *outcomes: str) -> list[float | None]:
        name, value = f"{PREFIX}wake_ups_total", self.registry.get_sample_value
        return [value(name, {"outcome": each}) for each in outcomes]


STEPS: dict[str, Callable[..., None]] = {
    "add": Bench.add, "reject": Bench.reject, "adopt": Bench.adopt, "forget": Bench.forget,
    "show": Bench.show, "tell": Bench.tell, "tell-anew": Bench.tell_anew, "grow": Bench.grow,
    "place": Bench.place, "hold": Bench.hold, "end": Bench.end, "release": Bench.release,
    "stop": Bench.stop, "forget-all": lambda bench: bench.waking.forget_all(),
}  # fmt: skip


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
            assert not task.done(), "no pod is woken any more"
        finally:
            task.cancel()
            await asyncio.wait([task])
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error


STORIES = {
    "room-none": "reject a, release, grow 1 2, wait 1, woken",
    "room-on-a-node-that-was-no-candidate": "reject a@2, grow 1 10, release, wait 1, woken",
    # What is in its way may go to the other node then.
    "room-elsewhere-for-a-pod-that-depends-on-others":
        "reject a/pending@1, show 1 60, grow 2 2, wait 1, woken a",
    # What others wait for is given up after a minute, and nothing tells of that.
    "time-for-a-pod-that-depends-on-others":
        "reject a/pending@1, show 1 60, wait 9, woken, wait 3, woken a",
    # Else the event says that room is held until kube-scheduler asks again by itself.
    "hold-that-the-pod-was-told-of-ends-without-room":
        "add a:60 b:60, grow 1 60, hold a, reject b/held@1, release, wait 11, woken, "
        "show 1 1, end a confirmed, wait 30, woken b",
    "hold-that-the-pod-was-not-told-of-ends-without-room":
        "add a:60 b:60, grow 1 60, hold a, reject b, show 1 1, end a confirmed, wait 30, woken",
    "nodes-that-changed-are-probed-alone":
        "reject a b, grow 1 10, wait 1, woken a b, reject c, grow 2 2, wait 1, woken a b, "
        "grow 1 11, wait 1, woken a b c",
    "nodes-that-changed-are-probed-once":
        "reject a, show 2 10, tell 1, wait 1, woken, tell 2, wait 1, woken a, "
        "reject a, tell, wait 1, woken a",
    "nodes-of-another-log-of-changes-are-all-probed":
        "reject a, wait 1, show 2 10, tell-anew, wait 1, woken a",
    "room-that-the-first-gets-is-not-there-for-the-second":
        "reject a, wait 1, reject b, grow 1 10, wait 0.01, forget a, hold a, wait 1, woken a, "
        "end a gone, wait 1, woken a b",
    "pod-rejected-once-is-woken-once":
        "reject a, grow 1 10, wait 1, grow 1 20, wait 1, grow 1 30, wait 1, woken a, "
        "reject a, grow 1 40, wait 1, woken a a",
    "pod-that-got-a-node": "reject a b, forget a, grow 1 60, wait 1, woken b",
    "pod-whose-own-volume-changed": "reject a b, tell, wait 1, place b, wait 1, woken b",
    "pods-of-the-leader-before-wherever-they-fit":
        "add a b, grow 2 10, adopt a b, wait 1, release, wait 1, woken a b",
    "reason-that-room-may-end": "reject a, grow 1 10, wait 15, woken a",
    # It is made up: with a probe the pod would fit.
    "reason-that-room-cannot-end": "reject a/tags, grow 1 10, wait 15, woken",
    "instance-that-may-not-wake-now": "reject a, stop, grow 1 10, wait 1, woken",
    "instance-that-leads-no-more":
        "reject a b c d e, grow 1 60, wait 0.12, woken a b c, stop, forget-all, wait 5, "
        "woken a b c",
}  # fmt: skip


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES)
async def test_pods_that_are_woken(story):
    async with waking() as bench:
        await bench.play(story)


async def test_room_wakes_a_pod_and_says_when():
    async with waking() as bench:
        await bench.play("reject a, wait 30, grow 1 10, wait 1")

        [patch] = bench.patches
        assert patch.body["metadata"]["annotations"] == {WOKEN_AT: "2026-01-01T00:00:30+00:00"}
        assert bench.counts("woken") == [1]


async def test_time_counts_also_where_something_changes_all_the_time():
    async with waking() as bench:
        await bench.play("reject a/pending@1, show 1 60")

        for _ in range(120):
            await asyncio.sleep(0.1)
            bench.change_volume("another")

        assert bench.woken == ["a"]


async def test_pod_that_is_rejected_before_its_patch_is_answered_is_woken_again():
    async with waking() as bench:
        bench.server.latency = lambda _: (0.0, 0.5)

        await bench.play("reject a, grow 1 10, wait 0.1, reject a, wait 1, grow 1 20, wait 1")

        assert bench.woken == ["a", "a"]


async def test_no_more_than_twenty_are_woken_in_a_second():
    async with waking() as bench:
        names = [f"pod-{number:02}" for number in range(60)]
        bench.add(*(f"{name}:1" for name in names))
        bench.reject(*names)

        await bench.play("grow 1 100, wait 5")

        assert bench.woken == names
        times = [call.at for call in bench.patches]
        assert min(after - before for before, after in pairwise(times)) >= 0.0499


@pytest.mark.parametrize("status", [404, 409, 422, None])
async def test_pod_that_is_gone_or_has_a_node_is_forgotten(status):
    async with waking() as bench:
        bench.reject("gone", "pod")
        if status:
            bench.server.faults.append(Fault(Reply(status), lambda call: call.name == "gone"))
        else:
            found = bench.server.get("pods", "gone", "default")
            assert found is not None
            bench.server.put({**found, "spec": {"nodeName": "node-9"}})

        await bench.play("grow 1 60, wait 20, woken gone pod")

        assert [each.pod.name for each in bench.waking.pods] == ["pod"]
        assert bench.counts("gone", "woken", "failed") == [1, 1, 0]


@pytest.mark.parametrize(
    "kind", [Reply(403), Reply(429), Reply(500), Hang(), LostAnswer(), LostAnswer(hang=True)]
)
async def test_patch_that_fails_is_tried_again(kind):
    async with waking() as bench:
        bench.server.faults.append(Fault(kind, lambda call: call.name == "a", times=2))

        await bench.play("reject a b, grow 1 60, wait 40")

        assert sorted(bench.woken) == ["a", "a", "a", "b"]
        assert bench.counts("failed", "woken") == [2, 2]


async def test_pod_whose_patch_always_fails_keeps_no_other_waiting_for_ever():
    async with waking() as bench:
        bench.server.faults.append(Fault(Reply(403), lambda call: call.name == "bad", times=None))

        await bench.play("reject bad, grow 1 60, wait 60, reject good, grow 1 120, wait 20")

        assert "good" in bench.woken
        assert len(bench.woken) < 30


async def test_claims_that_lead_nowhere_wake_no_pod():
    async with waking() as bench:
        bench.add("good", "bad")
        lost = replace(bench.ref("bad"), claims=(ClaimKey("default/none"),))
        bench.take_in(lost, "full", "12")

        await bench.play("reject good, grow 1 60, wait 1, woken good")


async def test_pod_without_uid_is_not_remembered():
    async with waking() as bench:
        bench.add("a")
        bench.take_in(replace(bench.ref("a"), uid=""), "full", "12")

        await bench.play("grow 1 10, wait 1, woken")

        assert len(bench.waking.pods) == 0


async def test_pods_of_the_leader_before_that_need_no_room_are_left_alone():
    async with waking() as bench:
        bench.add("pod")
        nfs = persistent_volume("nfs", driver="nfs")
        bench.view = view_of(node(), claim("pod", persistent_volume="nfs"), nfs)
        plain = bench.ref("pod")
        lost = replace(plain, uid="lost", claims=(ClaimKey("default/none"),))

        bench.waking.adopt([plain, lost], 0.0)

        await bench.play("wait 1, woken")
        assert len(bench.waking.pods) == 0


NOTED: dict[str, tuple[str, Callable[[Bench], None]]] = {
    "less-held": ("pending", lambda bench: bench.waking.note_less_held([NodeName("node-1")])),
    "changes-that-help-no-pod": ("full", lambda bench: bench.change_volume("another")),
}


@pytest.mark.parametrize(("why", "note"), NOTED.values(), ids=NOTED)
async def test_probes_take_no_more_than_their_share_of_the_time(why, note):
    """Whatever is done takes 5 ms here: so much passes whenever somebody asks for the time."""
    async with waking() as bench:
        await bench.play(f"add a:60, reject a/{why}")
        bench.seconds_per_call = 0.005
        bench.calls = 0

        for _ in range(1_000):
            note(bench)
            await asyncio.sleep(0.01)

        assert 100 < bench.calls < 1_000
