"""The life of a volume as its objects show it: what is compared between a trace and the play.

A life is a list of lines. Each write to the Volume gives one, with what it changed; what was
written to its replicas between two of them is one line too, without an order. Names of replicas and
disks are left out, and what instance managers write is only counted when the volume comes to rest:
when exactly a process runs is chance.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from enum import Enum

import msgspec

from tests.actors.longhorn.records import DISABLED
from tests.traces import Event, Object

PLACED = "created -> placed"
"""Of a volume without locality; of the others the time begins with Volume.spec.nodeID:"""
PLACED_ON_ATTACH = "nodeID -> placed"
DETACHED_FIRST = "created -> detached"
ATTACHED = "nodeID -> attached"
DETACHED = "no nodeID -> detached"
LISTED = "placed -> listed"
"""From a replica's placement to scheduledReplica of its disk."""


class Grain(Enum):
    """How much a life tells."""

    FINE = "fine"
    """All that does not depend on which of several equal disks is taken."""
    COARSE = "coarse"
    """Where rooms are short, late figures decide how many replicas find a place, and where. Of
    numbers there is left whether they are none, some or all; nodes and messages are left out."""


class Life(msgspec.Struct, frozen=True):
    """What became of one volume."""

    kind: tuple[int, str]
    """numberOfReplicas and dataLocality."""
    lines: tuple[str, ...]
    delays: tuple[tuple[str, float], ...]
    """How long it took from one milestone to another: name, seconds."""


def lives(events: Iterable[Event], grain: Grain = Grain.FINE) -> dict[str, Life]:
    """Follow all volumes through events in the order of the writes; by name."""
    watches: dict[str, _Watch] = {}
    for event in events:
        if event.kind == "Volume" and event.event == "ADDED":
            watches[event.name] = _Watch(event, grain)
        elif event.kind == "Volume" and event.event == "MODIFIED":
            watches[event.name].on_volume(event)
        elif event.kind == "Replica":
            watches[event.object["spec"]["volumeName"]].on_replica(event)
        elif event.kind == "Node":
            for watch in watches.values():
                watch.on_node(event)
    return {name: watch.life() for name, watch in watches.items()}


