"""From the fields of workloads to records. What the API server would refuse raises ValueError.

Source: kubernetes pkg/apis/apps/validation, pkg/apis/batch/validation and pkg/apis/core/validation,
and the defaults.go of each group for what is absent. Judged is what plans read.
"""

from collections.abc import Iterable

import msgspec
from msgspec import structs

from app.kube import objects
from app.quantity import parse_bytes
from cli.kube.placement import Owner, owner_of
from cli.kube.planned_pods import (
    PlannedMetadata,
    PlannedPod,
    PlannedPodSpec,
    PodVolume,
    planned_wishes,
)
from longhorn import NodeName
from planner.records import Wishes
from planner.workloads import (
    CRON_JOB,
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    POD,
    REPLICA_SET,
    STATEFUL_SET,
    NewClaim,
    Workload,
)

MOST_PODS = 150_000
"""Of one workload: Kubernetes is made for as many in a cluster (its "Considerations for large
clusters")."""

_ONCE_POD = "ReadWriteOncePod"
_ACCESS_MODES = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", _ONCE_POD)
_POLICIES = ("", "OrderedReady", "Parallel")
_OF_NO_SCHEDULER = "nodeName (neither kube-scheduler nor the extender is asked about such a pod)"
_TOO_LARGE_BYTES = 2**63 - 1


class WorkloadMetadata(objects.Metadata, frozen=True, rename="camel"):
    owner_references: list[Owner] | None = None


class TemplateMetadata(objects.KubeStruct, frozen=True):
    labels: dict[str, objects.Text] | None = None


class PodTemplate(objects.KubeStruct, frozen=True):
    metadata: TemplateMetadata | None = None
    spec: PlannedPodSpec | None = None


class WorkloadSpec(objects.KubeStruct, frozen=True):
    """Of a Deployment, a ReplicaSet, and as far as it goes of a DaemonSet."""

    replicas: objects.Integer | None = None
    template: PodTemplate | None = None


class WorkloadObject(objects.KubeStruct, frozen=True):
    metadata: WorkloadMetadata
    spec: WorkloadSpec | None = None


class Ordinals(objects.KubeStruct, frozen=True):
    start: objects.Integer | None = None


class ClaimRetention(objects.KubeStruct, frozen=True, rename="camel"):
    when_scaled: objects.Text = None


class StatefulSetSpec(WorkloadSpec, frozen=True, rename="camel"):
    volume_claim_templates: list[objects.PersistentVolumeClaim] | None = None
    pod_management_policy: objects.Text = None
    ordinals: Ordinals | None = None
    claim_retention: ClaimRetention | None = msgspec.field(
        default=None, name="persistentVolumeClaimRetentionPolicy"
    )


class StatefulSet(WorkloadObject, frozen=True, rename="camel"):
    spec: StatefulSetSpec | None = None


class JobSpec(objects.KubeStruct, frozen=True):
    parallelism: objects.Integer | None = None
    completions: objects.Integer | None = None
    suspend: bool | None = None
    template: PodTemplate | None = None


class JobStatus(objects.KubeStruct, frozen=True):
    succeeded: objects.Integer | None = None
    conditions: list[objects.Condition] | None = None


class Job(objects.KubeStruct, frozen=True):
    metadata: WorkloadMetadata
    spec: JobSpec | None = None
    status: JobStatus | None = None


class JobTemplate(objects.KubeStruct, frozen=True):
    spec: JobSpec | None = None


class CronJobSpec(objects.KubeStruct, frozen=True, rename="camel"):
    job_template: JobTemplate | None = None
    suspend: bool | None = None


class CronJob(objects.KubeStruct, frozen=True):
    metadata: WorkloadMetadata
    spec: CronJobSpec | None = None


