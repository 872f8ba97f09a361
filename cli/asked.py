"""What `filter` is asked about: one pod, or the pods of workloads that have no node yet."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import structs

from app.errors import InputError
from cli.documents import load_documents
from cli.kube.cluster_objects import ClusterObjects
from cli.kube.pods import Pod
from cli.kube.resources import MAKERS, PODS, WRITTEN
from cli.manifests import (
    Manifest,
    check_names,
    kinds_of,
    left_out,
    makers,
    read_manifests,
    workloads_in,
)
from cli.names import Named
from cli.pods import claims_to_come, pod_of_documents, suggestion
from cli.stdin import name_of
from extender.kubernetes import (
    Claim,
    ClaimKey,
    PersistentVolume,
    PodStatus,
    StorageClass,
    class_name,
)
from longhorn import Unreadable
from planner import records
from planner.records import Wishes
from planner.workloads import (
    DAEMON_SET,
    POD,
    NewClaim,
    PlannedPod,
    Workload,
    claim_of,
    daemon_of,
    is_made_by,
    pods_of,
)

_USE = f"give a Pod, {', '.join([*MAKERS][:-1])} or {[*MAKERS][-1]}"


class Alike(msgspec.Struct, frozen=True, kw_only=True):
    """Pods that differ by their names alone."""

    first: Pod
    keys: tuple[str, ...]
    """Of all of them, by namespace and name."""
    is_made: bool
    """It is there, and waits for a node."""


class Unplaced(msgspec.Struct, frozen=True, kw_only=True):
    """A workload, and those of its pods that have no node."""

    workload: Workload
    placed: int
    """So many have one."""
    pods: tuple[Alike, ...]


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """Workloads."""

    unplaced: tuple[Unplaced, ...]
    notes: tuple[str, ...] = ()
    """What is not known, or left out."""
    file: str = ""
    """As it is given; empty if they are the cluster's."""


def workload_of_cluster(kind: Named, name: str, namespace: str, cluster: ClusterObjects) -> Asked:
    """Return a workload of the cluster by its kind and [NAMESPACE/]NAME.

    Raises:
        InputError: There is none, or it cannot be read; the text names similar ones.
    """
    key = name if "/" in name else f"{namespace}/{name}"
    known = {
        f"{each.namespace}/{each.name}": each
        for each in cluster.of(Workload).values()
        if each.kind == kind
    }
    if found := known.get(key):
        unplaced = _unplaced(found, cluster)
        return Asked(unplaced=(unplaced,), notes=tuple(_immediate([unplaced], cluster)))
    if unread := cluster.of(Unreadable).get((kind, key)):
        raise InputError(f"{kind} {key} cannot be read: {unread.why}")
    if not known:
        raise InputError(
            f"no {kind} is known, so none named {key}; give a file with it, or add to those of "
            f"the cluster what `kubectl get {MAKERS[kind].name} --all-namespaces -o json` prints"
        )
    raise InputError(
        f"no {kind} of the cluster is named {key}; give KIND/NAMESPACE/NAME, or KIND/NAME in the "
        f"namespace of --namespace, which is {namespace}{suggestion(key, known)}"
    )


def asked_in_file(path: Path, namespace: str, cluster: ClusterObjects) -> Pod | Asked:
    """Return the pod of a file that has nothing else that makes pods, or else its workloads.

    *cluster* gets what it lacks of claims, PersistentVolumes and StorageClasses.

    Args:
        path: The file; `-` is the standard input.
        namespace: Of objects without one.
        cluster: Where the pods would be.

    Raises:
        InputError: It cannot be read, something of it cannot be used, or no pod would be made.
    """
    documents = load_documents(path)
    if [*_kinds_with_pods(documents)] == [PODS.kind]:
        return pod_of_documents(documents, namespace, cluster)
    given = read_manifests(documents, namespace, WRITTEN)
    check_names(given, _kind)
    found = workloads_in(given)
    if not found:
        raise InputError(
            f"{name_of(path)} holds no pod and no workload (it has {kinds_of(given)}); {_USE}"
        )
    for each in given:
        if isinstance(each.record, NewClaim):
            cluster.add(structs.replace(claim_of(each.record, each.record.name), uid=None))
        elif isinstance(each.record, PersistentVolume | StorageClass):
            cluster.add(each.record)
    unplaced = tuple(_unplaced(each, cluster) for each in found)
    return Asked(
        unplaced=unplaced,
        notes=(
            *left_out(given),
            *(f"not judged: pods that {each} may make" for each in makers(given)),
            *_immediate(unplaced, cluster),
        ),
        file=str(path),
    )


