"""Whatever changes, a waiting pod that fits now is among those that are probed for it."""

from collections.abc import Sequence
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from msgspec.structs import replace

from app.kube.mirror import Known
from extender import Extender, PodRef, UnresolvableClaimError, ViewBuilder
from extender.demand import resolve
from extender.holds import Asked, End, Outcome, Timeouts
from extender.verdicts import ClusterChange
from extender.verdicts.answering import Answer
from extender.waiting import (
    Changes,
    ChangesOfView,
    Rejected,
    WaitingPods,
    probes_for,
    wants_of,
)
from longhorn import Condition, Locality, Node, NodeName, Volume, VolumeName
from tests.builders import (
    GENEROUS,
    GIB,
    bound,
    claim,
    disk,
    instance_manager,
    node,
    pod,
    setting,
    storage_class,
    volume,
    waiting_pod,
)
from tests.effort import examples
from tests.strategies import KINDS, TAGS, known_objects

CANDIDATES = [NodeName(name) for name in KINDS["Node"]]
PODS = {
    pod(*claims, name=f"{'-'.join(claims)}-{count}"): CANDIDATES[:count]
    for claims in (["vol-0"], ["vol-1"], ["vol-0", "vol-1"])
    for count in (1, 3)
}
"""With where they may go."""
OTHER = pod("new", name="other")
CLAIMS = ("PersistentVolumeClaim", "PersistentVolume", "StorageClass")
"""kube-scheduler itself looks after these."""
NAMES = [(kind, name) for kind, names in KINDS.items() if kind not in CLAIMS for name in names]
OFTEN = [key for key in NAMES if key[0] in ("Node", "Volume", "Replica")]
RUNNERS = ("CSINode", "EngineImage", "InstanceManager")
"""Without any of these, all runs everywhere."""
OF_NODES: list[dict[str, Any]] = [
    {"allow_scheduling": False},
    {"tags": frozenset()},
    {"ready": Condition("False")},
    {"zone": "b"},
]
OF_DISKS: list[dict[str, Any]] = [
    *[{"maximum_bytes": 4 * GIB, "available_bytes": 4 * GIB}] * 3,
    {"scheduled_bytes": 12 * GIB, "listed": {}},
    {"available_bytes": 2 * GIB},
    {"available_bytes": 0},
    {"evicting": True},
    {"ready": Condition("False")},
    {"schedulable": Condition("False", "DiskPressure")},
    {"schedulable": Condition("False", "DiskPressure"), "available_bytes": GIB},
    {"tags": frozenset()},
]


NAMES_OF_VOLUMES = ("vol-0", "vol-1", "other-0", "other-1")
VOLUMES = [
    volume(size_bytes=6 * GIB, actual_bytes=4 * GIB),
    volume(size_bytes=6 * GIB, replicas=3),
    volume(size_bytes=12 * GIB, replicas=2),
    volume(size_bytes=6 * GIB, node_selector=TAGS),
    volume(size_bytes=6 * GIB, disk_selector=TAGS),
    volume(size_bytes=6 * GIB, locality=Locality.STRICT_LOCAL),
    volume(size_bytes=6 * GIB, locality=Locality.DISABLED, replicas=2),
    volume(size_bytes=6 * GIB, replicas=2, attached_to="node-1", node="node-1"),
]
TIMEOUTS = Timeouts(choosing_seconds=60.0, placing_seconds=60.0)
NEW = claim("new", storage_class="local", size_bytes=8 * GIB)


def sound_node(name: str) -> Node:
    """Build a node that takes whatever has room."""
    disks = (disk(f"disk-{each}", maximum_bytes=16 * GIB, tags=TAGS) for each in range(2))
    return node(name, *disks, tags=TAGS)


