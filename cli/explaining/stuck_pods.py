"""Pods that have a node and do not run for want of a volume, and why."""

from collections.abc import Iterator

from cli.explaining.notes import Note, claim_notes, held_notes
from cli.kube.cluster_objects import ClusterObjects
from cli.kube.pods import Pod
from extender import ClusterView


def stuck_pods(cluster: ClusterObjects, view: ClusterView) -> Iterator[tuple[Pod, Note]]:
    """Yield each such pod, by name, with what keeps it from its volumes first of all."""
    for _, pod in sorted(cluster.of(Pod).items()):
        status = pod.status
        if status.node is None or status.running or status.ended or not pod.ref.claims:
            continue
        notes = [*held_notes(pod, cluster, view)]
        notes += [each for each in claim_notes(pod, view) if each.code == "node_name"]
        if notes:
            yield pod, notes[0]
