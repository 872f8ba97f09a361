"""Which pod `filter` is asked about: one of the cluster by its name, or one in a file."""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from pathlib import Path

from msgspec import structs

from app.errors import BrokenObjectError, InputError
from app.kube.resource import Kinds
from cli.documents import in_namespace
from cli.kube.cluster_objects import ClusterObjects
from cli.kube.decoding import read_object
from cli.kube.pods import Pod
from cli.kube.resources import IN_FILES, PODS_VOLUMES
from cli.names import Named, without_kind
from cli.stdin import INPUT
from extender.kubernetes import Claim, PersistentVolume, StorageClass
from longhorn import Unreadable
from planner.workloads import PlannedPod, Workload, pods_of

_Other = Claim | PersistentVolume | StorageClass
_READ = ("Pod", "PersistentVolumeClaim", "PersistentVolume", "StorageClass")
_VOLUMES: Kinds = {(PODS_VOLUMES.group, PODS_VOLUMES.kind): PODS_VOLUMES}
_MOST_SUGGESTED = 3


def find_pod(name: str, namespace: str, cluster: ClusterObjects) -> Pod | None:
    """Return the pod of the cluster that is meant, None if a file is.

    Args:
        name: As for kubectl, or NAMESPACE/NAME.
        namespace: Of a name without one.
        cluster: Where it is looked for.

    Raises:
        InputError: There is none, and no file; the text names similar ones.
    """
    known = cluster.of(Pod)
    if found := known.get(name):
        return found
    plain = name if is_file(name) else without_kind(name, Named.POD)
    found = known.get(plain if "/" in plain else f"{namespace}/{plain}")
    if found is None and not is_file(name):
        raise InputError(
            f"no file and no pod of the cluster is named {name}; pods are NAMESPACE/NAME, or "
            f"pod/NAME in the namespace of --namespace, which is {namespace}"
            f"{suggestion(plain, known)}"
        )
    return found


def is_file(name: str) -> bool:
    """Say whether there is a file of a name, or it stands for stdin."""
    path = Path(name)
    try:
        return path == INPUT or path.is_file()
    except OSError:  # a name too long
        return False


def pod_of_documents(
    documents: Iterable[tuple[str, object]], namespace: str, cluster: ClusterObjects
) -> Pod:
    """Return the one pod of a file; *cluster* gets what it lacks of the claims and all else there.

    The claims of the pod's generic ephemeral volumes are made of their templates.

    Raises:
        InputError: Something of the file cannot be used.
    """
    pods, others = list[tuple[Pod, Workload]](), list[_Other]()
    for origin, given in documents:
        document = in_namespace(given, namespace)
        record = _read(origin, document, IN_FILES)
        if isinstance(record, Pod):
            made = _read(origin, document, _VOLUMES)
            assert isinstance(made, Workload)
            pods.append((record, made))
        elif isinstance(record, _Other):
            others.append(record)
    [(pod, made)] = pods
    for each in (*others, *(new for one in pods_of(made) for new in claims_to_come(one))):
        cluster.add(each)
    return pod


def claims_to_come(pod: PlannedPod) -> Iterator[Claim]:
    """Yield the claims that are made along with a pod: nothing that is not made has a uid."""
    for each in pod.claims:
        yield structs.replace(each, uid=None)


def suggestion(name: str, known: Iterable[str]) -> str:
    """Name objects that may be meant: those of this name elsewhere, else those of similar names."""
    wanted, keys = name.rpartition("/")[2], sorted(known)
    same = [key for key in keys if key.rpartition("/")[2] == wanted]
    like = (
        same
        or get_close_matches(name, keys, n=_MOST_SUGGESTED)
        or [key for key in keys if get_close_matches(wanted, [key.rpartition("/")[2]])]
    )
    return f"; is {' or '.join(like[:_MOST_SUGGESTED])} meant?" if like else ""


def _read(origin: str, document: object, kinds: Kinds) -> object:
    try:
        record = read_object(document, kinds)
    except BrokenObjectError as error:
        raise InputError(f"{origin} {error}") from error
    if isinstance(record, Unreadable) and record.kind in _READ:
        raise InputError(f"{origin}: {record.kind} {record.name} cannot be read: {record.why}")
    return record
