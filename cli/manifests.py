"""Manifests as people and `helm template` write them: workloads, and what these need."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from app.errors import BrokenObjectError, InputError
from app.kube.resource import Kinds
from cli.documents import in_namespace
from cli.kube.decoding import read_object
from extender.kubernetes import PersistentVolume, StorageClass
from longhorn import Unreadable
from planner.additions import Addition
from planner.naming import first_of
from planner.workloads import Workload

_MAKE_PODS = frozenset({"CronJob", "ReplicationController"})
"""Of Kubernetes' own kinds that may not be read."""
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
_HOOK, _TESTS = "helm.sh/hook", frozenset({"test", "test-success", "test-failure"})


class Manifest(NamedTuple):
    """One object."""

    origin: str
    api_version: str
    kind: str
    name: str
    record: Addition | Workload | None
    """None if it is of no kind that is read."""
    is_helm_test: bool
    """Only `helm test` makes it."""


def read_manifests(
    documents: Iterable[tuple[str, object]], namespace: str, kinds: Kinds
) -> list[Manifest]:
    """Read objects, each with where it comes from; *namespace* is of those that name none.

    Raises:
        InputError: One of them cannot be used.
    """
    return [_read(origin, each, namespace, kinds) for origin, each in documents]


def check_names(given: Iterable[Manifest], kind_of: Callable[[Manifest], str]) -> None:
    """Refuse two objects of one name and kind.

    Raises:
        InputError: There are two; the text says where the second is.
    """
    seen = set[tuple[str, str]]()
    for each in given:
        if each.record is None or each.is_helm_test:
            continue
        key = kind_of(each), _key(each.record)
        if key in seen:
            raise InputError(
                f"{each.origin} is the second {key[0]} named {key[1]}; rename or remove one"
            )
        seen.add(key)


def workloads_in(given: Iterable[Manifest]) -> list[Workload]:
    """Return the workloads, but for those that another one makes, and Helm's tests."""
    found = [
        each.record for each in given if isinstance(each.record, Workload) and not each.is_helm_test
    ]
    return [each for each in found if not _is_made(each, found)]


def left_out(given: Iterable[Manifest]) -> list[str]:
    """Say which workloads are left out, in one line at most."""
    tests = [
        each.record.key for each in given if isinstance(each.record, Workload) and each.is_helm_test
    ]
    return [f"left out, as only `helm test` makes it: {first_of(tests, 3)}"] if tests else []


def makers(given: Iterable[Manifest]) -> list[str]:
    """Return what may make pods that nobody here knows, such as what an operator reads."""
    return [f"{each.kind}/{each.name} of {each.api_version}" for each in given if _may_make(each)]


def kinds_of(given: Sequence[Manifest]) -> str:
    """Name the kinds of objects that there are."""
    return ", ".join(sorted({each.kind for each in given})) or "no object"


def _read(origin: str, document: object, namespace: str, kinds: Kinds) -> Manifest:
    try:
        record = read_object(in_namespace(document, namespace), kinds)
    except BrokenObjectError as error:
        raise InputError(f"{origin} {error}; correct it") from error
    if isinstance(record, Unreadable):
        raise InputError(f"{origin}: correct {record.kind} {record.name}: {record.why}")
    assert isinstance(document, dict)
    assert record is None or isinstance(record, Addition | Workload)
    metadata = document.get("metadata")  # whatever it is, of a kind that is not read
    metadata = metadata if isinstance(metadata, dict) else {}
    name, annotations = metadata.get("name"), metadata.get("annotations")
    hooks = annotations.get(_HOOK) if isinstance(annotations, dict) else None
    return Manifest(
        origin=origin,
        api_version=document["apiVersion"],
        kind=document["kind"],
        name=name if isinstance(name, str) else "",
        record=record,
        is_helm_test=isinstance(hooks, str)
        and {each.strip() for each in hooks.split(",")} <= _TESTS,
    )


def _may_make(given: Manifest) -> bool:
    group, slash, _ = given.api_version.partition("/")
    if given.record is not None:
        return False
    if not slash or "." not in group or group.endswith(".k8s.io"):
        return given.kind in _MAKE_PODS
    return given.kind not in _MAKE_NONE


def _key(record: Addition | Workload) -> str:
    if isinstance(record, PersistentVolume | StorageClass):
        return record.name
    return f"{record.namespace}/{record.name}"


def _is_made(workload: Workload, found: Iterable[Workload]) -> bool:
    return any(
        (each.kind, each.name) == workload.owner and each.namespace == workload.namespace
        for each in found
    )
