"""The predicates that a policy names; those with an argument are made from it."""

from collections.abc import Mapping

from planner.predicates import nodes
from planner.predicates.pods import inter_pod_affinity
from planner.predicates.refusals import Predicate
from planner.predicates.resources import pod_fits_ports, pod_fits_resources
from planner.predicates.spreading import pod_topology_spread
from planner.predicates.volumes import no_disk_conflict, volume_restrictions, volume_topology

PREDICATES: Mapping[str, Predicate] = {
    "PodFitsPorts": pod_fits_ports,
    "PodFitsResources": pod_fits_resources,
    "NoDiskConflict": no_disk_conflict,
    "MatchNodeSelector": nodes.match_node_selector,
    "HostName": nodes.host_name,
    "CheckNodeUnschedulable": nodes.check_node_unschedulable,
    "PodToleratesNodeTaints": nodes.pod_tolerates_node_taints,
    "NodeAffinity": nodes.node_affinity,
    "VolumeRestrictions": volume_restrictions,
    "VolumeTopology": volume_topology,
    "PodTopologySpread": pod_topology_spread,
    "InterPodAffinity": inter_pod_affinity,
}
"""All that take no argument, but LonghornFit: the engine asks that last, and keeps its answer."""
