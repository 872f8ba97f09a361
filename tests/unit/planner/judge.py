"""Judges plans by Longhorn's and Kubernetes' rules, with nothing of what makes them.

Every replica is looked at when it is placed: Longhorn's own search must name its disk, and the
rules are counted anew from the objects. After each step the whole cluster is looked at.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from msgspec import structs

from extender.kubernetes import Claim, PersistentVolume
from longhorn import (
    Candidate,
    DiskId,
    Locality,
    Node,
    NodeName,
    Replica,
    Settings,
    Volume,
    VolumeName,
    choices,
    find_candidates,
)
from planner.cluster import Cluster, Record
from planner.outcome import PlanReport
from planner.picture import Event, Kind, NodeReport, StepReport
from planner.plan import Plan, Step
from planner.records import CPU, MEMORY, PODS, Pod
from planner.steps.settings import ChangeSetting
from tests.builders import GENEROUS

_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_AWAY = frozenset({Kind.MOVED, Kind.LOST, Kind.PENDING, Kind.PLACED})


class JudgedCluster(Cluster):
    """A cluster that refuses to be given a replica which Longhorn would not place so.

    Attributes:
        placements: How many were judged.
    """

    def __init__(self) -> None:
        super().__init__(GENEROUS)
        self.placements = 0
        self._unknown: dict[tuple[NodeName, DiskId | None], int] | None = None

    def begin(self) -> None:
        """Judge from now on; the cluster is as it was found."""
        self._unknown = _unknown(self)

    def scheduled(self) -> dict[tuple[NodeName, DiskId | None], int]:
        """Count what is scheduled on each disk: what nobody knows of, and all replicas there."""
        assert self._unknown is not None
        found = {
            (node.name, disk.id): self._unknown.get((node.name, disk.id), 0)
            for node in self.all(Node).values()
            for disk in node.disks
        }
        for each in self.all(Replica).values():
            if each.node is not None and (each.node, each.disk) in found:
                found[each.node, each.disk] += each.size_bytes
        return found

    def put(self, record: Record) -> None:
        """Judge a replica that gets its disk, then keep it as any record."""
        if self._unknown is not None and isinstance(record, Replica) and record.disk is not None:
            before = self.get(Replica, record.name)
            if before is None or before.disk is None:
                self._judge(record)
        super().put(record)

    def _judge(self, placed: Replica) -> None:
        self.placements += 1
        view = self.view
        volume = view.volumes[placed.volume]
        blank = structs.replace(placed, node=None, disk=None)
        found = find_candidates(blank, volume, view.replicas.get(volume.name, ()), view, _NOW)
        assert placed.node is not None
        assert placed.disk is not None
        assert Candidate(placed.node, placed.disk) in choices(found, volume.size_bytes), placed
        _judge_room(self, placed)
        _judge_tags(self, placed, volume)
        _judge_anti_affinity(self, placed, volume)


def _judge_room(cluster: JudgedCluster, placed: Replica) -> None:
    """The disk has room for the replica beside all that the objects show there."""
    settings = _settings(cluster)
    [disk] = [
        disk
        for node in cluster.all(Node).values()
        for disk in node.disks
        if (node.name, disk.id) == (placed.node, placed.disk)
    ]
    assert disk.allow_scheduling
    assert not disk.evicting
    whole = disk.maximum_bytes - disk.reserved_bytes
    before = cluster.scheduled()[cluster.all(Node)[str(placed.node)].name, disk.id]
    assert (before + placed.size_bytes) * 100 <= whole * settings.over_provisioning_percent
    assert disk.available_bytes * 100 > disk.maximum_bytes * settings.minimal_available_percent


def _judge_tags(cluster: Cluster, placed: Replica, volume: Volume) -> None:
    settings, node = _settings(cluster), cluster.all(Node)[str(placed.node)]
    [disk] = [each for each in node.disks if each.id == placed.disk]
    assert {*volume.disk_selector} <= disk.tags
    if not volume.disk_selector and not settings.allow_empty_disk_selector:
        assert not disk.tags
    others = [each for each in _others(cluster, placed) if each.node == placed.node]
    # Longhorn forgets node tags only where a replica is on the node already.
    if not others:
        assert {*volume.node_selector} <= node.tags


def _judge_anti_affinity(cluster: Cluster, placed: Replica, volume: Volume) -> None:
    """Where it is hard, no replica that stays is on a usable node of the same name or zone."""
    if placed.hard_node_affinity is not None:
        return
    settings, nodes = _settings(cluster), cluster.all(Node)
    staying = [
        nodes[each.node]
        for each in _others(cluster, placed)
        if each.node is not None and not each.evicting and _takes_replicas(nodes[each.node])
    ]
    soft_zone = volume.zone_soft_anti_affinity
    if not (settings.zone_soft_anti_affinity if soft_zone is None else soft_zone):
        assert nodes[str(placed.node)].zone not in [each.zone for each in staying]
    soft = volume.soft_anti_affinity
    if not (settings.soft_anti_affinity if soft is None else soft):
        assert placed.node not in [each.name for each in staying]


def _others(cluster: Cluster, placed: Replica) -> list[Replica]:
    return [
        each
        for each in cluster.all(Replica).values()
        if each.volume == placed.volume and each.name != placed.name and not each.failed
    ]


def _takes_replicas(node: Node) -> bool:
    return node.ready.is_true and node.schedulable.is_true and node.allow_scheduling


def _settings(cluster: Cluster) -> Settings:
    settings = cluster.view.settings
    assert settings.unreadable is None
    return settings


def _unknown(cluster: Cluster) -> dict[tuple[NodeName, DiskId | None], int]:
    """Return what is scheduled on each disk that none of its replicas takes."""
    return {
        (node.name, disk.id): disk.scheduled_bytes - sum(disk.listed.values())
        for node in cluster.all(Node).values()
        for disk in node.disks
    }


class Judge:
    """Looks at a plan after each of its steps; raises AssertionError for what cannot be.

    Args:
        plan: The plan.
        cluster: Its cluster.
    """

    def __init__(self, plan: Plan, cluster: JudgedCluster) -> None:
        self._plan = plan
        self._cluster = cluster
        self._nodes: dict[str, NodeReport] = {}
        self._look()
        for step in plan.steps:
            self._show(step)
        self._compare()

    def take(self, step: Step) -> None:
        """Take a step, and judge what it led to."""
        where, alive, over = self._where, self._alive, self._over
        report = self._plan.take(step)
        self._look()
        self._show(report)
        self._compare()
        self._judge_pods(report, where)
        self._judge_losses(report, alive)
        if not (isinstance(step, ChangeSetting) and "percentage" in step.name):
            assert self._over <= over, "a disk went beyond its limit"
        self._judge_volumes()
        self._judge_nodes()

    def finish(self, report: PlanReport) -> None:
        """Judge what a plan says in sum."""
        without = sum(each.node is None for each in self._cluster.pods.values())
        assert report.pending == without

    def _look(self) -> None:
        cluster = self._cluster
        self._where = {**cluster.pods}
        self._alive = {
            volume for volume in cluster.all(Volume) if self._has_data(VolumeName(volume))
        }
        percent = _settings(cluster).over_provisioning_percent
        limits = {
            (node.name, disk.id): (disk.maximum_bytes - disk.reserved_bytes) * percent
            for node in cluster.all(Node).values()
            for disk in node.disks
        }
        self._over = {
            disk for disk, taken in cluster.scheduled().items() if taken * 100 > limits[disk]
        }

    def _has_data(self, volume: VolumeName) -> bool:
        return any(
            each.volume == volume and each.healthy_once and not each.failed
            for each in self._cluster.all(Replica).values()
        )

    def _show(self, report: StepReport) -> None:
        for node in report.nodes:
            self._nodes[node.name] = node
        for name in report.removed_nodes:
            del self._nodes[name]

    def _compare(self) -> None:
        """What the reports show is what a recount of the objects finds."""
        cluster = self._cluster
        names = {
            (node.name, disk.id): str(disk.name)
            for node in cluster.all(Node).values()
            for disk in node.disks
        }
        taken = {(disk[0], names[disk]): bytes_ for disk, bytes_ in cluster.scheduled().items()}
        assert {*self._nodes} == {*cluster.nodes, *cluster.all(Node)}
        for name, shown in self._nodes.items():
            pods = [pod for pod in cluster.pods.values() if pod.node == name]
            sums = Counter[str]()
            for pod in pods:
                sums.update(pod.wishes.requests)
            assert {*shown.pods} == {pod.key for pod in pods}
            assert shown.requested_millicores == sums[CPU]
            assert shown.requested_memory_bytes == sums[MEMORY]
            for disk in shown.disks:
                assert disk.scheduled_bytes == taken[NodeName(name), disk.name]
            known = cluster.nodes.get(NodeName(name))
            if known is not None:
                assert sums[CPU] <= known.allocatable[CPU]
                assert len(pods) <= known.allocatable[PODS]

    def _judge_pods(self, report: StepReport, before: Mapping[str, Pod]) -> None:
        """Each pod that went somewhere, or went, is told of; so is where it is now."""
        told = {each.object: each for each in report.events if each.kind in _AWAY}
        pods = self._cluster.pods
        for key, pod in before.items():
            now = pods.get(key)
            if pod.node is None or pod.wishes.of_daemon_set:
                continue
            if now is None or now.node != pod.node:
                assert key in told, key
                # Only what has a controller comes back.
                assert (now is None) is (pod.wishes.owner is None)
        for number, event in enumerate(report.events):
            if event.kind in (Kind.MOVED, Kind.PLACED):
                assert pods[event.object].node == event.node
                self._judge_places(event, report.events[number + 1 :])

    def _judge_places(self, event: Event, later: Sequence[Event]) -> None:
        """The replicas that are shown, and what is told of them later, are those that there are."""
        for shown in event.volumes:
            if any(shown.name == other.name for each in later for other in each.volumes):
                continue
            claim = self._cluster.all(Claim)[shown.name]
            bound = self._cluster.all(PersistentVolume)[claim.persistent_volume or ""]
            there = [
                str(each.node)
                for each in self._cluster.all(Replica).values()
                if each.volume == bound.volume_handle and each.disk and not each.failed
            ]
            places = [each.node for each in shown.replicas if each.node is not None]
            for each in later:
                if each.object == shown.name and each.kind is Kind.REPLICA_PLACED:
                    places.append(str(each.node))
                if each.object == shown.name and each.kind is Kind.REPLICA_REMOVED:
                    places.remove(str(each.node))
            assert sorted(places) == sorted(there)

    def _judge_losses(self, report: StepReport, before: set[str]) -> None:
        """No volume is lost that is not told of, and none is told of that is not lost."""
        lost = sum(each.kind is Kind.VOLUME_LOST for each in report.events)
        kept = {*self._cluster.all(Volume)}
        assert before <= kept
        assert lost >= len(before - self._alive)
        for warning in report.warnings:
            assert warning.code != "volume_lost" or lost

    def _judge_volumes(self) -> None:
        cluster = self._cluster
        disks = {(node.name, disk.id) for node in cluster.all(Node).values() for disk in node.disks}
        for volume in cluster.all(Volume).values():
            replicas = [r for r in cluster.all(Replica).values() if r.volume == volume.name]
            live = [each for each in replicas if each.disk is not None and not each.failed]
            staying = [each for each in live if not each.evicting]
            if len(staying) > volume.wanted_replicas:
                assert len(staying) == volume.wanted_replicas + 1
                assert self._is_crowded_by_local_ones(volume, staying)
            for each in live:
                assert (each.node, each.disk) in disks
                assert each.node is not None
                assert cluster.all(Node)[each.node].ready.is_true
            if volume.attached_to is not None:
                self._judge_locality(volume, replicas)

    def _is_crowded_by_local_ones(self, volume: Volume, replicas: list[Replica]) -> bool:
        """Whether Longhorn lets one more than wanted stay: most share something with its node.

        Source: longhorn-manager controller/volume_controller.go
        getPreferredReplicaCandidatesForDeletion.
        """
        nodes = self._cluster.all(Node)
        for key in ("disk", "node", "zone"):
            groups = Counter(
                nodes[str(each.node)].zone if key == "zone" else getattr(each, key)
                for each in replicas
            )
            [(_, most)] = groups.most_common(1)
            if most > 1:
                crowded = [
                    each
                    for each in replicas
                    if groups[nodes[str(each.node)].zone if key == "zone" else getattr(each, key)]
                    == most
                ]
                return all(each.node == volume.attached_to for each in crowded)
        return False

    def _judge_locality(self, volume: Volume, replicas: list[Replica]) -> None:
        """Strict-local has its replica beside the pod; best-effort has one if there was room."""
        here, cluster = volume.attached_to, self._cluster
        live = [each for each in replicas if each.disk is not None and not each.failed]
        assert here in cluster.nodes
        if volume.locality is Locality.STRICT_LOCAL:
            assert here in [each.node for each in live]
        settings = _settings(cluster)
        if (
            volume.locality is Locality.BEST_EFFORT
            and volume.healthy
            and settings.rebuild_limit
            and not any(each.evicting for each in live)
            and here not in [each.node for each in replicas]
        ):
            blank = structs.replace(replicas[0], name="blank", node=None, hard_node_affinity=here)
            found = find_candidates(blank, volume, replicas, cluster.view, _NOW)
            assert not found.disks, f"{volume.name} could have a replica on {here}"

    def _judge_nodes(self) -> None:
        """No node is used that is not there."""
        for pod in self._cluster.pods.values():
            assert pod.node is None or pod.node in self._cluster.nodes