def stateful_set_record(given: StatefulSet) -> Workload:
    """Translate a StatefulSet."""
    spec = given.spec or StatefulSetSpec()
    policy = spec.pod_management_policy or ""
    if policy not in _POLICIES:
        raise ValueError(
            f"spec.podManagementPolicy is {policy[:60]!r}; use OrderedReady or Parallel"
        )
    workload = _workload(STATEFUL_SET, given.metadata, spec.template)
    templates = [
        _new_claim(each.metadata.name, workload.namespace, each.spec, f"claim template {at}")
        for at, each in enumerate(spec.volume_claim_templates or ())
    ]
    names = {each.name for each in templates}
    if len(names) < len(templates):
        raise ValueError("two of spec.volumeClaimTemplates have one name; rename one")
    kept = [each for each in _pod_spec(spec.template).volumes or () if each.name not in names]
    return structs.replace(
        workload,
        replicas=_pods("spec.replicas", spec.replicas),
        volumes=_volumes(kept, workload.namespace),
        claim_templates=tuple(templates),
        first=_number("spec.ordinals.start", spec.ordinals.start if spec.ordinals else None, 0),
        ordered=policy != "Parallel",
        deletes_claims=_deletes_claims(spec.claim_retention),
    )


def _deletes_claims(given: ClaimRetention | None) -> bool:
    policy = (given.when_scaled if given else None) or "Retain"
    if policy not in ("Retain", "Delete"):
        raise ValueError(
            f"spec.persistentVolumeClaimRetentionPolicy.whenScaled is {policy[:60]!r}; use Retain "
            f"or Delete"
        )
    return policy == "Delete"


def deployment_record(given: WorkloadObject) -> Workload:
    """Translate a Deployment."""
    return _replicated(DEPLOYMENT, given)


def replica_set_record(given: WorkloadObject) -> Workload:
    """Translate a ReplicaSet."""
    return _replicated(REPLICA_SET, given)


def daemon_set_record(given: WorkloadObject) -> Workload:
    """Translate a DaemonSet."""
    template = given.spec.template if given.spec else None
    return structs.replace(_workload(DAEMON_SET, given.metadata, template), replicas=0)


def job_record(given: Job) -> Workload:
    """Translate a Job: of its pods those that run at one time, none while it is suspended.

    Source: kubernetes pkg/controller/job/job_controller.go manageJob. Without completions, the Job
    makes no more pods once one has succeeded.
    """
    spec, status = given.spec or JobSpec(), given.status or JobStatus()
    workload = _workload(JOB, given.metadata, spec.template)
    replicas, succeeded = _pods("spec.parallelism", spec.parallelism), status.succeeded or 0
    if spec.completions is not None:
        completions = _number("spec.completions", spec.completions, 0)
        replicas = min(replicas, max(0, completions - succeeded))
    elif succeeded:
        replicas = 0
    wishes, name = workload.wishes, workload.name
    labels = {**wishes.labels, "job-name": name, "batch.kubernetes.io/job-name": name}
    return structs.replace(
        workload,
        replicas=0 if spec.suspend or _has_ended(status) else replicas,
        wishes=structs.replace(wishes, labels=labels),
    )


def _has_ended(status: JobStatus) -> bool:
    return any(
        each.type in ("Complete", "Failed") and each.status == "True"
        for each in status.conditions or ()
    )


def cron_job_record(given: CronJob) -> Workload:
    """Translate a CronJob: the pods of the Job that it makes next, none while it is suspended."""
    spec = given.spec or CronJobSpec()
    template = spec.job_template or JobTemplate()
    job = job_record(Job(metadata=given.metadata, spec=template.spec))
    return structs.replace(job, kind=CRON_JOB, replicas=0 if spec.suspend else job.replicas)


def bare_pod_record(pod: PlannedPod) -> Workload:
    """Translate a pod of a file that is to be placed."""
    wishes, spec = planned_wishes(pod), _checked(pod.spec, "spec")
    return structs.replace(
        pod_volumes_record(pod), wishes=_as_new(wishes, spec), owner=wishes.owner
    )


def pod_volumes_record(pod: PlannedPod) -> Workload:
    """Translate what a pod of a file has of volumes, and nothing else."""
    namespace, spec = pod.metadata.namespace or "default", pod.spec or PlannedPodSpec()
    return Workload(
        kind=POD,
        namespace=namespace,
        name=pod.metadata.name,
        volumes=_volumes(spec.volumes or (), namespace),
    )


def new_claim_record(claim: objects.PersistentVolumeClaim) -> NewClaim:
    """Translate a PersistentVolumeClaim that is to be created."""
    metadata = claim.metadata
    return _new_claim(metadata.name, metadata.namespace or "default", claim.spec, "it")


