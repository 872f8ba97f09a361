"""A cluster in memory, and one who asks about it and measures the answers."""

import gc
import time
from collections.abc import Callable, Iterable
from random import Random

import msgspec

from app.kube import objects
from app.kube.translate import pod_ref
from app.settings import Settings
from benchmarks.clusters import Object, node_name
from cli.kube.cluster_objects import ClusterObjects
from cli.kube.decoding import read_object
from extender import Extender, PodRef, ViewBuilder
from longhorn import DiskId, Moment, Node, NodeName, Replica, ReplicaName, VolumeName


class Cluster:
    """A cluster in memory, and one who asks about it.

    Attributes:
        builder: Has the view.
        extender: Answers.
        candidates: All nodes.
    """

    def __init__(self, items: Iterable[Object], nodes: int, utc: Moment | None = None) -> None:
        self.builder = ViewBuilder()
        for document in items:
            self.builder.apply(None, read_object(document))
        self.builder.settle()
        gc.collect()
        gc.freeze()  # as the service does with what it has listed
        self.extender = Extender(Settings().step_limits)
        self.candidates = [NodeName(node_name(number)) for number in range(nodes)]
        self._utc = utc

    def prepare_ms(self) -> list[float]:
        """Do what a service does between two answers; return what each piece took.

        Commit 6525d5e does nothing then.
        """
        catch_up = getattr(self.extender, "catch_up", lambda *_: True)
        pieces, is_done = list[float](), False
        while not is_done:
            began = time.process_time()
            is_done = catch_up(self.builder.view, 0.0, self._utc)
            pieces.append(1e3 * (time.process_time() - began))
        return pieces

    def filter_ms(self, asked: PodRef) -> float:
        """Ask for nodes; return the processor's milliseconds."""
        return measured(
            lambda: self.extender.filter(asked, self.candidates, self.builder.view, utc=self._utc)
        )

    def prioritize_ms(self, asked: PodRef) -> float:
        """Ask for scores."""
        view = self.builder.view
        return measured(
            lambda: self.extender.prioritize(asked, self.candidates, view, utc=self._utc)
        )

    def nowhere(self, asked: PodRef) -> int:
        """Return how many of the due replicas find no room."""
        view = self.builder.view
        answer = self.extender.filter(asked, self.candidates, view, utc=self._utc)
        return answer.forecast.get("nowhere", 0)

    def place(self, replica: Replica, names: Iterable[NodeName]) -> bool:
        """Show that a replica has got a disk on the first of these nodes that has room for it."""
        for name in names:
            node = self.builder.view.spaces[name].node
            for disk in node.disks:
                room_bytes = disk.maximum_bytes - disk.scheduled_bytes
                if node.ready.is_true and room_bytes >= replica.size_bytes:
                    placed = msgspec.structs.replace(replica, node=node.name, disk=disk.id)
                    self.builder.apply(node, _with(node, placed))
                    self.builder.apply(self.builder.of(Replica).get(replica.name), placed)
                    return True
        return False

    def anywhere(self, random: Random) -> list[NodeName]:
        """Return all nodes in some order."""
        return random.sample(self.candidates, len(self.candidates))


def measured(do: Callable[[], object]) -> float:
    """Return how many milliseconds of the processor something takes."""
    started = time.process_time()
    do()
    return 1e3 * (time.process_time() - started)


def records_of(items: Iterable[Object]) -> ClusterObjects:
    """Read the objects of a cluster."""
    records = ClusterObjects()
    for document in items:
        record = read_object(document)
        assert record is not None
        records.add(record)
    return records


def replica_of(volume: str, copy: int, size_bytes: int, node: str = "", disk: int = 0) -> Replica:
    """Return a replica, on a disk of a node if one is given, with all that it has there."""
    return Replica(
        name=ReplicaName(f"{volume}-r-{copy:08x}"),
        volume=VolumeName(volume),
        size_bytes=size_bytes,
        node=NodeName(node) if node else None,
        disk=DiskId(f"{node}-{disk}") if node else None,
        hard_node_affinity=None,
        active=True,
        evicting=False,
        deleting=False,
        failed=False,
        healthy_once=bool(node),
        started=bool(node),
        rebuild_retries=0,
    )


def pod_record(document: Object) -> PodRef:
    """Return a pod as decisions know it."""
    return pod_ref(msgspec.convert(document, objects.Pod))


def _with(node: Node, replica: Replica) -> Node:
    """Return a node that counts a replica on its disk."""
    disks = [
        msgspec.structs.replace(
            disk,
            scheduled_bytes=disk.scheduled_bytes + replica.size_bytes,
            listed={**disk.listed, replica.name: replica.size_bytes},
        )
        if disk.id == replica.disk
        else disk
        for disk in node.disks
    ]
    return msgspec.structs.replace(node, disks=tuple(disks))
