"""What a cluster gets before its workloads are placed: claims, classes, Services, budgets."""

from collections.abc import Iterable

import msgspec
from msgspec import structs

from extender import Claim, PersistentVolume, StorageClass
from planner.cluster import Cluster
from planner.records import Budget, Service
from planner.workloads import (
    NewClaim,
    Workload,
    claim_of,
    default_class,
    with_class,
    with_classes,
)

_NOW = "9999-12-31T23:59:59Z"
"""For what the plan creates: it is younger than all that there is."""

Addition = Budget | NewClaim | PersistentVolume | Service | StorageClass
"""What workloads may need."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What a file holds."""

    objects: tuple[Workload | Addition, ...]
    """In the order of the file, at least one workload among them."""
    notes: tuple[str, ...] = ()
    """A line for each thing that is passed over."""

    @property
    def workloads(self) -> list[Workload]:
        """What is to be placed."""
        return [each for each in self.objects if isinstance(each, Workload)]

    @property
    def others(self) -> list[Addition]:
        """What workloads may need."""
        return [each for each in self.objects if not isinstance(each, Workload)]


def add_objects(wanted: Wanted, cluster: Cluster) -> tuple[list[Workload], list[str]]:
    """Add to *cluster* what it lacks of the file; what it has of the same name counts as it is.

    Claims that name no StorageClass get the default one, as the API server does it.

    Returns:
        The workloads, with the class of each of their claims, and a line for each thing that is
        not known or that a volume lacks.
    """
    for record in wanted.others:
        match record:
            case StorageClass() if cluster.get(StorageClass, record.name) is None:
                cluster.put(structs.replace(record, created=_NOW))
            case PersistentVolume() if cluster.get(PersistentVolume, record.name) is None:
                cluster.put(record)
            case Service() if record.key not in {each.key for each in cluster.services}:
                cluster.services.append(record)
            case Budget() if record.key not in {each.key for each in cluster.budgets}:
                cluster.budgets.append(record)
    classes = cluster.all(StorageClass).values()
    default = default_class(classes)
    given = [each for each in wanted.others if isinstance(each, NewClaim)]
    made = [new for each in wanted.workloads for new in each.own_claims]
    for each in given:
        claim = claim_of(with_class(each, default), each.name)
        if cluster.get(Claim, claim.key) is None:
            cluster.put(claim)
    notes = [
        f"{each.namespace}/{each.name} has no StorageClass, so that no volume is made for it; name "
        f"one, or make one the default"
        for each in [*given, *made]
        if not (with_class(each, default).storage_class or each.persistent_volume)
    ]
    if any(each.storage_class is None for each in [*given, *made]):
        notes += _unsure(classes)
    return [with_classes(each, default) for each in wanted.workloads], notes


def _unsure(classes: Iterable[StorageClass]) -> list[str]:
    defaults = sorted(each.name for each in classes if each.is_default)
    if len(defaults) <= 1 or all(each.created for each in classes if each.is_default):
        return []
    return [
        f"the StorageClasses {', '.join(defaults)} are all the default one, and when they were "
        f"created is not known; {default_class(classes)} counts, Kubernetes takes the newest"
    ]
