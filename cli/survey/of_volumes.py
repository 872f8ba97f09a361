"""What is left of the data of volumes, and how safe they are."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from cli.data import data_in
from cli.findings import Finding
from cli.kube.pods import Pod
from cli.survey.found import Helps, count, found, named
from extender import ClusterView
from extender.demand import LONGHORN_DRIVERS
from extender.kubernetes import Claim, ClaimKey
from longhorn import DataState, Locality, NodeName, Volume, VolumeData, VolumeName
from planner.naming import first_of
from planner.records import Wishes
from planner.sizes import amount

_MOST_TRIED, _MOST_NAMED = 3, 3
_OF_OTHERS = "Of the others, `filter volume/NAME` says what would help."


def of_pods(held: Sequence[str]) -> Iterator[Finding]:
    """Name pods that wait for a volume that something holds."""
    if held:
        text = f"{count(len(held), 'pod')} on nodes without the volume that they wait for"
        yield found("volume-held", text, held)


def of_shared(pods: Iterable[Pod], view: ClusterView) -> Iterator[Finding]:
    """Name the claims that one node at a time can have, with pods on several."""
    users: dict[ClaimKey, dict[NodeName, str]] = {}
    for pod in sorted(pods, key=lambda each: each.key):
        wishes, node = pod.wishes or Wishes(), pod.status.node
        # One that ends makes room: on a node that is down it may have been moved.
        if node is not None and not (pod.status.ended or wishes.deleting):
            for key in pod.ref.claims:
                users.setdefault(key, {}).setdefault(node, pod.key)
    shared = [
        f"{key} ({first_of([f'{pod} on {node}' for node, pod in on.items()], _MOST_NAMED)})"
        for key, on in sorted(users.items())
        if len(on) > 1 and _is_for_one_node(view.claims.get(key), view)
    ]
    if shared:
        text = f"{count(len(shared), 'claim')} for one node at a time, with pods on several"
        yield found("claim-shared", text, shared)


def _is_for_one_node(claim: Claim | None, view: ClusterView) -> bool:
    """Whether a claim is Longhorn's, and neither ReadWriteMany nor ReadOnlyMany."""
    if claim is None or claim.read_write_many or claim.read_only_many:
        return False
    bound = view.persistent_volumes.get(claim.persistent_volume or "")
    return bound is not None and bound.driver in LONGHORN_DRIVERS


def of_nodes(
    lost_with: Mapping[NodeName, list[VolumeName]], claims: Mapping[VolumeName, str]
) -> Iterator[Finding]:
    """Name the volumes that would be lost with each node."""
    for node, volumes in sorted(lost_with.items()):
        names = [named(each, claims) for each in volumes]
        text = f"with node {node} {count(len(names), 'volume')} would lose all data"
        yield found("node-has-last-replica", text, names)


def of_volumes(
    view: ClusterView, claims: Mapping[VolumeName, str], helps: Helps
) -> Iterator[Finding]:
    """Judge what is left of the data of volumes, and how safe they are."""
    about_each: dict[str, dict[VolumeName, str]] = {rule: {} for rule in _OF_VOLUMES}
    zones = {name: space.node.zone for name, space in view.spaces.items()}
    for name, volume in sorted(view.volumes.items()):
        data, about = data_in(view, name), named(name, claims)
        if not (data.is_new or volume.deleting):
            for rule, more in _of_volume(volume, data, zones):
                about_each[rule][name] = f"{about} ({more})" if more else about
    for rule, names in about_each.items():
        if names:
            remedies = _remedies([*names], claims, helps) if rule == "volume-degraded" else ()
            text = f"{count(len(names), 'volume')} {_OF_VOLUMES[rule]}"
            yield found(rule, text, sorted(names.values()), remedies)


def _remedies(
    names: Sequence[VolumeName], claims: Mapping[VolumeName, str], helps: Helps
) -> list[str]:
    """Return what would help volumes that lack replicas: of one each way, of several the first."""
    if len(names) == 1:
        return [*helps.volume(names[0])]
    tried = {name: helps.volume(name) for name in names[:_MOST_TRIED]}
    texts = [f"{named(name, claims)}: {each[0]}" for name, each in tried.items() if each]
    return [*texts, *([_OF_OTHERS] if texts and len(names) > _MOST_TRIED else [])]


def of_leftovers(view: ClusterView, claims: Mapping[VolumeName, str]) -> Iterator[Finding]:
    """Name replicas without a Volume, replicas that are to move, and volumes full of snapshots."""
    orphans = [
        each.name
        for name, replicas in sorted(view.replicas.items())
        for each in replicas
        if name not in view.volumes and not each.deleting
    ]
    if orphans and view.volumes:
        yield found(
            "replica-without-volume", f"{count(len(orphans), 'replica')} of no Volume", orphans
        )
    leaving = sorted(
        f"{named(name, claims)} on {each.node}"
        for name, replicas in view.replicas.items()
        for each in replicas
        if each.evicting and each.node is not None
    )
    if leaving:
        text = f"{count(len(leaving), 'replica')} to be moved away, as an eviction is requested"
        yield found("eviction-under-way", text, leaving)
    large = {
        name: each
        for name, each in sorted(view.volumes.items())
        if each.actual_bytes > each.size_bytes and not each.deleting
    }
    if large:
        text = f"{count(len(large), 'volume')} with more written than their size, by snapshots"
        yield found(
            "snapshots-large",
            text,
            (
                f"{named(name, claims)} ({amount(each.actual_bytes)} of {amount(each.size_bytes)})"
                for name, each in sorted(large.items(), key=lambda e: -e[1].actual_bytes)
            ),
        )


def _of_volume(
    volume: Volume, data: VolumeData, zones: Mapping[NodeName, str]
) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a volume that has data, each with more about it."""
    broken = _UNREADABLE.get(data.state)
    if broken is not None:
        yield broken, f"before {' or '.join(map(str, data.awaited))}" if data.awaited else ""
    if data.state is not DataState.READABLE:
        return
    healthy = data.usable
    if len(healthy) < volume.wanted_replicas:
        yield "volume-degraded", f"{len(healthy)} of {volume.wanted_replicas}"
    if volume.wanted_replicas == 1:
        is_strict = volume.locality is Locality.STRICT_LOCAL
        yield "strict-local-replica" if is_strict else "single-replica", ""
    used = {zones.get(each.node or NodeName("")) for each in healthy}
    if len({*zones.values()} - {""}) > 1 and len(healthy) > 1 and len(used) == 1:
        yield "one-zone", ""


_UNREADABLE = {
    DataState.LOST: "volume-lost",
    DataState.FAULTED: "volume-faulted",
    DataState.AWAITED: "volume-unreadable",
}
_OF_VOLUMES = {
    "volume-lost": "without any replica with data: what they held is lost here",
    "volume-faulted": "of which all replicas with data have failed",
    "volume-unreadable": "whose data nothing can read now",
    "volume-degraded": "with fewer healthy replicas than wanted",
    "single-replica": "with one replica: the loss of its disk loses the data",
    "strict-local-replica": "of locality strict-local: the loss of the one disk loses the data",
    "one-zone": "with all replicas in one zone",
}
