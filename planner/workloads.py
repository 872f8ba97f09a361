"""Workloads, and the pods and claims that their controllers make of them.

Source: kubernetes pkg/controller/statefulset/stateful_set_utils.go (names, claims and their place
among the volumes), staging/src/k8s.io/component-helpers/storage/ephemeral (claims of ephemeral
volumes).
"""

from collections.abc import Iterator, Mapping
from itertools import count, islice

import msgspec
from msgspec import structs

from extender import PodRef
from extender.kubernetes import Claim, ClaimKey
from planner.records import Pod, Toleration, Wishes

POD, STATEFUL_SET, DEPLOYMENT, REPLICA_SET, DAEMON_SET, JOB, CRON_JOB = (
    "Pod",
    "StatefulSet",
    "Deployment",
    "ReplicaSet",
    "DaemonSet",
    "Job",
    "CronJob",
)
_DAEMONS_TOLERATE = tuple(
    Toleration(key=f"node.kubernetes.io/{key}", operator="Exists", effect=effect)
    for key, effect in (
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    )
)
"""Source: kubernetes pkg/controller/daemon/util AddOrUpdateDaemonPodTolerations."""


class NewClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A claim that is not created yet, or what claims are made of."""

    namespace: str
    name: str
    """That of the claim; of a template or an ephemeral volume its own."""
    requested_bytes: int
    storage_class: str | None = None
    """None stands for the default class, "" for none."""
    persistent_volume: str | None = None
    """The one that it asks for; it counts as bound to it."""
    read_write_many: bool = False
    read_write_once_pod: bool = False


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """What makes pods; a bare pod makes itself."""

    kind: str
    namespace: str
    name: str
    replicas: int = 1
    """How many pods there are to be at one time; 0 for a DaemonSet, which has one on each node."""
    wishes: Wishes = Wishes()
    """Of each pod."""
    volumes: tuple[str | NewClaim, ...] = ()
    """Of each pod, in order: the name of a claim, or what a claim of its own is made of."""
    claim_templates: tuple[NewClaim, ...] = ()
    """Of a StatefulSet: what the claims are made of that outlive each pod."""
    first: int = 0
    """The ordinal of the first pod of a StatefulSet."""
    ordered: bool = False
    """Each pod is made only once the one before it runs."""
    deletes_claims: bool = False
    """Of a StatefulSet: the claims of pods that it has no more when it is scaled go with them."""
    owner: tuple[str, str] | None = None
    """Kind and name of its controller, as a Deployment is that of its ReplicaSets."""

    @property
    def key(self) -> str:
        """Its kind, and namespace and name joined by a slash."""
        return f"{self.kind} {self.namespace}/{self.name}"

    @property
    def own_claims(self) -> list[NewClaim]:
        """What the claims are made of that each pod has for itself."""
        return [*self.claim_templates, *self.ephemeral_claims]

    @property
    def ephemeral_claims(self) -> list[NewClaim]:
        """What those claims are made of that go when their pod does."""
        return [each for each in self.volumes if isinstance(each, NewClaim)]


class PlannedPod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod that a controller makes, and what is made along with it."""

    pod: Pod
    claims: tuple[Claim, ...]
    """Its own claims; one of a StatefulSet that exists is used as it is."""


def pods_of(
    workload: Workload, replicas: int | None = None, pods: Mapping[str, Pod] | None = None
) -> list[PlannedPod]:
    """Return the pods that the controller of *workload* makes, in the order in which it does.

    A pod's uid is its namespace and name. Pods whose real names end in chance are numbered.

    Args:
        workload: The workload. A DaemonSet gets no pods here: they depend on the nodes.
        replicas: How many there are to be, if not as many as the workload says. Copies of a bare
            pod are numbered from 1.
        pods: The pods of the cluster by namespace and name. Those of the workload are not made
            again, and no pod gets the name of another.
    """
    wanted = workload.replicas if replicas is None else replicas
    return [_pod(workload, name, index) for index, name in _names(workload, wanted, pods or {})]


