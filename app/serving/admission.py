"""AdmissionReview v1, as the API server speaks it to webhooks that may change a new pod.

Source: kubernetes staging/src/k8s.io/api/admission/v1/types.go; RFC 6902 for the patch.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from app.config import RESOURCE
from app.errors import BadRequestError
from app.kube.objects import KubeStruct, PodClaimSource, Text
from app.serving.body import Content
from app.serving.names import check_beginning, check_label, check_name, check_uid
from extender.demand import Injection
from extender.kubernetes import ClaimKey, ClaimTemplate, NewPod

API_VERSION, KIND = "admission.k8s.io/v1", "AdmissionReview"
OPT_OUT_LABEL, OPTED_OUT = "longhorn-scheduler-extender/injection", "disabled"
_AMOUNT = "1"
_FIRST = "/spec/containers/0/resources"


class Owner(KubeStruct, frozen=True):
    kind: Text = None
    controller: bool | None = None


class PodMetadata(KubeStruct, frozen=True):
    """Of a pod that may get its name only later."""

    name: Text = None
    generate_name: Text = None
    labels: dict[str, Text] | None = None
    owner_references: list[Owner] | None = None


class Resources(KubeStruct, frozen=True):
    limits: dict[str, Raw] | None = None
    requests: dict[str, Raw] | None = None


class Container(KubeStruct, frozen=True):
    resources: Resources | None = None


class ClaimTemplateSpec(KubeStruct, frozen=True):
    volume_name: Text = None
    storage_class_name: Text = None


class VolumeClaimTemplate(KubeStruct, frozen=True):
    spec: ClaimTemplateSpec | None = None


class EphemeralSource(KubeStruct, frozen=True):
    volume_claim_template: VolumeClaimTemplate | None = None


class Volume(KubeStruct, frozen=True):
    persistent_volume_claim: PodClaimSource | None = None
    ephemeral: EphemeralSource | None = None


class PodSpec(KubeStruct, frozen=True):
    volumes: list[Volume] | None = None
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    node_name: Text = None
    scheduler_name: Text = None


class Pod(KubeStruct, frozen=True):
    metadata: PodMetadata | None = None
    spec: PodSpec | None = None


class GroupVersionResource(KubeStruct, frozen=True):
    group: Text = None
    version: Text = None
    resource: Text = None


class AdmissionRequest(KubeStruct, frozen=True):
    """What is to be admitted; the answer has its uid."""

    uid: Annotated[str, Meta(min_length=1)]
    resource: GroupVersionResource | None = None
    sub_resource: Text = None
    operation: Text = None
    namespace: Text = None
    new: Raw = msgspec.field(default=Raw(b"null"), name="object")


class AdmissionReview(KubeStruct, frozen=True):
    api_version: Text = None
    kind: Text = None
    request: AdmissionRequest | None = None


class AdmissionResponse(KubeStruct, frozen=True, kw_only=True):
    """It always allows: to refuse pods is not what this webhook is for."""

    uid: str
    allowed: bool = True
    patch_type: str | UnsetType = UNSET
    patch: bytes | UnsetType = UNSET
    """Encoded in base64."""
    warnings: Sequence[str] | UnsetType = UNSET
    """kubectl prints them; a controller logs them."""


class AdmissionAnswer(KubeStruct, frozen=True, kw_only=True):
    api_version: str = API_VERSION
    kind: str = KIND
    response: AdmissionResponse


class Operation(msgspec.Struct, frozen=True):
    """One operation of a patch; it also replaces what is at *path*."""

    path: str
    value: object
    op: str = "add"


class Review(msgspec.Struct, frozen=True):
    """A decoded review of a new pod, or of what is no new pod."""

    uid: str
    namespace: str
    pod: Pod | None
    """None for any other object, operation or subresource, and for a pod without containers."""

    @property
    def name(self) -> str:
        """Namespace and name of the pod, as it is logged; what its name will begin with."""
        metadata = (self.pod.metadata if self.pod else None) or PodMetadata()
        return f"{self.namespace}/{metadata.name or metadata.generate_name or ''}"


_review_decoder = msgspec.json.Decoder(AdmissionReview)
_pod_decoder = msgspec.json.Decoder(Pod | None)
_UNDECODABLE = (msgspec.MsgspecError, RecursionError)


def decode_review(body: Content) -> Review:
    """Decode the body of a call, which is UTF-8.

    Raises:
        BadRequestError: It is not JSON of the right shape, nothing can be answered to it, or it has
            a name that Kubernetes would not accept.
    """
    if not len(body):
        raise BadRequestError("the body is empty")
    try:
        review = _review_decoder.decode(body)
    except _UNDECODABLE as error:
        raise BadRequestError(f"the review cannot be decoded: {error}") from error
    if (review.api_version, review.kind) != (API_VERSION, KIND):
        raise BadRequestError(
            f"the body is no {KIND} of {API_VERSION}; "
            f"name that version in admissionReviewVersions of the webhook's configuration"
        )
    if review.request is None:
        raise BadRequestError(f"the {KIND} has no request")
    request = review.request
    check_uid("request.uid", request.uid)
    if request.namespace:
        check_label("request.namespace", request.namespace)
    pod = _decode_pod(request.new) if _is_new_pod(request) else None
    if pod is not None and not (pod.spec and pod.spec.containers):
        pod = None
    if pod is not None and pod.metadata is not None:
        _check_names(pod.metadata)
    return Review(uid=request.uid, namespace=request.namespace or "default", pod=pod)


def _check_names(metadata: PodMetadata) -> None:
    """Refuse names that the API server is about to refuse.

    It asks before it looks at them. Claims may have any name in a pod: they are only looked up.
    """
    if metadata.name:
        check_name("request.object.metadata.name", metadata.name)
    if metadata.generate_name:
        check_beginning("request.object.metadata.generateName", metadata.generate_name)


def _is_new_pod(request: AdmissionRequest) -> bool:
    return (
        request.operation == "CREATE"
        and request.resource == GroupVersionResource("", "v1", "pods")
        and not request.sub_resource
    )


def _decode_pod(new: Raw) -> Pod | None:
    try:
        pod: Pod | None = _pod_decoder.decode(new)
    except _UNDECODABLE as error:
        text = f"the review cannot be decoded: {error} in `request.object`"
        raise BadRequestError(text) from error
    return pod


def new_pod(pod: Pod, namespace: str) -> NewPod:
    """Translate a pod that is about to be created in *namespace*."""
    spec, metadata = pod.spec or PodSpec(), pod.metadata or PodMetadata()
    volumes = spec.volumes or ()
    return NewPod(
        claims=tuple(
            ClaimKey(f"{namespace}/{volume.persistent_volume_claim.claim_name or ''}")
            for volume in volumes
            if volume.persistent_volume_claim is not None
        ),
        templates=tuple(
            _claim_template(volume.ephemeral) for volume in volumes if volume.ephemeral is not None
        ),
        asks_for_extender=any(
            _asks(container)
            for containers in (spec.containers, spec.init_containers)
            for container in containers or ()
        ),
        scheduler=spec.scheduler_name or "",
        opted_out=(metadata.labels or {}).get(OPT_OUT_LABEL) == OPTED_OUT,
        of_daemon_set=any(
            owner.kind == "DaemonSet" and owner.controller
            for owner in metadata.owner_references or ()
        ),
        is_bound=bool(spec.node_name),
    )


def _claim_template(source: EphemeralSource) -> ClaimTemplate:
    template = source.volume_claim_template
    spec = (template.spec if template else None) or ClaimTemplateSpec()
    return ClaimTemplate(
        persistent_volume=spec.volume_name or None, storage_class=spec.storage_class_name
    )


def _asks(container: Container) -> bool:
    resources = container.resources or Resources()
    return any(RESOURCE in (given or {}) for given in (resources.limits, resources.requests))


def patch_of(pod: Pod, injection: Injection) -> list[Operation]:
    """Return what makes *pod* into what the decision says; nothing else of it changes."""
    operations = _resource_patch(pod) if injection.resource else []
    if injection.scheduler is not None:
        operations.append(Operation("/spec/schedulerName", injection.scheduler))
    return operations


def _resource_patch(pod: Pod) -> list[Operation]:
    """Add the resource to the first container: Kubernetes has requests of it equal its limits."""
    containers = pod.spec.containers if pod.spec else None
    assert containers, "a pod without containers is no new pod of a review"
    resources = containers[0].resources
    if resources is None:
        both = {kind: {RESOURCE: _AMOUNT} for kind in ("limits", "requests")}
        return [Operation(_FIRST, both)]
    given = {"limits": resources.limits, "requests": resources.requests}
    return [_addition(kind, entries) for kind, entries in given.items()]


def _addition(kind: str, entries: Mapping[str, Raw] | None) -> Operation:
    if entries is None:
        return Operation(f"{_FIRST}/{kind}", {RESOURCE: _AMOUNT})
    return Operation(f"{_FIRST}/{kind}/{RESOURCE.replace('/', '~1')}", _AMOUNT)


def encode_answer(review: Review, operations: Sequence[Operation], warning: str = "") -> bytes:
    """Encode the answer, with a patch if there are *operations*, and a warning if there is one."""
    patch = msgspec.json.encode(operations)
    response = AdmissionResponse(
        uid=review.uid,
        patch_type="JSONPatch" if operations else UNSET,
        patch=patch if operations else UNSET,
        warnings=[warning] if warning else UNSET,
    )
    return msgspec.json.encode(AdmissionAnswer(response=response))
