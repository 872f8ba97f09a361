"""Reviews of new pods: what is read of them, what is refused, and what the patch makes of a pod."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from app.errors import BadRequestError
from app.serving.admission import Review, decode_review, encode_answer, new_pod, patch_of
from extender.demand import Injection, InjectionOutcome
from extender.kubernetes import ClaimKey, ClaimTemplate, NewPod
from tests import admission
from tests.admission import RESOURCE, Object, admitted, ephemeral, of_claim, review, with_resource

SECOND = "longhorn-scheduler"
INJECTED = Injection(outcome=InjectionOutcome.NEEDS_EXTENDER, resource=True)
PLAIN = admission.new_pod()


def reviewed(pod: object, **request: Any) -> Review:
    return decode_review(json.dumps(review(pod, **request)).encode())


def read(pod: Object, **request: Any) -> NewPod:
    decoded = reviewed(pod, **request)
    assert decoded.pod is not None
    return new_pod(decoded.pod, decoded.namespace)


def after(pod: Object, injection: Injection) -> Object:
    """Return what the API server makes of *pod* when it is answered."""
    decoded = reviewed(pod)
    assert decoded.pod is not None
    return admitted(pod, json.loads(encode_answer(decoded, patch_of(decoded.pod, injection))))


def with_resources(**resources: object) -> Object:
    pod = admission.new_pod(of_claim("data"))
    pod["spec"]["containers"] = [{"name": "first", **resources}, {"name": "other"}]
    return pod


def named(**metadata: object) -> Object:
    return {**admission.new_pod(), "metadata": metadata}


def test_claims_and_templates_are_those_of_the_volumes():
    pod = admission.new_pod(
        of_claim("data"),
        {"emptyDir": {}},
        ephemeral(storageClassName="local"),
        ephemeral(storageClassName=""),
        ephemeral(volumeName="pv"),
        {"ephemeral": {}},
    )

    assert read(pod, namespace="team") == NewPod(
        claims=(ClaimKey("team/data"),),
        templates=(
            ClaimTemplate(storage_class="local"),
            ClaimTemplate(storage_class=""),
            ClaimTemplate(persistent_volume="pv"),
            ClaimTemplate(),
        ),
        scheduler="default-scheduler",
    )


@pytest.mark.parametrize("containers", ["containers", "initContainers"])
@pytest.mark.parametrize("kind", ["limits", "requests"])
def test_pod_asks_if_any_container_does(containers, kind):
    pod = admission.new_pod(of_claim("data"))
    pod["spec"].setdefault(containers, []).append({"resources": {kind: {RESOURCE: "1"}}})

    assert read(pod).asks_for_extender


def labelled(value: str | None) -> Object:
    return named(labels={"longhorn-scheduler-extender/injection": value})


def owned(**owner: object) -> Object:
    return named(ownerReferences=[owner])


FLAGS: dict[str, tuple[Object, str | None]] = {
    "label-disabled": (labelled("disabled"), "opted_out"),
    "label-enabled": (labelled("enabled"), None),
    "label-null": (labelled(None), None),
    "daemon-set": (owned(kind="DaemonSet", controller=True), "of_daemon_set"),
    "daemon-set-that-may-control": (owned(kind="DaemonSet"), None),
    "daemon-set-that-controls-not": (owned(kind="DaemonSet", controller=False), None),
    "replica-set": (owned(kind="ReplicaSet", controller=True), None),
    "nulls": (named(labels=None, ownerReferences=None), None),
    "node": (admission.new_pod(nodeName="node-1"), "is_bound"),
    "node-empty": (admission.new_pod(nodeName=""), None),
    "node-null": (admission.new_pod(nodeName=None), None),
}


@pytest.mark.parametrize(("pod", "flag"), FLAGS.values(), ids=FLAGS)
def test_pod_is_as_its_metadata_and_its_node_say(pod, flag):
    assert read(pod) == replace(read(PLAIN), **({flag: True} if flag else {}))


def test_nulls_are_as_good_as_nothing():
    pod: Object = {
        "metadata": None,
        "spec": {
            "volumes": [{"name": None, "persistentVolumeClaim": None, "ephemeral": None}],
            "containers": [{"resources": None}, {"resources": {"limits": None, "requests": None}}],
            "initContainers": None,
            "schedulerName": None,
        },
    }

    assert read(pod) == NewPod()


def test_name_that_is_logged_is_what_it_will_begin_with():
    assert reviewed(named(generateName="web-")).name == "default/web-"
    assert reviewed(None).name == "default/"


LATER = {
    "generated": {"generateName": "web-"},
    "empty-name": {"name": "", "generateName": "web-7c5b8-"},
    "both": {"name": "web-x2x1z", "generateName": "web-"},
}


@pytest.mark.parametrize("metadata", LATER.values(), ids=LATER)
def test_pod_may_get_its_name_only_later(metadata):
    assert reviewed(named(**metadata)).pod is not None


def test_claim_of_a_name_that_none_can_have_is_only_looked_up():
    """The API server asks first, and takes pods that name such claims; they wait for ever."""
    assert read(admission.new_pod(of_claim("../x"))).claims == (ClaimKey("default/../x"),)


OTHERS: dict[str, Object] = {
    "update": {"operation": "UPDATE"},
    "operation-none": {"operation": None},
    "subresource": {"subResource": "status"},
    "resource-none": {"resource": None},
    "resource-other": {"resource": {"group": "", "version": "v1", "resource": "deployments"}},
    "group-other": {"resource": {"group": "metrics", "version": "v1", "resource": "pods"}},
    "object-none": {"object": None},
    "spec-none": {"object": {"metadata": {"name": "web"}}},
    "containers-none": {"object": {"spec": {"containers": []}}},
    "containers-null": {"object": {"spec": {"containers": None}}},
    "unreadable": {"operation": "UPDATE", "object": "unlike any pod"},
}


@pytest.mark.parametrize("request_", OTHERS.values(), ids=OTHERS)
def test_all_but_a_new_pod_is_admitted_as_it_is(request_):
    decoded = reviewed(PLAIN, **request_)

    assert decoded.pod is None
    assert admitted({}, json.loads(encode_answer(decoded, ()))) == {}


WRONG: dict[str, tuple[bytes | Object, str]] = {
    "empty": (b"", "the body is empty"),
    "truncated": (b"{", "Input data was truncated"),
    "list": (b"[]", r"Expected `object`, got `array`"),
    "deep": (b"[" * 100_000, "cannot be decoded"),
    "no-review": (b"{}", "the body is no AdmissionReview of admission.k8s.io/v1"),
    "v1beta1": (
        b'{"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview"}', "is no Adm"),
    "request-none": (
        b'{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}', "has no request"),
    "uid-null": (review({}, uid=None), r"got `null` - at `\$.request.uid`"),
    "uid-empty": (review({}, uid=""), r"length >= 1 - at `\$.request.uid`"),
    "uid": (review({}, uid="a b"), r"^`request.uid` is 'a b'; it must be a uid"),
    "subresource": (review({}, subResource=5), r"\$.request.subResource"),
    "object": (review([]), "got `array` in `request.object`"),
    "containers": (review({"spec": {"containers": 5}}), r"`\$.spec.containers` in `req"),
    "container": (review({"spec": {"containers": [None]}}), r"containers\[0\]` in"),
    "namespace": (review({}, namespace="../x"), r"^`request.namespace` is '../x'; "),
    "name": (review(named(name="A/b")), r"^`request.object.metadata.name` is 'A/"),
    "name-begins": (review(named(generateName="../")), r"metadata.generateName` is '../"),
}  # fmt: skip


@pytest.mark.parametrize(("sent", "why"), WRONG.values(), ids=WRONG)
def test_body_that_cannot_be_decoded_is_refused_with_the_place(sent, why):
    with pytest.raises(BadRequestError, match=why):
        decode_review(sent if isinstance(sent, bytes) else json.dumps(sent).encode())


RESOURCES_THERE: dict[str, Object] = {
    "none": {},
    "empty": {"resources": {}},
    "null": {"resources": None},
    "limits": {"resources": {"limits": {"cpu": "1"}}},
    "requests": {"resources": {"requests": {"cpu": "1"}}},
    "both-empty": {"resources": {"limits": {}, "requests": {}}},
    "null-and-some": {"resources": {"limits": None, "requests": {"cpu": 1, "memory": "1Gi"}}},
    "both-and-claims": {"resources": {"limits": {"a.b/c": "2"}, "requests": {"a.b/c": "2"},
        "claims": [{"name": "gpu"}]}},
}  # fmt: skip


@pytest.mark.parametrize("resources", RESOURCES_THERE.values(), ids=RESOURCES_THERE)
def test_first_container_gets_the_resource_in_both_and_nothing_else_changes(resources):
    pod = with_resources(**resources)

    assert after(pod, INJECTED) == with_resource(pod)


@pytest.mark.parametrize("before", ["default-scheduler", "", None])
def test_scheduler_is_replaced_if_that_is_decided(before):
    pod = admission.new_pod(of_claim("data"), schedulerName=before)

    named = Injection(outcome=InjectionOutcome.NEEDS_SCHEDULER, scheduler=SECOND)
    expected = copy.deepcopy(pod)
    expected["spec"]["schedulerName"] = SECOND
    assert after(pod, named) == expected
    both = replace(INJECTED, scheduler=SECOND)
    assert after(pod, both) == with_resource(pod, schedulerName=SECOND)


def test_without_a_decision_for_it_a_pod_is_admitted_as_it_is():
    pod = admission.new_pod(of_claim("data"))

    assert after(pod, Injection(outcome=InjectionOutcome.OTHER_STORAGE)) == pod


def test_warning_is_part_of_the_answer():
    answer = json.loads(encode_answer(reviewed(PLAIN), (), "look out"))

    assert answer["response"] == {"uid": admission.UID, "allowed": True, "warnings": ["look out"]}


NAMES = st.sampled_from(["cpu", "memory", "a/b", "a~b", "a~1b", "longhorn.io/other"])
AMOUNTS = st.none() | st.dictionaries(NAMES, st.sampled_from(["1", "100m", 2]))
RESOURCES = st.none() | st.fixed_dictionaries({}, optional={"limits": AMOUNTS, "requests": AMOUNTS})
CONTAINERS = st.lists(
    st.fixed_dictionaries({"name": NAMES}, optional={"resources": RESOURCES}), min_size=1
)


@given(containers=CONTAINERS, scheduler=st.sampled_from([None, SECOND]))
def test_injecting_changes_nothing_else_and_is_done_once(containers, scheduler):
    pod = admission.new_pod(of_claim("data"), containers=containers)
    spec = {} if scheduler is None else {"schedulerName": scheduler}

    created = after(pod, replace(INJECTED, scheduler=scheduler))

    assert created == with_resource(pod, **spec)
    assert read(created).asks_for_extender
    assert read(created).scheduler == (scheduler or "default-scheduler")