def daemon_of(workload: Workload) -> PlannedPod:
    """Return a pod of a DaemonSet, as it is to be on each node."""
    made = _pod(workload, f"{workload.name}-0", 0)
    wishes = made.pod.wishes
    wishes = structs.replace(
        wishes, of_daemon_set=True, tolerations=(*wishes.tolerations, *_DAEMONS_TOLERATE)
    )
    return structs.replace(made, pod=structs.replace(made.pod, wishes=wishes))


def claim_of(new: NewClaim, name: str) -> Claim:
    """Return the claim *name* that is made of *new*.

    Its uid is namespace and name, joined by a dot: so no other claim has the same, as namespaces
    have no dots. The volume of claim shop/data-db-0 is then called pvc-shop.data-db-0.
    """
    return Claim(
        key=ClaimKey(f"{new.namespace}/{name}"),
        uid=f"{new.namespace}.{name}",
        persistent_volume=new.persistent_volume,
        storage_class=new.storage_class,
        requested_bytes=new.requested_bytes,
        read_write_many=new.read_write_many,
        read_write_once_pod=new.read_write_once_pod,
    )


def is_made_by(pod: Pod, workload: Workload) -> bool:
    """Whether the workload controls a pod, a Deployment by one of its ReplicaSets."""
    owner = pod.wishes.owner
    if pod.ref.namespace != workload.namespace or owner is None:
        return False
    if owner == (workload.kind, workload.name):
        return True
    revision = pod.wishes.labels.get("pod-template-hash", "")
    return workload.kind == DEPLOYMENT and owner == (REPLICA_SET, f"{workload.name}-{revision}")


def _names(workload: Workload, wanted: int, pods: Mapping[str, Pod]) -> Iterator[tuple[int, str]]:
    """Return the number and name of each pod to be made."""
    name, prefix = workload.name, f"{workload.namespace}/"
    if workload.kind == DAEMON_SET:
        return iter(())
    if workload.kind == STATEFUL_SET:
        numbers = range(workload.first, workload.first + wanted)
        named = [(each, f"{name}-{each}") for each in numbers]
    elif workload.kind == POD:
        named = [(each, f"{name}-{each}" if each else name) for each in range(wanted)]
    else:
        missing = max(0, wanted - sum(is_made_by(each, workload) for each in pods.values()))
        free = ((each, f"{name}-{each}") for each in count())
        return islice((each for each in free if prefix + each[1] not in pods), missing)
    return (each for each in named if prefix + each[1] not in pods)


def _pod(workload: Workload, name: str, index: int) -> PlannedPod:
    namespace, wishes = workload.namespace, workload.wishes
    own: list[Claim] = []
    keys: list[ClaimKey] = []
    for template in workload.claim_templates:
        own.append(claim_of(template, f"{template.name}-{name}"))
        keys.append(own[-1].key)
    for volume in workload.volumes:
        if isinstance(volume, NewClaim):
            own.append(claim_of(volume, f"{name}-{volume.name}"))
            keys.append(own[-1].key)
        else:
            keys.append(ClaimKey(f"{namespace}/{volume}"))
    if workload.kind != POD:
        wishes = structs.replace(wishes, owner=(workload.kind, workload.name))
    if workload.kind == STATEFUL_SET:
        labels = {
            "statefulset.kubernetes.io/pod-name": name,
            "apps.kubernetes.io/pod-index": str(index),
        }
        wishes = structs.replace(wishes, labels={**wishes.labels, **labels})
    ref = PodRef(
        namespace=namespace,
        name=name,
        uid=f"{namespace}/{name}",
        claims=tuple(dict.fromkeys(keys)),
    )
    return PlannedPod(pod=Pod(ref=ref, wishes=wishes), claims=tuple(own))
