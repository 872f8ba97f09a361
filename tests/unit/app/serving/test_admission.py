"""Reviews of new pods: what is read of them, what is refused, and what the patch makes of a pod."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.errors import BadRequestError
from app.serving.admission import decode_review, encode_answer, new_pod, patch_of
from extender.demand import Injection, InjectionOutcome
from extender.kubernetes import ClaimKey, ClaimTemplate, NewPod
from tests import admission
from tests.admission import RESOURCE, Object, admitted, ephemeral, of_claim, review, with_resource

SECOND = "longhorn-scheduler"
INJECTED = Injection(outcome=InjectionOutcome.NEEDS_EXTENDER, resource=True)


def read(pod: Object, **request: Any) -> NewPod:
    decoded = decode_review(json.dumps(review(pod, **request)).encode())
    assert decoded.pod is not None
    return new_pod(decoded.pod, decoded.namespace)


def after(pod: Object, injection: Injection) -> Object:
    """Return what the API server makes of *pod* when it is answered."""
    decoded = decode_review(json.dumps(review(pod)).encode())
    assert decoded.pod is not None
    return admitted(pod, json.loads(encode_answer(decoded, patch_of(decoded.pod, injection))))


def with_resources(resources: object, *, of: str = "containers") -> Object:
    pod = admission.new_pod(of_claim("data"))
    pod["spec"][of] = [{"name": "first", "resources": resources}, {"name": "other"}]
    return pod


def named(**metadata: str) -> Object:
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
def test_a_pod_asks_if_any_container_does(containers, kind):
    pod = admission.new_pod(of_claim("data"))
    pod["spec"].setdefault(containers, []).append({"resources": {kind: {RESOURCE: "1"}}})

    assert read(pod).asks_for_extender


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        ({"labels": {"longhorn-scheduler-extender/injection": "disabled"}}, "opted_out"),
        ({"ownerReferences": [{"kind": "DaemonSet", "controller": True}]}, "of_daemon_set"),
    ],
)
def test_what_its_metadata_say(metadata, field):
    pod = admission.new_pod()
    assert not getattr(read(pod), field)

    pod["metadata"] |= metadata
    assert getattr(read(pod), field)


@pytest.mark.parametrize(
    "metadata",
    [
        {"labels": {"longhorn-scheduler-extender/injection": "enabled"}},
        {"labels": {"longhorn-scheduler-extender/injection": None}},
        {"ownerReferences": [{"kind": "DaemonSet"}]},
        {"ownerReferences": [{"kind": "DaemonSet", "controller": False}]},
        {"ownerReferences": [{"kind": "ReplicaSet", "controller": True}]},
        {"labels": None, "ownerReferences": None},
    ],
)
def test_what_its_metadata_do_not_say(metadata):
    pod = admission.new_pod()
    pod["metadata"] |= metadata

    assert read(pod) == read(admission.new_pod())


@pytest.mark.parametrize(("node", "is_bound"), [("node-1", True), ("", False), (None, False)])
def test_a_pod_with_a_node_is_bound(node, *, is_bound):
    assert read(admission.new_pod(nodeName=node)).is_bound is is_bound


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


def test_the_name_that_is_logged_is_what_it_will_begin_with():
    pod = admission.new_pod()
    pod["metadata"] = {"generateName": "web-"}

    assert decode_review(json.dumps(review(pod)).encode()).name == "default/web-"
    assert decode_review(json.dumps(review(None)).encode()).name == "default/"


@pytest.mark.parametrize(
    "metadata",
    [
        pytest.param({"generateName": "web-"}, id="generated"),
        pytest.param({"name": "", "generateName": "web-7c5b8-"}, id="empty-name"),
        pytest.param({"name": "web-x2x1z", "generateName": "web-"}, id="both"),
    ],
)
def test_a_pod_may_get_its_name_only_later(metadata):
    pod = admission.new_pod()
    pod["metadata"] = metadata

    assert decode_review(json.dumps(review(pod)).encode()).pod is not None


def test_a_claim_of_a_name_that_none_can_have_is_only_looked_up():
    """The API server asks first, and takes pods that name such claims; they wait for ever."""
    assert read(admission.new_pod(of_claim("../x"))).claims == (ClaimKey("default/../x"),)


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param({"operation": "UPDATE"}, id="update"),
        pytest.param({"operation": None}, id="no operation"),
        pytest.param({"subResource": "status"}, id="subresource"),
        pytest.param({"resource": None}, id="no resource"),
        pytest.param(
            {"resource": {"group": "apps", "version": "v1", "resource": "deployments"}}, id="others"
        ),
        pytest.param(
            {"resource": {"group": "metrics", "version": "v1", "resource": "pods"}}, id="group"
        ),
        pytest.param({"object": None}, id="no object"),
        pytest.param({"object": {"metadata": {"name": "web"}}}, id="no spec"),
        pytest.param({"object": {"spec": {"containers": []}}}, id="no containers"),
        pytest.param({"object": {"spec": {"containers": None}}}, id="null for containers"),
        pytest.param({"operation": "UPDATE", "object": "unlike any pod"}, id="unreadable"),
    ],
)
def test_what_is_no_new_pod_is_admitted_as_it_is(request_):
    decoded = decode_review(json.dumps(review(admission.new_pod(), **request_)).encode())

    assert decoded.pod is None
    assert admitted({}, json.loads(encode_answer(decoded, ()))) == {}


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "the body is empty"),
        (b"{", "Input data was truncated"),
        (b"[]", r"Expected `object`, got `array`"),
        pytest.param(b"[" * 100_000, "cannot be decoded", id="deep"),
        (b"{}", "the body is no AdmissionReview of admission.k8s.io/v1"),
        (b'{"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview"}', "is no Adm"),
        (b'{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}', "has no request"),
        (json.dumps(review({}, uid=None)).encode(), r"got `null` - at `\$.request.uid`"),
        (json.dumps(review({}, uid="")).encode(), r"length >= 1 - at `\$.request.uid`"),
        (json.dumps(review({}, subResource=5)).encode(), r"\$.request.subResource"),
        (json.dumps(review([])).encode(), "got `array` in `request.object`"),
        (json.dumps(review({"spec": {"containers": 5}})).encode(), r"`\$.spec.containers` in `req"),
        (json.dumps(review({"spec": {"containers": [None]}})).encode(), r"containers\[0\]` in"),
        (json.dumps(review({}, uid="a b")).encode(), r"^`request.uid` is 'a b'; it must be a uid"),
        (json.dumps(review({}, namespace="../x")).encode(), r"^`request.namespace` is '../x'; "),
        (json.dumps(review(named(name="A/b"))).encode(), r"^`request.object.metadata.name` is 'A/"),
        (json.dumps(review(named(generateName="../"))).encode(), r"metadata.generateName` is '../"),
    ],
)
def test_what_cannot_be_decoded_is_refused_with_the_place(body, why):
    with pytest.raises(BadRequestError, match=why):
        decode_review(body)


@pytest.mark.parametrize(
    "resources",
    [
        pytest.param({}, id="empty"),
        pytest.param(None, id="null"),
        pytest.param({"limits": {"cpu": "1"}}, id="limits"),
        pytest.param({"requests": {"cpu": "1"}}, id="requests"),
        pytest.param({"limits": {}, "requests": {}}, id="both empty"),
        pytest.param({"limits": None, "requests": {"cpu": 1, "memory": "1Gi"}}, id="null and some"),
        pytest.param(
            {"limits": {"a.b/c": "2"}, "requests": {"a.b/c": "2"}, "claims": [{"name": "gpu"}]},
            id="both and claims",
        ),
    ],
)
def test_the_first_container_gets_the_resource_in_both_and_nothing_else_changes(resources):
    pod = with_resources(resources)

    assert after(pod, INJECTED) == with_resource(pod)


def test_a_container_that_has_no_resources_at_all_gets_them():
    pod = with_resources({})
    del pod["spec"]["containers"][0]["resources"]

    assert after(pod, INJECTED) == with_resource(pod)


@pytest.mark.parametrize("before", ["default-scheduler", "", None])
def test_the_scheduler_is_replaced_if_that_is_decided(before):
    pod = admission.new_pod(of_claim("data"), schedulerName=before)

    named = Injection(outcome=InjectionOutcome.NEEDS_SCHEDULER, scheduler=SECOND)
    both = Injection(outcome=InjectionOutcome.NEEDS_EXTENDER, resource=True, scheduler=SECOND)
    expected = copy.deepcopy(pod)
    expected["spec"]["schedulerName"] = SECOND
    assert after(pod, named) == expected
    assert after(pod, both) == with_resource(pod, schedulerName=SECOND)


def test_without_a_decision_for_it_a_pod_is_admitted_as_it_is():
    pod = admission.new_pod(of_claim("data"))

    assert after(pod, Injection(outcome=InjectionOutcome.OTHER_STORAGE)) == pod


def test_a_warning_is_part_of_the_answer():
    decoded = decode_review(json.dumps(review(admission.new_pod())).encode())

    answer = json.loads(encode_answer(decoded, (), "look out"))

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

    created = after(
        pod, Injection(outcome=InjectionOutcome.NEEDS_EXTENDER, resource=True, scheduler=scheduler)
    )

    assert created == with_resource(pod, **spec)
    assert read(created).asks_for_extender
    assert read(created).scheduler == (scheduler or "default-scheduler")
