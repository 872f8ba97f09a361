"""`filter` of a claim or a volume."""

from collections.abc import Sequence

from cli.explaining.explainer import Explainer
from cli.names import Named
from cli.volumes.explaining import explain
from cli.volumes.finding import find_target
from cli.volumes.report import VolumeReport
from longhorn import NodeName

VOLUMES = (Named.CLAIM, Named.PERSISTENT_VOLUME, Named.VOLUME)
"""The kinds that it is about."""


def explain_volume(
    kind: Named, name: str, namespace: str, explainer: Explainer, nodes: Sequence[NodeName]
) -> VolumeReport:
    """Say how a claim or volume is, and why; its name is as `find_target` says."""
    target = find_target(kind, name, namespace, explainer.cluster, explainer.view)
    return explain(target, explainer, nodes)