class Cluster(RuleBasedStateMachine):
    """A cluster that changes, with pods that wait, and room that is held for another one."""

    def __init__(self) -> None:
        super().__init__()
        self.builder, self.extender = ViewBuilder(), Extender(GENEROUS)
        self.pods = WaitingPods()
        self.of_view, self.pending = ChangesOfView(self.pods.nodes), Changes()
        self.known: dict[tuple[str, str], Known] = {}

    def apply(self, key: tuple[str, str], new: Known | None) -> None:
        old = self.known.pop(key, None)
        if old != new:
            self.builder.apply(old, new)
        if new is not None:
            self.known[key] = new

    @rule(
        name=st.sampled_from([*["node-1"] * 3, *KINDS["Node"]]),  # the only one of some pods
        of_node=st.sampled_from([*[None] * 6, *OF_NODES]),
        of_disks=st.sampled_from([*[None] * 6, *OF_DISKS]),
    )
    def change_a_node(
        self, name: str, of_node: dict[str, Any] | None, of_disks: dict[str, Any] | None
    ) -> None:
        """Change all disks alike: one that is left would take what the pods need."""
        before = self.before(name)
        if before is not None:
            disks = tuple(replace(each, **of_disks or {}) for each in before.disks)
            self.apply(("Node", name), replace(before, disks=disks, **of_node or {}))

    def before(self, name: str) -> Node | None:
        """Return the node that is changed."""
        before = self.known.get(("Node", name))
        return before if isinstance(before, Node) else None

    @rule()
    def hold(self) -> None:
        answer = self.answer(OTHER)
        if answer is not None and answer.accepted:
            self.note(self.extender.hold(answer, Asked(), timeouts=TIMEOUTS, now=0.0))

    @rule()
    def hold_no_more(self) -> None:
        self.note(self.extender.ledger.drop(OTHER.uid, End.POD_GONE, 0.0))

    def note(self, outcome: Outcome) -> None:
        """Note where less is held: a later answer may keep less than the one before."""
        self.pending.note(ClusterChange.HOLDS, self.pods.nodes.of(outcome.freed))

    def answer(self, of: PodRef, nodes: Sequence[NodeName] = ()) -> Answer | None:
        try:
            return self.extender.filter(of, nodes or PODS.get(of, CANDIDATES), self.builder.view)
        except UnresolvableClaimError:
            return None

    @invariant()
    def all_that_fit_are_found(self) -> None:
        self.builder.settle()
        self.note(self.extender.ledger.settle(self.builder.view, TIMEOUTS, 0.0))
        changes, self.pending = self.pending, Changes()
        self.of_view.note_in(changes, self.builder.view)
        fitting, anywhere = set[str](), set[str]()
        for each in self.pods:
            answer = self.answer(each.pod)
            # Nodes that cannot be read are in no set.
            if answer and not self.builder.view.spaces.keys().isdisjoint(answer.accepted):
                fitting.add(each.pod.name)
            answer = self.answer(each.pod, CANDIDATES)
            if answer and answer.accepted:
                anywhere.add(each.pod.name)

        # One that comes to be known later may be a candidate, too.
        assert fitting <= {*self.found(changes)} <= anywhere

        for ref in PODS:
            self.reject(ref)

    def found(self, changes: Changes) -> list[str]:
        """Probe; return who fits."""
        view, sets, found = self.builder.view, self.pods.nodes, list[str]()
        for each in self.pods:
            if changes.are_about(each.wants.volumes):
                wants = (
                    None
                    if self.answer(each.pod) is None
                    else wants_of(resolve(each.pod, view), view)
                )
                self.pods.set_wants(each.pod.uid, wants)
        asking, rejected = probes_for(self.pods, changes), None
        while True:
            try:
                probe = asking.send(rejected)
            except StopIteration:
                return found
            rejected = self.rejected(probe.waiting.pod, sets.names(probe.nodes))
            if rejected == {} and probe.is_for_itself:
                found.append(probe.waiting.pod.name)
                self.pods.forget(probe.waiting.pod.uid)

    def rejected(self, of: PodRef, names: list[NodeName]) -> Rejected | None:
        try:
            answer = self.extender.filter(of, names, self.builder.view)
        except UnresolvableClaimError:
            return None
        return {} if answer.accepted else self.pods.nodes.by_reason(answer.rejected)

    def reject(self, of: PodRef) -> None:
        """Have a pod wait that does not fit; those that wait are not asked about again."""
        answer, view = self.answer(of), self.builder.view
        if answer is None or answer.accepted or self.pods.get(of.uid) is not None:
            return
        waiting = waiting_pod(of, wants_of(answer.request, view), 0, 0.0)
        told = self.pods.nodes.by_reason(answer.rejected, view.spaces)
        found = {ClusterChange.NODE: self.pods.nodes.later}
        self.pods.add(replace(waiting, rejected=told, found=found))


