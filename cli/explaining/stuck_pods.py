"""Pods that have a node and do not run for want of a volume, and why."""

from collections.abc import Iterator

from cli.explaining.notes import Note, claim_notes
from cli.holders import cut_off, holders_for, volumes_of
from cli.kube.cluster_objects import ClusterObjects
from cli.kube.pods import Pod
from cli.volumes.attaching import standings
from extender import ClusterView

_ATTACHABLE = ("attached", "shared", "no_node", "on_its_way")
"""How pods stand whose volume is there, or about to be."""


def stuck_pods(cluster: ClusterObjects, view: ClusterView) -> Iterator[tuple[Pod, Note]]:
    """Yield each such pod, by name, with what keeps it from its volumes first of all."""
    for _, pod in sorted(cluster.of(Pod).items()):
        if not (_waits(pod) and pod.ref.claims):
            continue
        notes = [*held_notes(pod, cluster, view)]
        notes += [each for each in claim_notes(pod, view) if each.code == "node_name"]
        if notes:
            yield pod, notes[0]


def held_notes(pod: Pod, cluster: ClusterObjects, view: ClusterView) -> Iterator[Note]:
    """Say of a pod that is bound and does not run what holds its volumes, or keeps it from them."""
    holders = [*holders_for(pod, cluster, view)]
    for claim, holder in holders:
        yield Note(
            "volume_held", f"volume of {claim}: {holder.text}", refuses=True, do=holder.action
        )
    held = {claim for claim, _ in holders}
    for claim, name, volume in volumes_of(pod, view):
        if pod.status.node is None:
            for holder in cut_off(volume, [name], cluster, view):
                yield Note("strict_local_cut_off", f"volume of {claim}: {holder.text}")
        elif _waits(pod) and claim not in held:
            for each in standings(volume, claim, [pod], view):
                if each.code not in _ATTACHABLE:
                    text = (
                        f"on its node {each.node} volume of {claim} cannot be attached: {each.text}"
                    )
                    replicas = f"Ask `filter pvc/{claim}`, which says what its replicas wait for."
                    do = replicas if each.is_of_replicas else each.action
                    yield Note("not_attachable", text, refuses=True, do=do)


def _waits(pod: Pod) -> bool:
    status = pod.status
    return status.node is not None and not (status.running or status.ended)