def _kinds_with_pods(documents: Iterable[tuple[str, object]]) -> Iterator[object]:
    for _, each in documents:
        kind = each.get("kind") if isinstance(each, dict) else None
        if kind in (PODS.kind, *MAKERS):
            yield kind


def _kind(given: Manifest) -> str:
    return given.kind


def _unplaced(workload: Workload, cluster: ClusterObjects) -> Unplaced:
    """Return the pods of a workload that wait or are missing; *cluster* gets claims of these.

    Those that are missing are alike if none of their claims is there: so only the claims of the
    first are added.
    """
    known = {key: each for key, each in cluster.of(Pod).items() if not each.status.ended}
    there = {key: _planned(each) for key, each in known.items()}
    own = [known[key] for key, each in there.items() if _is_own(each, workload)]
    waiting = [each for each in own if each.status.waits]
    groups: dict[tuple[ClaimKey, ...], list[PlannedPod]] = {}
    for made in _missing(workload, there):
        has = tuple(each.key for each in made.claims if each.key in cluster.of(Claim))
        groups.setdefault(has, []).append(made)
    for first, *_ in groups.values():
        for claim in claims_to_come(first):
            cluster.add(claim)
    return Unplaced(
        workload=workload,
        placed=len(own) - len(waiting),
        pods=(
            *(Alike(first=each, keys=(each.key,), is_made=True) for each in waiting),
            *(
                Alike(
                    first=_asked(made[0], workload),
                    keys=tuple(each.pod.key for each in made),
                    is_made=False,
                )
                for made in groups.values()
            ),
        ),
    )


def _missing(workload: Workload, there: dict[str, records.Pod]) -> Sequence[PlannedPod]:
    """Return the pods that are to be made; of a DaemonSet one, if it has none."""
    if workload.kind != DAEMON_SET:
        return pods_of(workload, pods=there)
    has_some = any(is_made_by(each, workload) for each in there.values())
    return [] if has_some else [daemon_of(workload)]


def _is_own(pod: records.Pod, workload: Workload) -> bool:
    is_itself = workload.kind == POD and pod.key == f"{workload.namespace}/{workload.name}"
    return is_itself or is_made_by(pod, workload)


def _planned(pod: Pod) -> records.Pod:
    return records.Pod(ref=pod.ref, wishes=pod.wishes or Wishes(), node=pod.status.node)


def _asked(made: PlannedPod, workload: Workload) -> Pod:
    """Return a pod that is not made yet, and so has no uid."""
    pod = made.pod
    own = {f"{pod.key}-{each.name}" for each in workload.ephemeral_claims}
    return Pod(
        ref=structs.replace(pod.ref, uid=""),
        status=PodStatus(),
        wishes=pod.wishes,
        ephemeral=tuple(key for key in pod.ref.claims if key in own),
    )


def _immediate(unplaced: Iterable[Unplaced], cluster: ClusterObjects) -> Iterator[str]:
    """Say of which classes volumes are made before kube-scheduler looks at their pods."""
    classes = cluster.of(StorageClass)
    asked = {
        class_name(claim.storage_class, classes)
        for each in unplaced
        if not all(pods.is_made for pods in each.pods)
        for claim in each.workload.own_claims
    }
    for name in sorted(asked & classes.keys()):
        if classes[name].is_immediate:
            yield (
                f"StorageClass {name} has volumeBindingMode: Immediate: Longhorn places its "
                f"volumes before their pods, which go where these are; `plan` shows that"
            )
