"""A scheduling policy: by which predicates and priorities a pod gets its node.

`planner/policy_file.py` reads one that an administrator wrote.
"""

import msgspec

from planner.predicates import LONGHORN_FIT
from planner.priorities import HIGHEST

MOST_WEIGHT = 1_000_000


class PolicyError(Exception):
    """A policy file is not what it should be; the text is one line, and begins with the place."""


class ServiceAffinity(msgspec.Struct, frozen=True):
    """The pods of a service keep to nodes with the same values of these labels."""

    labels: tuple[str, ...]


class LabelsPresence(msgspec.Struct, frozen=True):
    """A node has all of these labels, or none of them."""

    labels: tuple[str, ...]
    presence: bool


class ServiceAntiAffinity(msgspec.Struct, frozen=True):
    """The pods of a service spread over the values of this label."""

    label: str


class LabelPreference(msgspec.Struct, frozen=True):
    """A node with this label is better, or one without it."""

    label: str
    presence: bool = True


class ChosenPredicate(msgspec.Struct, frozen=True):
    """A predicate of a policy: by its name, or by its argument under any name."""

    name: str
    argument: ServiceAffinity | LabelsPresence | None = None


class ChosenPriority(msgspec.Struct, frozen=True):
    """A priority of a policy, and how much its scores count."""

    name: str
    weight: int = 1
    """From 1 to MOST_WEIGHT."""
    argument: ServiceAntiAffinity | LabelPreference | None = None


class Policy(msgspec.Struct, frozen=True):
    """What a scheduler goes by; without priorities all nodes are equally good."""

    predicates: tuple[ChosenPredicate, ...]
    priorities: tuple[ChosenPriority, ...]

    @property
    def highest_score(self) -> int:
        """The most that a node can have."""
        return HIGHEST * sum(each.weight for each in self.priorities)


SEED_POLICY = Policy(
    predicates=tuple(
        map(
            ChosenPredicate,
            ("PodFitsPorts", "PodFitsResources", "NoDiskConflict", "MatchNodeSelector", "HostName"),
        )
    ),
    priorities=tuple(
        map(
            ChosenPriority,
            ("LeastRequestedPriority", "BalancedResourceAllocation", "ServiceSpreadingPriority"),
        )
    ),
)
"""The default of the scheduler that first had such policies."""

TODAY_POLICY = Policy(
    predicates=tuple(
        map(
            ChosenPredicate,
            (
                "CheckNodeUnschedulable",
                "HostName",
                "PodToleratesNodeTaints",
                "NodeAffinity",
                "PodFitsPorts",
                "PodFitsResources",
                "VolumeRestrictions",
                "VolumeTopology",
                "PodTopologySpread",
                "InterPodAffinity",
                LONGHORN_FIT,
            ),
        )
    ),
    priorities=(
        ChosenPriority("TaintToleration", 3),
        ChosenPriority("LeastAllocated", 1),
        ChosenPriority("NodeAffinity", 2),
        ChosenPriority("PodTopologySpread", 2),
        ChosenPriority("InterPodAffinity", 2),
        ChosenPriority("BalancedAllocation", 1),
        ChosenPriority("VolumeBinding", 1),
        ChosenPriority("LonghornScore", 2),
    ),
)
"""What kube-scheduler does today, with its default profile and our extender: the weights are those
of kubernetes 1.37 pkg/scheduler/apis/config/v1/default_plugins.go, and of the extender in the
configuration that `scheduler-config` prints. VolumeBinding counts where it does in the cluster."""