class _Watch:
    """Follows one volume."""

    def __init__(self, created: Event, grain: Grain) -> None:
        self._created_at = created.at
        self._volume = created.object
        self._grain = grain
        self._wanted: int = created.object["spec"]["numberOfReplicas"]
        self._locality: str = created.object["spec"]["dataLocality"]
        self._replicas: dict[str, Object] = {}
        self._lines = ["volume created"]
        self._written: Counter[str] = Counter()
        self._wished_at = created.at
        self._unlisted: dict[str, float] = {}
        self._delays: list[tuple[str, float]] = []

    def life(self) -> Life:
        self._tell_replicas()
        return Life((self._wanted, self._locality), tuple(self._lines), tuple(self._delays))

    def on_volume(self, event: Event) -> None:
        old, new = self._volume, event.object
        self._volume = new
        told = [*self._volume_changes(old, new)]
        if told:
            self._tell_replicas()
            self._lines.append("volume: " + ", ".join(told))
        self._time_volume(event.at, old, new)

    def on_replica(self, event: Event) -> None:
        old, new = self._replicas.get(event.name), event.object
        if event.event == "DELETED":
            del self._replicas[event.name]
            self._written["deleted"] += 1
            return
        self._replicas[event.name] = new
        self._written.update(self._replica_changes(old, new))
        if new["spec"]["nodeID"] and not (old and old["spec"]["nodeID"]):
            self._unlisted[event.name] = event.at
            if self._locality == DISABLED:
                self._delays.append((PLACED, event.at - self._created_at))
            elif not new["spec"]["rebuildRetryCount"]:
                self._delays.append((PLACED_ON_ATTACH, event.at - self._wished_at))

    def on_node(self, event: Event) -> None:
        disks = (event.object["status"].get("diskStatus") or {}).values()
        for name in {name for disk in disks for name in disk.get("scheduledReplica") or ()}:
            if name in self._unlisted:
                self._delays.append((LISTED, event.at - self._unlisted.pop(name)))

    def _time_volume(self, at: float, old: Object, new: Object) -> None:
        if new["spec"]["nodeID"] != old["spec"]["nodeID"]:
            self._wished_at = at
        if new["status"]["state"] == old["status"]["state"]:
            return
        match new["status"]["state"]:
            case "attached":
                self._delays.append((ATTACHED, at - self._wished_at))
            case "detached" if old["status"]["currentNodeID"]:
                self._delays.append((DETACHED, at - self._wished_at))
            case "detached":
                self._delays.append((DETACHED_FIRST, at - self._created_at))

    def _volume_changes(self, old: Object, new: Object) -> Iterator[str]:
        for part, field in (
            ("spec", "nodeID"),
            ("status", "state"),
            ("status", "robustness"),
            ("status", "currentNodeID"),
        ):
            if new[part][field] != old[part][field]:
                yield f"{field} {self._node(new[part][field]) or 'none'}"
        degraded = bool(new["status"]["lastDegradedAt"])
        if degraded != bool(old["status"]["lastDegradedAt"]):
            yield "lastDegradedAt" if degraded else "no lastDegradedAt"
        if (scheduled := self._scheduled(new)) != self._scheduled(old):
            yield f"Scheduled {scheduled}"
        state = new["status"]["state"]
        if state != old["status"]["state"] and state in ("attached", "detached"):
            runs = [each["status"].get("currentState") == "running" for each in self._all()]
            healthy = [bool(each["spec"]["healthyAt"]) for each in self._all()]
            yield f"{self._count(sum(runs))} running, {self._count(sum(healthy))} healthy"
            yield f"{self._count(len(runs))} replicas"

    def _replica_changes(self, old: Object | None, new: Object) -> Iterator[str]:
        after: Object = new["spec"]
        before: Object = old["spec"] if old else {}
        hard, retries = after["hardNodeAffinity"], after["rebuildRetryCount"]
        if not old:
            yield (
                "created"
                + (f" for {self._node(hard)}" if hard else "")
                + (f" with {retries} retries" if retries else "")
            )
        elif hard != before["hardNodeAffinity"]:
            yield f"bound to {self._node(hard)}"
        elif retries != before["rebuildRetryCount"]:
            yield f"set to {retries} retries"
        if after["nodeID"] != before.get("nodeID", ""):
            is_local = (
                self._locality != DISABLED and after["nodeID"] == self._volume["spec"]["nodeID"]
            )
            yield "placed there" if is_local and self._grain is Grain.FINE else "placed"
        if after["desireState"] != before.get("desireState", "stopped"):
            yield f"to be {after['desireState']}"
        for field, word in (("healthyAt", "healthy"), ("failedAt", "failed")):
            if bool(after[field]) != bool(before.get(field)):
                yield word if after[field] else f"no longer {word}"
        if after["evictionRequested"] != before.get("evictionRequested", False):
            yield "evicted" if after["evictionRequested"] else "no longer evicted"

    def _tell_replicas(self) -> None:
        if self._written:
            told = sorted(f"{self._count(count)} {what}" for what, count in self._written.items())
            self._lines.append(f"replicas: {', '.join(told)}")
            self._written.clear()

    def _all(self) -> Iterable[Object]:
        return self._replicas.values()

    def _count(self, number: int) -> str:
        if self._grain is Grain.FINE or number == 0:
            return str(number)
        return "some" if number < self._wanted else "all"

    def _node(self, text: str) -> str:
        """Leave out a node's name; every other word stays."""
        is_name = text.startswith("node-") and self._grain is Grain.COARSE
        return "a node" if is_name else text

    def _scheduled(self, volume: Object) -> str:
        for each in volume["status"].get("conditions") or ():
            if each["type"] == "Scheduled":
                message = each["message"] if self._grain is Grain.FINE else ""
                return " ".join(filter(None, (each["status"], each["reason"], message)))
        return ""
