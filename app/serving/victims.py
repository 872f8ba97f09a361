"""What kube-scheduler asks before it evicts pods, and what is answered: `/preempt`.

For each node that it would take it sends the pods that it would evict there: whole pods, or their
uids with `nodeCacheCapable: true`. The answer has the uids, without the nodes that must not be
taken.
Source: kubernetes staging/src/k8s.io/kube-scheduler/extender/v1/types.go, ExtenderPreemptionArgs
and ExtenderPreemptionResult. As in all of this protocol, the Go types carry no JSON tags.
"""

from collections.abc import Collection, Mapping
from itertools import count
from typing import Annotated, Generic, TypeVar

import msgspec
from msgspec import Meta, Raw

from app.errors import BadRequestError
from app.kube.objects import Pod
from app.kube.translate import pod_ref, pod_status
from app.serving.arguments import MOST_POD_BYTES, Counted
from app.serving.body import Content
from app.serving.names import MOST_CHARACTERS_OF_UID, NodeNames, check_pod
from app.serving.wire import ExtenderRequest
from longhorn import NodeName

MOST_BYTES = 32 * 2**20
"""Of a body: Python keeps four bytes for each character of a text that is not in Latin letters."""
_MOST_UID_BYTES = 6 * MOST_CHARACTERS_OF_UID + 2
"""In JSON, where each character may also be written as \\u0061."""
MOST_VICTIMS = 200_000
"""On all nodes together. Of 5,000 nodes kube-scheduler proposes 500 at most, each with some 250
pods. Source: kubernetes defaultpreemption.GetOffsetAndNumCandidates."""

AnyVictim = TypeVar("AnyVictim")


SentUid = Annotated[
    Raw, Meta(extra_json_schema={"type": "string", "maxLength": MOST_CHARACTERS_OF_UID})
]


class Victim(Counted, rename={"uid": "UID"}, gc=False):
    """A pod by its uid."""

    most = MOST_VICTIMS
    what = "victims"
    uid: SentUid
    """As it came: it goes back unread."""

    def __post_init__(self) -> None:
        """Count it, and refuse what is no uid."""
        super().__post_init__()
        _check_uid(self.uid)


class VictimMetadata(msgspec.Struct, gc=False):
    """Of a whole pod; the uid is the only part that is read."""

    uid: SentUid


class WholeVictim(Counted, gc=False):
    """A whole pod."""

    most = MOST_VICTIMS
    what = "victims"
    metadata: VictimMetadata


class Victims(
    Counted, Generic[AnyVictim], rename={"pods": "Pods", "violations": "NumPDBViolations"}
):
    """Who would be evicted from one node."""

    pods: list[AnyVictim] | None = None
    violations: int = 0
    """Of PodDisruptionBudgets."""


class PreemptionCall(msgspec.Struct, rename="pascal"):
    """A body. kube-scheduler sends all three keys, with null for the form that it does not use."""

    pod: Raw = Raw(b"null")
    node_name_to_victims: dict[NodeName, Victims[WholeVictim]] | None = None
    node_name_to_meta_victims: dict[NodeName, Victims[Victim]] | None = None


class PreemptionResult(msgspec.Struct, rename="pascal"):
    """The answer. kube-scheduler evicts nobody if it is empty."""

    node_name_to_meta_victims: Mapping[NodeName, Victims[Victim]]


class Preemption(msgspec.Struct, frozen=True, kw_only=True):
    """A decoded request."""

    request: ExtenderRequest
    """Its candidates are the nodes with victims."""
    victims: Mapping[NodeName, Victims[Victim]]


_decoder = msgspec.json.Decoder(PreemptionCall)
_pod_decoder: msgspec.json.Decoder[Pod | None] = msgspec.json.Decoder(Pod | None)
_text_decoder = msgspec.json.Decoder(str)
_encoder = msgspec.json.Encoder()


def decode_preemption(body: Content, node_names: NodeNames) -> Preemption:
    """Decode the body of a call, which is UTF-8.

    Raises:
        BadRequestError: It cannot be decoded, has too many nodes or victims, or a name that
            Kubernetes would not accept.
    """
    if not len(body):
        raise BadRequestError("the body is empty")
    for counted in (Victim, WholeVictim, Victims):
        counted.numbers = count()
    try:
        call = _decoder.decode(body)
        pod = _pod_of(call.pod)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise BadRequestError(f"the request cannot be decoded: {error}") from error
    check_pod(pod)
    victims, field = call.node_name_to_meta_victims, "NodeNameToMetaVictims"
    if victims is None:
        field = "NodeNameToVictims"
        whole = call.node_name_to_victims or {}
        victims = {name: _by_uid(each) for name, each in whole.items()}
    candidates, unknown = node_names.each_once([*victims], f"{field}, key {{}}")
    request = ExtenderRequest(
        pod=pod_ref(pod),
        status=pod_status(pod),
        candidates=candidates,
        unknown=unknown,
        nodes=None,
    )
    return Preemption(request=request, victims=victims)


def encode_victims(preemption: Preemption, accepted: Collection[NodeName]) -> bytes:
    """Encode the victims on the nodes that may be taken."""
    kept = {name: preemption.victims[name] for name in accepted}
    return _encoder.encode(PreemptionResult(kept))


def _check_uid(sent: Raw) -> None:
    text = memoryview(sent)
    is_short = text.nbytes <= MOST_CHARACTERS_OF_UID or (
        text.nbytes <= _MOST_UID_BYTES and len(_text_decoder.decode(sent)) <= MOST_CHARACTERS_OF_UID
    )
    if bytes(text[:1]) != b'"' or not is_short:
        raise BadRequestError(
            f"the uid of a victim must be a text of at most {MOST_CHARACTERS_OF_UID} characters"
        )


def _pod_of(sent: Raw) -> Pod:
    if memoryview(sent).nbytes > MOST_POD_BYTES:
        raise BadRequestError(f"`Pod` is larger than {MOST_POD_BYTES} B, as no pod can be")
    pod = _pod_decoder.decode(sent)
    if pod is None:
        raise BadRequestError("the request has no Pod")
    return pod


def _by_uid(whole: Victims[WholeVictim]) -> Victims[Victim]:
    pods = [Victim(each.metadata.uid) for each in whole.pods or ()]
    return Victims(pods, whole.violations)
