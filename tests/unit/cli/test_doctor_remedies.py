"""A remedy is the command that changes this very object: Helm's way if Helm owns it."""

import hashlib
from typing import Any

import msgspec
import pytest

from app.config import NAME
from cli.catalogue import Severity
from cli.doctor.config_maps import ConfigMap
from cli.doctor.facts import ConfigMapSeen, InjectionSeen, LeftOver, Unread
from cli.doctor.findings import findings
from cli.doctor.objects import Pod, instance_seen
from cli.doctor.problems import Check
from cli.doctor.releases import Release, release_of
from cli.findings import Finding
from cli.kube.asking import WaitingPod
from tests.unit.cli.test_doctor_findings import (
    CONFIG,
    FORBIDDEN,
    INJECTION,
    INSTANCES,
    NAMESPACE,
    NOW,
    SERVICE,
    configured,
    facts,
    instance,
    live_settings,
    scheduler,
)

RELEASE = Release("ours", NAMESPACE)
ANNOTATIONS = {
    "meta.helm.sh/release-name": "ours",
    "meta.helm.sh/release-namespace": NAMESPACE,
}
UPGRADE = f"helm upgrade ours CHART --namespace {NAMESPACE} --reset-then-reuse-values"
OF_HELM = {**SERVICE, "metadata": {**SERVICE["metadata"], "annotations": ANNOTATIONS}}
PROT = {"instances": [*INSTANCES, instance(variables={"EXTENDER_PROT": "1"})]}
PORT = {"instances": [*INSTANCES, instance(variables={"EXTENDER_PORT": "one"})]}


def only(**changes: Any) -> Finding:
    """Return the only finding that is not fine."""
    [found] = [each for each in findings(facts(**changes)) if each.severity is not Severity.OK]
    return found


def test_an_object_of_helm_names_its_release() -> None:
    assert release_of(ANNOTATIONS) == RELEASE
    assert release_of({}) is release_of(None) is None


@pytest.mark.parametrize(
    ("changes", "remedy"),
    [
        (
            {"config_map": live_settings(RELEASE, scheduler_extender_pod_scheduling_timeout="x")},
            f"{UPGRADE} --set liveSettings.podSchedulingTimeoutSeconds=VALUE",
        ),
        (
            {"config_map": live_settings(scheduler_extender_node_reservation_timeout="x")},
            f"kubectl --namespace {NAMESPACE} patch configmap {NAME} --type merge -p "
            '\'{"data":{"scheduler-extender-node-reservation-timeout":"VALUE"}}\'',
        ),
        ({"config_map": live_settings(RELEASE, other="x")}, "take it out"),
        ({**PROT, "service": OF_HELM}, f"{UPGRADE} --set extraEnv.EXTENDER_PROT=null"),
        ({**PORT, "service": OF_HELM}, f"{UPGRADE} --set extraEnv.EXTENDER_PORT=VALUE"),
        (
            PROT,
            f"kubectl --namespace {NAMESPACE} set env deployment/{NAME} EXTENDER_PROT- ",
        ),
        (
            PORT,
            f"kubectl --namespace {NAMESPACE} set env deployment/{NAME} EXTENDER_PORT=VALUE ",
        ),
    ],
)
def test_a_setting_is_changed_by_the_way_that_owns_it(changes: dict[str, Any], remedy: str) -> None:
    assert only(**changes).remedies[0].startswith(remedy)


@pytest.mark.parametrize("config", [configured(RELEASE, filterVerb=None)])
@pytest.mark.parametrize("by_people", [frozenset[str](), frozenset({"config.yaml"})])
def test_what_helm_owns_is_never_patched(config: ConfigMapSeen, by_people: frozenset[str]) -> None:
    found = findings(
        facts(
            second_scheduler=scheduler(config=msgspec.structs.replace(config, by_people=by_people)),
            config_map=live_settings(RELEASE, scheduler_extender_enabled="false", other="x"),
            service=OF_HELM,
            **PROT,
        )
    )

    assert len([each for each in found if each.severity is not Severity.OK]) == 4
    assert [
        each for each in found if "patch" in str(each.remedies) or "set env" in str(each.remedies)
    ] == []


def test_the_service_that_stays_for_kube_scheduler_is_told_with_what_is_to_be_done_first() -> None:
    [_, found] = findings(facts(left_over=LeftOver(), injection=InjectionSeen(), instances=[]))

    assert f"left over: Service {NAME}, at which a kube-scheduler" in found.text
    assert found.remedies[0].split("; ")[1].startswith("take the extender out of kube-scheduler's")


def test_a_live_setting_that_a_person_has_changed_is_changed_with_kubectl() -> None:
    changed = live_settings(RELEASE, scheduler_extender_enabled="false")
    by_people = frozenset({"scheduler-extender-enabled"})

    found = only(config_map=msgspec.structs.replace(changed, by_people=by_people))

    assert found.remedies[0].startswith(f"kubectl --namespace {NAMESPACE} patch configmap {NAME} ")


def test_the_release_is_said_where_nothing_is_wrong() -> None:
    [_, by_helm, *_] = findings(facts(service=OF_HELM))
    [_, by_hand, *_] = findings(facts())
    [_, unknown, *_] = findings(facts(service=FORBIDDEN))

    assert by_helm.text == f"in {NAMESPACE}, by Helm's release ours in {NAMESPACE}"
    assert by_hand.text == f"in {NAMESPACE}, not by Helm"
    assert (unknown.check, unknown.severity) == (Check.INSTALLATION, Severity.UNKNOWN)


