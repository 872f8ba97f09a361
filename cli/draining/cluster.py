"""The cluster as `may-drain` looks at it: what was read, found by node and by volume."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec

from cli.kube.attachments import Attachment, Ticket
from cli.kube.cluster_objects import ClusterObjects
from cli.kube.draining.records import Copy, Guard, Guest, Host, Manager, Use
from longhorn import NodeName, Setting, Shard, Unreadable, VolumeName

Value = TypeVar("Value")
Key = TypeVar("Key", bound=Hashable)


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """All that the answer rests on, at one moment."""

    hosts: Mapping[NodeName, Host]
    cordoned: frozenset[NodeName]
    """The nodes that are cordoned now."""
    managers: Mapping[NodeName, Sequence[Manager]]
    """By node, sorted by name."""
    manager_names: Mapping[str, Manager]
    guards: Mapping[str, Guard]
    """By namespace and name."""
    settings: Mapping[str, str]
    uses: Mapping[VolumeName, Use]
    copies: Mapping[VolumeName, Sequence[Copy]]
    copies_on: Mapping[NodeName, Sequence[Copy]]
    """By the label that Longhorn lists them by."""
    shards: Mapping[VolumeName, Sequence[Shard]]
    tickets: Mapping[VolumeName, Sequence[Ticket]]
    guests: Mapping[NodeName, Sequence[Guest]]
    unreadable: Sequence[str]
    """What cannot be read, as texts name it."""

    def called(self, volume: VolumeName) -> str:
        """Name a volume as its users do, and as Longhorn does."""
        use = self.uses.get(volume)
        return f"{volume} ({use.claim})" if use and use.claim else str(volume)


class Means(msgspec.Struct, frozen=True, kw_only=True):
    """How nodes are drained: the options of `kubectl drain`."""

    force: bool = False
    """Pods are deleted, too, that no controller makes again."""
    delete_local_data: bool = False
    """Pods with an emptyDir are evicted, too."""


class Situation(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster, once the nodes in question are cordoned."""

    cluster: Cluster
    asked: frozenset[NodeName]
    """The nodes in question, all of which are drained."""
    cordoned: frozenset[NodeName]
    """These, and those that are cordoned now: `kubectl drain` cordons all of them first."""
    means: Means


def situation(cluster: Cluster, asked: Iterable[NodeName], means: Means) -> Situation:
    """Return the cluster as it is once the nodes *asked* about are cordoned."""
    nodes = frozenset(asked)
    return Situation(cluster=cluster, asked=nodes, cordoned=cluster.cordoned | nodes, means=means)


def cluster_of(objects: ClusterObjects) -> Cluster:
    """Index what was read."""
    managers = sorted(objects.of(Manager).values(), key=lambda each: each.name)
    copies = sorted(objects.of(Copy).values(), key=lambda each: each.name)
    guests = sorted(objects.of(Guest).values(), key=lambda each: each.key)
    return Cluster(
        hosts=objects.of(Host),
        cordoned=frozenset(each.name for each in objects.of(Host).values() if each.cordoned),
        managers=_grouped(managers, lambda each: each.node),
        manager_names={each.name: each for each in managers},
        guards=dict(sorted(objects.of(Guard).items())),
        settings={name: each.value for name, each in objects.of(Setting).items()},
        uses=objects.of(Use),
        copies=_grouped(copies, lambda each: each.volume),
        copies_on=_grouped(copies, lambda each: each.listed_on),
        shards=_grouped(objects.of(Shard).values(), lambda each: each.volume),
        tickets=_tickets(objects.of(Attachment).values()),
        guests=_grouped(guests, lambda each: each.node),
        unreadable=[f"{each.kind} {each.name}" for each in objects.of(Unreadable).values()],
    )


def _tickets(attachments: Iterable[Attachment]) -> dict[VolumeName, list[Ticket]]:
    found = defaultdict[VolumeName, list[Ticket]](list)
    for each in attachments:
        found[each.volume] += each.tickets
    return found


def _grouped(values: Iterable[Value], key: Callable[[Value], Key]) -> dict[Key, list[Value]]:
    found = defaultdict[Key, list[Value]](list)
    for each in values:
        found[key(each)].append(each)
    return dict(found)
