"""What is wrong or at risk, found in the objects alone: so it works on a support bundle, too."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from app.page.now import claims_by_volume
from cli.catalogue import Severity
from cli.explaining.explainer import Explainer
from cli.explaining.stuck_pods import stuck_pods
from cli.findings import Finding
from cli.kube.pods import Pod
from cli.survey.found import Helps
from cli.survey.losses import endangered
from cli.survey.of_classes import of_claims, of_classes
from cli.survey.of_disks import of_disks
from cli.survey.of_volumes import of_leftovers, of_nodes, of_pods, of_shared, of_volumes
from extender import ClusterView, Extender
from longhorn import NodeName, VolumeName


class Survey(msgspec.Struct, frozen=True, kw_only=True):
    """What `survey -o json` prints."""

    findings: tuple[Finding, ...]
    """The worst first."""
    nodes_that_may_be_lost: tuple[str, ...]
    """Each of them alone, without that a volume loses its data."""
    notes: tuple[str, ...]
    """What is not known."""
    ignored: int = 0
    """How many objects of findings are left out, by `--ignore`."""


def survey_of(explainer: Explainer, helps: Helps | None = None) -> Survey:
    """Look at all of a cluster; *helps* says what would help."""
    view, cluster = explainer.view, explainer.cluster
    held = (f"{pod.key} ({note.text})" for pod, note in stuck_pods(cluster, view))
    claims = claims_by_volume(view.claims.values(), view)
    return survey(view, explainer.extender, claims, held, helps, cluster.of(Pod).values())


def survey(
    view: ClusterView,
    extender: Extender,
    claims: Mapping[VolumeName, str],
    held: Iterable[str] = (),
    helps: Helps | None = None,
    pods: Iterable[Pod] = (),
) -> Survey:
    """Look at everything.

    Args:
        view: The cluster.
        extender: Decides what fits.
        claims: How volumes are named, by their claims.
        held: Pods that wait for a volume, each with what holds that.
        helps: Says what would help.
        pods: All that are known.
    """
    helps = helps or Helps()
    lost_with, classes = endangered(view), [*of_classes(view, extender)]
    found = [
        *of_volumes(view, claims, helps),
        *of_nodes(lost_with, claims),
        *of_pods([*held]),
        *of_shared(pods, view),
        *of_disks(view, helps),
        *classes,
        *of_claims(view, {each.text for each in classes}),
        *of_leftovers(view, claims),
    ]
    order = [*Severity]
    return Survey(
        findings=tuple(sorted(found, key=lambda each: order.index(each.severity))),
        nodes_that_may_be_lost=tuple(sorted(_without_loss(view, lost_with))),
        notes=tuple(_notes(view)),
    )


def _without_loss(view: ClusterView, lost_with: Iterable[NodeName]) -> Iterator[NodeName]:
    """Yield the nodes that may be lost; none if nothing is known of any replica."""
    if not _lacks_replicas(view):
        yield from view.spaces.keys() - {*lost_with}


def _lacks_replicas(view: ClusterView) -> bool:
    return not view.replicas and any(not each.sharded for each in view.volumes.values())


def _notes(view: ClusterView) -> Iterator[str]:
    if view.settings.unreadable is not None:
        yield f"Longhorn's setting {view.settings.unreadable} cannot be read: nothing is placed"
    for (kind, name), why in sorted(view.unreadable.items()):
        yield f"{kind} {name} cannot be read, and is left out: {why}"
    if _lacks_replicas(view):
        yield "no Replica is known: which nodes may be lost is not known either"
    for volume in sorted(view.volumes.values(), key=lambda each: each.name):
        if volume.sharded and volume.name not in view.replicas:
            yield f"where the shards of volume {volume.name} are is not known"
