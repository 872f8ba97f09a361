"""What a file asks a plan to place: its workloads, and what else the cluster lacks of it."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from app.errors import BrokenObjectError, InputError
from cli.documents import in_namespace, load_documents
from cli.kube.decoding import read_object
from cli.kube.resources import PLACED
from cli.stdin import name_of
from extender.kubernetes import PersistentVolume, StorageClass
from longhorn import Unreadable
from planner.additions import Addition, Wanted
from planner.steps.workloads import MOST_PODS, Fill, PlaceWorkloads
from planner.workloads import (
    DAEMON_SET,
    Workload,
)

_MAKE_PODS = frozenset({"CronJob", "ReplicationController"})
"""Of Kubernetes' own kinds that are not placed."""
_MAKE_NONE = frozenset(
    {
        "Certificate",
        "ClusterIssuer",
        "ExternalSecret",
        "Issuer",
        "PodMonitor",
        "Probe",
        "PrometheusRule",
        "SealedSecret",
        "ServiceMonitor",
    }
)
"""Of others' kinds that many charts have."""
_USE = "give a StatefulSet, Deployment, ReplicaSet, Job or Pod"


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
    left_out = [each for each in found if each.kind == DAEMON_SET or _is_made(each, found)]
    if len(left_out) == len(found):
        kinds = ", ".join(sorted({each.kind for each in read})) or "no object"
        raise InputError(f"{name_of(path)} holds no workload to place (it has {kinds}); {_USE}")
    notes = [
        f"{each.key} is not placed: it has a pod on each node"
        for each in found
        if each.kind == DAEMON_SET
    ]
    return Wanted(
        objects=tuple(each for each in known if each not in left_out),
        notes=tuple(notes),
        unknown=tuple(
            f"not planned: pods that {each.kind}/{each.name} of {each.api_version} may make"
            for each in read
            if _may_make_pods(each)
        ),
    )


class _Read(NamedTuple):
    """An object of the file."""

    origin: str
    api_version: str
    kind: str
    name: str
    record: Addition | Workload | None
    """None if plans do not add such objects."""


def _read(origin: str, document: object, namespace: str) -> _Read:
    try:
        record = read_object(in_namespace(document, namespace), PLACED)
    except BrokenObjectError as error:
        raise InputError(f"{origin} {error}; correct it") from error
    if isinstance(record, Unreadable):
        raise InputError(f"{origin}: correct {record.kind} {record.name}: {record.why}")
    assert isinstance(document, dict)
    assert record is None or isinstance(record, Addition | Workload)
    metadata = document.get("metadata")  # whatever it is, of a kind that is not placed
    name = metadata.get("name") if isinstance(metadata, dict) else None
    named = name if isinstance(name, str) else ""
    return _Read(origin, document["apiVersion"], document["kind"], named, record)


def _may_make_pods(read: _Read) -> bool:
    """Whether something may make pods of an object that is not placed, such as an operator."""
    group, slash, _ = read.api_version.partition("/")
    if read.record is not None:
        return False
    if not slash or "." not in group or group.endswith(".k8s.io"):
        return read.kind in _MAKE_PODS
    return read.kind not in _MAKE_NONE


def _check_names(read: Iterable[_Read]) -> None:
    """Refuse two objects of one name. Pods are named after their workload, of whatever kind."""
    seen = set[tuple[str, str]]()
    for each in read:
        if each.record is None:
            continue
        name = _name(each.record)
        key = ("workload" if isinstance(each.record, Workload) else each.kind, name)
        if key in seen:
            raise InputError(
                f"{each.origin} is the second {key[0]} named {name}; rename or remove one"
            )
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


def place_step(path: Path, replicas: int | None, namespace: str) -> PlaceWorkloads:
    """Make the step that places what a file holds; *namespace* is that of objects without one.

    Raises:
        InputError: As `read_workloads` does.
    """
    return PlaceWorkloads(wanted=read_workloads(path, namespace), replicas=replicas)


def fill_step(path: Path, most: int | None, group: int, namespace: str) -> Fill:
    """Make the step that places pods of the workload of a file until one does not fit.

    *namespace* is that of objects without one.

    Raises:
        InputError: As `read_workloads` does.
    """
    wanted = read_workloads(path, namespace)
    return Fill(wanted=wanted, group=group, most=most or MOST_PODS)