class AnyCluster(Cluster):
    """One of any objects, many of them broken."""

    @initialize(data=st.data(), without=st.sampled_from([RUNNERS, ()]))
    def list_everything(self, data: st.DataObject, without: tuple[str, ...]) -> None:
        for kind, names in KINDS.items():
            for name in names:
                if kind not in ("Setting", "DiskSchedule", *without):
                    self.apply((kind, name), data.draw(known_objects(kind, name)))

    @rule(data=st.data(), keys=st.lists(st.sampled_from(OFTEN), max_size=3, unique=True))
    def put(self, data: st.DataObject, keys: list[tuple[str, str]]) -> None:
        for key in keys:
            self.apply(key, data.draw(known_objects(*key)))

    @rule(data=st.data(), key=st.sampled_from(NAMES))
    def put_anything(self, data: st.DataObject, key: tuple[str, str]) -> None:
        self.apply(key, data.draw(known_objects(*key)))

    @rule(keys=st.lists(st.sampled_from(NAMES), max_size=3, unique=True))
    def remove(self, keys: list[tuple[str, str]]) -> None:
        for key in keys:
            self.apply(key, None)


class SoundCluster(Cluster):
    """One where the pods fit, but for a few things that change."""

    @initialize(
        volumes=st.tuples(*[st.sampled_from(VOLUMES)] * 4),
        degraded=st.sampled_from(["true", "false"]),
    )
    def begin(self, volumes: tuple[Volume, ...], degraded: str) -> None:
        for name in KINDS["Node"]:
            self.apply(("Node", name), sound_node(name))
            self.apply(("InstanceManager", name), instance_manager(name))
        for name, each in zip(NAMES_OF_VOLUMES, volumes, strict=True):
            self.apply(("Volume", name), replace(each, name=VolumeName(name)))
        for record in (*bound(volume("vol-0"), volume("vol-1")), NEW, storage_class("local")):
            if not isinstance(record, Volume):
                self.apply((type(record).__name__, str(record)), record)
        name = "allow-volume-creation-with-degraded-availability"
        self.apply(("Setting", name), setting(name, degraded))

    def before(self, name: str) -> Node | None:
        """What has changed before is over: so one reason follows the other."""
        return sound_node(name)

    @rule(name=st.sampled_from(KINDS["Node"]))
    def lose_a_node(self, name: str) -> None:
        self.apply(("Node", name), None)

    @rule(name=st.sampled_from(KINDS["Node"]))
    def start_or_stop(self, name: str) -> None:
        manager = instance_manager(name)
        is_running = self.known["InstanceManager", name] == manager
        self.apply(("InstanceManager", name), replace(manager, is_running=not is_running))

    @rule(data=st.data(), name=st.sampled_from(KINDS["Replica"]))
    def put_a_replica(self, data: st.DataObject, name: str) -> None:
        self.apply(("Replica", name), data.draw(known_objects("Replica", name)))

    @rule(name=st.sampled_from(KINDS["Replica"]))
    def delete_a_replica(self, name: str) -> None:
        self.apply(("Replica", name), None)

    @rule(name=st.sampled_from(NAMES_OF_VOLUMES), each=st.sampled_from(VOLUMES))
    def change_a_volume(self, name: str, each: Volume) -> None:
        self.apply(("Volume", name), replace(each, name=VolumeName(name)))


TestAnyCluster, TestSoundCluster = AnyCluster.TestCase, SoundCluster.TestCase
TestAnyCluster.settings = settings(
    max_examples=examples(100),
    stateful_step_count=20,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # to shrink one takes minutes
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TestSoundCluster.settings = settings(TestAnyCluster.settings, max_examples=examples(200))
