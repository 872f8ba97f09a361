"""What a cluster gets before its workloads are placed: claims, classes, Services, budgets."""

from collections.abc import Iterable

import msgspec
from msgspec import structs

from extender.kubernetes import Claim, PersistentVolume, StorageClass, default_class
from planner.cluster import Cluster
from planner.records import Budget, Service
from planner.workloads import NewClaim, Workload, claim_of

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
    unknown: tuple[str, ...] = ()
    """A line for each thing that may make pods which nobody here knows."""

    @property
    def workloads(self) -> list[Workload]:
        """What is to be placed."""
        return [each for each in self.objects if isinstance(each, Workload)]

    @property
    def others(self) -> list[Addition]:
        """What workloads may need."""
        return [each for each in self.objects if not isinstance(each, Workload)]


def add_objects(wanted: Wanted, cluster: Cluster) -> list[str]:
    """Add to *cluster* what it lacks of the file; what it has of the same name counts as it is.

    Returns:
        A line for each thing that is not known.
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
    given = [each for each in wanted.others if isinstance(each, NewClaim)]
    for each in given:
        claim = claim_of(each, each.name)
        if cluster.get(Claim, claim.key) is None:
            cluster.put(claim)
    made = [new for each in wanted.workloads for new in each.own_claims]
    if any(each.storage_class is None for each in [*given, *made]):
        return _unsure(cluster.all(StorageClass).values())
    return []


def _unsure(classes: Iterable[StorageClass]) -> list[str]:
    defaults = sorted(each.name for each in classes if each.is_default)
    if len(defaults) <= 1 or all(each.created for each in classes if each.is_default):
        return []
    return [
        f"the StorageClasses {', '.join(defaults)} are all the default one, and when they were "
        f"created is not known; {default_class(classes)} counts, Kubernetes takes the newest"
    ]