def test_a_pod_that_helm_made_for_this_configuration_has_read_it() -> None:
    """The ConfigMap was touched later, as when Helm 4 takes over from Helm 3."""
    config = msgspec.structs.replace(configured(), changed=NOW)
    text = config.data["config.yaml"].rstrip("\n")
    checksum = hashlib.sha256(text.encode()).hexdigest()
    old = instance(started=NOW.replace(hour=9), config_checksum=checksum)

    found = findings(facts(second_scheduler=scheduler(config=config, pods=[old])))

    assert {each.severity for each in found} == {Severity.OK}


def test_a_roll_out_is_judged_by_the_instance_that_leads() -> None:
    tls = {"EXTENDER_TLS_CERT_FILE": "c", "EXTENDER_TLS_PRIVATE_KEY_FILE": "k"}
    new = instance(variables=tls)

    found = findings(facts(second_scheduler=scheduler(), instances=[new, *INSTANCES]))

    assert {each.severity for each in found} == {Severity.OK}


@pytest.mark.parametrize(
    "url",
    [
        f"http://{NAME}:9504",
        f"http://{NAME}.{NAMESPACE}:9504",
        f"http://{NAME}.{NAMESPACE}.svc.cluster.local.:9504/",
        "http://10.96.0.95:9504",
    ],
)
def test_the_service_has_several_names(url: str) -> None:
    config = configured(urlPrefix=url, filterVerb="/filter")

    assert {e.severity for e in findings(facts(second_scheduler=scheduler(config=config)))} == {
        Severity.OK
    }


def test_with_a_second_scheduler_the_service_is_called_by_its_name() -> None:
    texts = [each.text for each in findings(facts(second_scheduler=scheduler()))]

    assert "it is at 10.96.0.95:9504; the second scheduler calls it by its name" in texts


def test_after_an_uninstall_one_finding_says_all() -> None:
    left = LeftOver(
        leases=[NAME],
        asking=[
            WaitingPod(namespace="a", name="x", controller="StatefulSet web"),
            WaitingPod(namespace="a", name="y", controller="StatefulSet web"),
            WaitingPod(namespace="b", name="bare"),
        ],
    )
    seen = InjectionSeen(has_policy=True, has_binding=True)

    [_, found] = findings(facts(left_over=left, injection=seen, service=None, instances=[]))

    assert found.text == (
        f"not installed here: nothing of the extender runs in namespace {NAMESPACE}; "
        f"left over: MutatingAdmissionPolicy {INJECTION}; "
        f"left over: Lease {NAME}; "
        "3 pods without a node still ask (longhorn.io/scheduler-extender, or schedulerName "
        "longhorn-scheduler): a/x, a/y, b/bare"
    )
    assert found.remedies[0].split("; ") == [
        "install it (docs/install.md)",
        f"kubectl delete mutatingadmissionpolicybindings,mutatingadmissionpolicies {INJECTION}",
        f"kubectl --namespace {NAMESPACE} delete lease {NAME}",
        "kubectl --namespace a delete pod x y (made again at once)",
        "make b/bare again from a manifest that does not ask",
    ]


def test_a_webhook_that_is_left_is_named() -> None:
    seen = InjectionSeen(has_webhook=True, is_trusted=True)

    [_, found] = findings(facts(left_over=LeftOver(), injection=seen))

    assert f"kubectl delete mutatingwebhookconfigurations {INJECTION}" in found.remedies[0]


def test_pods_that_cannot_be_listed_are_told() -> None:
    unread = Unread(what="list pods", why="403: no", is_forbidden=True)

    [_, unknown, found] = findings(facts(left_over=LeftOver(asking=unread)))

    assert (unknown.severity, found.code) == (Severity.UNKNOWN, "not-installed")


def pod(**spec: Any) -> Pod:
    metadata = spec.pop("metadata", {})
    return msgspec.convert(
        {"metadata": {"name": "p", "namespace": "n", **metadata}, "spec": spec}, Pod
    )


RESOURCE = {"longhorn.io/scheduler-extender": "1"}


def test_a_config_map_says_who_wrote_its_data_and_when() -> None:
    fields = [
        {"manager": "helm", "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:data": {}}},
        {"manager": "labeler", "time": "2026-01-02T00:00:00Z", "fieldsV1": {"f:metadata": {}}},
        {"manager": "kubectl-patch", "fieldsV1": {"f:data": {"f:a": {}}}},
        {"manager": "kubectl-edit", "fieldsV1": {"f:data": None}},
        {"manager": None, "fieldsV1": None},
    ]
    metadata = {"name": "c", "annotations": ANNOTATIONS, "managedFields": fields}
    found = msgspec.convert({"metadata": metadata, "data": {"a": "b"}}, ConfigMap)

    seen = found.seen

    assert seen.by_people == frozenset({"a"})
    assert (seen.release, seen.data) == (RELEASE, {"a": "b"})
    assert seen.changed is not None
    assert seen.changed.day == 2


def test_a_pod_says_since_when_it_runs_and_by_which_configuration() -> None:
    status = {"containerStatuses": [{"state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}]}
    metadata = {"name": "p", "annotations": {"checksum/config": "abc"}}

    seen = instance_seen(msgspec.convert({"metadata": metadata, "status": status}, Pod))

    assert seen.config_checksum == "abc"
    assert seen.started is not None
    assert seen.started.year == 2026


def test_the_shipped_configuration_asks() -> None:
    assert CONFIG["extenders"][0]["filterVerb"] == "filter"
