"""What a file asks a plan to place: its workloads, and what else the cluster lacks of it."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import structs

from app.cli.files import load_documents
from app.errors import BrokenObjectError, InputError
from app.kube.records import read_object
from app.kube.resources import PLACED
from extender import Claim, PersistentVolume, StorageClass, Unreadable
from planner.cluster import Cluster
from planner.records import Budget, Service
from planner.workloads import (
    DAEMON_SET,
    NewClaim,
    Workload,
    claim_of,
    default_class,
    with_class,
    with_classes,
)

_NOW = "9999-12-31T23:59:59Z"
"""For what the plan creates: it is younger than all that there is."""
_USE = "give a StatefulSet, Deployment, ReplicaSet, Job or Pod"


Addition = Budget | NewClaim | PersistentVolume | Service | StorageClass
"""What workloads may need."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What a file holds."""

    workloads: tuple[Workload, ...]
    """To be placed, at least one, in the order of the file."""
    others: tuple[Addition, ...]
    notes: tuple[str, ...]
    """A line for each thing that is passed over."""


def read_workloads(path: Path, namespace: str) -> Wanted:
    """Read what is to be placed from a YAML or JSON file.

    Pods and ReplicaSets whose controller is in the file too are left out: it makes them.

    Args:
        path: The file, with one or more objects, or lists of them.
        namespace: Of objects that name none.

    Raises:
        InputError: It cannot be read or parsed, some object of it cannot be used, two have one
            name, or there is no workload among them.
    """
    read = [_read(origin, each, namespace) for origin, each in load_documents(path)]
    _check_names(read)
    known = [each.record for each in read if each.record is not None]
    found = [each for each in known if isinstance(each, Workload)]
    placed = [each for each in found if each.kind != DAEMON_SET and not _is_made(each, found)]
    if not placed:
        kinds = ", ".join(sorted({each.kind for each in read})) or "no object"
        raise InputError(f"{path} holds no workload to place (it has {kinds}); {_USE}")
    notes = [
        f"{each.key} is not placed: it has a pod on each node"
        for each in found
        if each.kind == DAEMON_SET
    ]
    passed_over = ", ".join(sorted({each.kind for each in read if each.record is None}))
    if passed_over:
        notes.append(f"{path}: passed over are {passed_over}; what they make is not placed")
    return Wanted(
        workloads=tuple(placed),
        others=tuple(each for each in known if not isinstance(each, Workload)),
        notes=tuple(notes),
    )


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
    made = [new for each in wanted.workloads for new in _claims(each)]
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


class _Read(NamedTuple):
    """An object of the file."""

    origin: str
    kind: str
    record: Addition | Workload | None
    """None if plans do not add such objects."""


def _read(origin: str, document: object, namespace: str) -> _Read:
    try:
        record = read_object(_in_namespace(document, namespace), PLACED)
    except BrokenObjectError as error:
        raise InputError(f"{origin} {error}; correct it") from error
    if isinstance(record, Unreadable):
        raise InputError(f"{origin}: correct {record.kind} {record.name}: {record.why}")
    assert isinstance(document, dict)
    assert record is None or isinstance(record, Addition | Workload)
    return _Read(origin, document["kind"], record)


def _in_namespace(document: object, namespace: str) -> object:
    metadata = document.get("metadata") if isinstance(document, dict) else None
    if (
        not isinstance(document, dict)
        or not isinstance(metadata, dict)
        or metadata.get("namespace")
    ):
        return document
    return {**document, "metadata": {**metadata, "namespace": namespace}}


def _check_names(read: Iterable[_Read]) -> None:
    """Refuse two objects of one name. Pods are named after their workload, of whatever kind."""
    seen = set[tuple[str, str]]()
    for origin, kind, record in read:
        if record is None:
            continue
        name = _name(record)
        key = ("workload" if isinstance(record, Workload) else kind, name)
        if key in seen:
            raise InputError(f"{origin} is the second {key[0]} named {name}; rename or remove one")
        seen.add(key)


def _name(record: Addition | Workload) -> str:
    if isinstance(record, PersistentVolume | StorageClass):
        return record.name
    return f"{record.namespace}/{record.name}"


def _is_made(workload: Workload, found: Iterable[Workload]) -> bool:
    return any(
        (each.kind, each.name) == workload.owner and each.namespace == workload.namespace
        for each in found
    )


def _claims(workload: Workload) -> list[NewClaim]:
    """Return what the claims of a workload are made of."""
    own = (each for each in workload.volumes if isinstance(each, NewClaim))
    return [*workload.claim_templates, *own]


def _unsure(classes: Iterable[StorageClass]) -> list[str]:
    defaults = sorted(each.name for each in classes if each.is_default)
    if len(defaults) <= 1 or all(each.created for each in classes if each.is_default):
        return []
    return [
        f"the StorageClasses {', '.join(defaults)} are all the default one, and when they were "
        f"created is not known; {default_class(classes)} counts, Kubernetes takes the newest"
    ]
