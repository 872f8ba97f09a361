"""`filter` of a claim or a volume."""

from collections.abc import Sequence

from cli.data import data_in
from cli.explaining.explainer import Explainer
from cli.names import Named
from cli.volumes.explaining import explain
from cli.volumes.finding import find_target
from cli.volumes.report import VolumeReport
from longhorn import NodeName, VolumeName

VOLUMES = (Named.CLAIM, Named.PERSISTENT_VOLUME, Named.VOLUME)
"""The kinds that it is about."""


def explain_volume(
    kind: Named, name: str, namespace: str, explainer: Explainer, nodes: Sequence[NodeName]
) -> VolumeReport:
    """Say how a claim or volume is, and why; its name is as `find_target` says."""
    target = find_target(kind, name, namespace, explainer.cluster, explainer.view)
    return explain(target, explainer, nodes)


def what_helps(name: VolumeName, explainer: Explainer) -> list[str]:
    """Return what would help a volume that lacks replicas, from the least to the most costly."""
    found = explain(
        find_target(Named.VOLUME, name, "", explainer.cluster, explainer.view), explainer, ()
    )
    if found.remedies:
        return [each.text for each in found.remedies]
    if found.waiting is not None and found.waiting.action != "Nothing.":
        return [found.waiting.action]
    awaited = sorted({str(e.awaits) for e in data_in(explainer.view, name).judged if e.awaits})
    if awaited:
        return [f"A replica that it has cannot be used before {' and '.join(awaited)}."]
    return [f"Nothing: {found.waiting.text if found.waiting else found.answer}."]
