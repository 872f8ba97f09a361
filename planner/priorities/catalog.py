"""The priorities that a policy names; those with an argument are made from it."""

from collections.abc import Mapping

from planner.priorities import affinity, capacity, resources, today, topology
from planner.priorities.labels import equal
from planner.priorities.longhorn_score import longhorn_score
from planner.priorities.priority import Priority
from planner.priorities.spreading import service_spreading

PRIORITIES: Mapping[str, Priority] = {
    "LeastRequestedPriority": resources.least_requested,
    "BalancedResourceAllocation": resources.balanced_allocation,
    "ServiceSpreadingPriority": service_spreading,
    "EqualPriority": equal,
    "LonghornScore": longhorn_score,
    "LeastAllocated": today.least_allocated,
    "BalancedAllocation": today.balanced_allocation,
    "TaintToleration": today.taint_toleration,
    "NodeAffinity": affinity.node_affinity,
    "PodTopologySpread": topology.pod_topology_spread,
    "InterPodAffinity": affinity.inter_pod_affinity,
    "VolumeBinding": capacity.volume_binding,
}