def _replicated(kind: str, given: WorkloadObject) -> Workload:
    spec = given.spec or WorkloadSpec()
    workload = _workload(kind, given.metadata, spec.template)
    return structs.replace(workload, replicas=_pods("spec.replicas", spec.replicas))


def _workload(kind: str, metadata: WorkloadMetadata, template: PodTemplate | None) -> Workload:
    """Translate what all kinds of workloads have in common."""
    spec, namespace = _pod_spec(template), metadata.namespace or "default"
    labels = template.metadata.labels if template and template.metadata else None
    pod = PlannedPod(
        metadata=PlannedMetadata(name=metadata.name, namespace=namespace, labels=labels), spec=spec
    )
    return Workload(
        kind=kind,
        namespace=namespace,
        name=metadata.name,
        wishes=_as_new(planned_wishes(pod), spec),
        volumes=_volumes(spec.volumes or (), namespace),
        owner=owner_of(metadata.owner_references),
    )


def _as_new(wishes: Wishes, spec: PlannedPodSpec) -> Wishes:
    """Return the wishes of a pod that does not exist yet."""
    node = NodeName(spec.node_name) if spec.node_name else None
    unplanned = wishes.unplanned if node is None else (*wishes.unplanned, _OF_NO_SCHEDULER)
    return structs.replace(
        wishes,
        node_name=node,
        unplanned=unplanned,
        owner=None,
        is_static=False,
        phase="",
        deleting=False,
    )


def _pod_spec(template: PodTemplate | None) -> PlannedPodSpec:
    if template is None:
        raise ValueError("it has no spec.template; say there what its pods are")
    return _checked(template.spec, "spec.template.spec")


def _checked(spec: PlannedPodSpec | None, place: str) -> PlannedPodSpec:
    if spec is None or not spec.containers:
        raise ValueError(f"{place}.containers is empty; name at least one container")
    return spec


def _volumes(volumes: Iterable[PodVolume], namespace: str) -> tuple[str | NewClaim, ...]:
    found: list[str | NewClaim] = []
    for each in volumes:
        place = f"volume {each.name or ''}".strip()
        if each.persistent_volume_claim is not None:
            if not each.persistent_volume_claim.claim_name:
                raise ValueError(f"{place} names no claim; give its claimName")
            found.append(each.persistent_volume_claim.claim_name)
        elif each.ephemeral is not None:
            template = each.ephemeral.volume_claim_template
            if template is None or not each.name:
                raise ValueError(f"ephemeral {place} needs a name and a volumeClaimTemplate")
            found.append(_new_claim(each.name, namespace, template.spec, place))
    return tuple(found)


def _new_claim(name: str, namespace: str, given: objects.ClaimSpec | None, place: str) -> NewClaim:
    spec = given or objects.ClaimSpec()
    modes = spec.access_modes or []
    if not modes or set(modes) - {*_ACCESS_MODES} or (_ONCE_POD in modes and len(modes) > 1):
        raise ValueError(
            f"{place} has accessModes {modes}; use {', '.join(_ACCESS_MODES)}, the last one alone"
        )
    storage = spec.resources.requests if spec.resources else None
    if storage is None or storage.storage is None:
        raise ValueError(f"{place} has no resources.requests.storage; say how much it asks for")
    requested_bytes = parse_bytes(str(storage.storage))
    if not 0 < requested_bytes < _TOO_LARGE_BYTES:
        raise ValueError(
            f"{place} asks for {str(storage.storage)[:60]}; ask for more than 0 and less than 8Ei"
        )
    return NewClaim(
        namespace=namespace,
        name=name,
        requested_bytes=requested_bytes,
        storage_class=spec.storage_class_name,
        persistent_volume=spec.volume_name or None,
        read_write_many="ReadWriteMany" in modes,
        read_write_once_pod=_ONCE_POD in modes,
    )


def _pods(field: str, given: int | None) -> int:
    pods = _number(field, given, 1)
    if pods > MOST_PODS:
        raise ValueError(f"{field} is {pods}; plans place {MOST_PODS} pods at most")
    return pods


def _number(field: str, given: int | None, default: int) -> int:
    if given is not None and given < 0:
        raise ValueError(f"{field} is {given}; use 0 or more")
    return default if given is None else given
