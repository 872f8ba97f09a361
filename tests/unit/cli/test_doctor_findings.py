"""Every problem is found in facts that differ from those of a healthy cluster by what causes it."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
import yaml

from app.config import NAME
from app.instance.calls import LAST_PRIORITIZE_AT, LAST_REQUEST_AT, MOST_CANDIDATES
from app.kube.objects import Metadata
from app.settings import Settings
from cli.catalogue import PROBLEMS, Severity
from cli.doctor.facts import (
    AutoscalerSeen,
    ClassSeen,
    ConfigMapSeen,
    Facts,
    InjectionSeen,
    InstanceSeen,
    LeaseSeen,
    LeftOver,
    SchedulerSeen,
    Unread,
    VolumeSeen,
)
from cli.doctor.findings import findings
from cli.doctor.leading import sample_of
from cli.doctor.objects import Volume, volume_seen
from cli.doctor.policies import NetworkPolicy
from cli.doctor.problems import Check
from cli.doctor.releases import Release
from cli.doctor.rights import SCHEDULER_CONFIG, WAKE_UP, Right, needed_rights
from cli.findings import Finding
from cli.scheduler_config import Distribution, make_wanted, written
from extender import Mode
from extender.kubernetes import StorageClass
from leader.endpointslice import backend_of, desired_slices
from longhorn import OWN_EXTENDER, Unreadable
from tests.builders import bare_class, disk, disk_schedule, node, setting, storage_class

SETTINGS = Settings()
NAMESPACE = SETTINGS.namespace
IN_LONGHORNS = Settings(namespace=SETTINGS.longhorn_namespace)
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
POD = f"{NAME}-0"
INJECTION = f"{NAME}-injection.{NAMESPACE}"
FORBIDDEN = Unread(what="list things in longhorn-system", why="403: no", is_forbidden=True)
SERVICE: dict[str, Any] = {
    "metadata": {"name": NAME, "namespace": NAMESPACE, "uid": "service-uid"},
    "spec": {
        "clusterIP": "10.96.0.95",
        "ipFamilies": ["IPv4"],
        "ports": [{"name": "http", "port": 9504, "protocol": "TCP"}],
    },
}
HOLDER: dict[str, Any] = {
    "metadata": {"name": POD, "uid": "pod-uid"},
    "spec": {
        "nodeName": "node-1",
        "containers": [{"ports": [{"name": "http", "containerPort": 9504}]}],
    },
    "status": {"podIP": "10.42.0.1"},
}
[SLICE] = desired_slices(SERVICE, backend_of(HOLDER), 9504)
EMPTY = {**SLICE, "endpoints": []}
LABELS = {"app": NAME}
CONFIG = yaml.safe_load(
    written(make_wanted(Distribution.SECONDARY, f"http://{NAME}.{NAMESPACE}.svc:9504"))
)
ENTRY = f"the entry of the extender in ConfigMap {SCHEDULER_CONFIG} in {NAMESPACE}"
OVER_TLS = [
    InstanceSeen(
        name=each,
        labels=LABELS,
        variables={
            "EXTENDER_TLS_CERT_FILE": "/tls.crt",
            "EXTENDER_TLS_PRIVATE_KEY_FILE": "/tls.key",
            "EXTENDER_METRICS_PORT": "9505",
        },
    )
    for each in (POD, f"{NAME}-1")
]
ASKING_FOR_CERTIFICATES = [
    msgspec.structs.replace(
        each, variables={**each.variables, "EXTENDER_CLIENT_CA_FILE": "/ca.crt"}
    )
    for each in OVER_TLS
]
INSTANCES = [InstanceSeen(name=name, labels=LABELS) for name in (POD, f"{NAME}-1")]
PACKING = [
    msgspec.structs.replace(each, variables={"EXTENDER_BALANCE": "pack"}) for each in INSTANCES
]
CONTROL_PLANE = {"ipBlock": {"cidr": "192.0.2.0/28"}}
LEASE = LeaseSeen(
    holder=f"{POD}_some-uuid",
    created="2026-02-01T12:00:00Z",
    annotations={
        LAST_REQUEST_AT: "2026-03-01T11:59:30Z",
        LAST_PRIORITIZE_AT: "2026-03-01T11:59:30Z",
        MOST_CANDIDATES: "3",
    },
)
KINDS = ("nodes.longhorn.io", "volumes.longhorn.io")


def granted(*missing: Right) -> dict[Right, bool]:
    return {right: right not in missing for right in needed_rights(SETTINGS)}


def facts(**changes: Any) -> Facts:
    """Build the facts of a cluster in which all is well, but for the changes."""
    healthy: dict[str, Any] = {
        "settings": SETTINGS,
        "now": NOW,
        "version": "v1.36.1",
        "account": f"system:serviceaccount:{NAMESPACE}:{NAME}",
        "kinds": dict.fromkeys(KINDS, True),
        "longhorn_nodes": [node("node-1"), node("node-2")],
        "longhorn_settings": [],
        "volumes": [],
        "disk_schedules": None,
        "rights": granted(),
        "config_map": live_settings(),
        "instances": INSTANCES,
        "lease": LEASE,
        "holder": HOLDER,
        "service": SERVICE,
        "slices": [SLICE],
        "injection": InjectionSeen(has_policy=True, has_binding=True),
        "second_scheduler": None,
        "network_policies": [policy({"from": [CONTROL_PLANE]})],
        "classes": [seen_class(storage_class("fast"))],
        "autoscalers": [],
        "kubernetes_nodes": 3,
    }
    return Facts(**{**healthy, **changes})


def live_settings(release: Release | None = None, **data: str) -> ConfigMapSeen:
    """Build our ConfigMap, with injection on; underscores in names stand for hyphens."""
    given = {key.replace("_", "-"): value for key, value in data.items()}
    return ConfigMapSeen(
        name=NAME, data={"scheduler-extender-inject": "true"} | given, release=release
    )


def scheduler(image: str = "kube-scheduler:v1.36.1", **changes: Any) -> SchedulerSeen:
    """Build a second scheduler that asks the service, but for the changes."""
    config = ConfigMapSeen(name=SCHEDULER_CONFIG, data={"config.yaml": yaml.safe_dump(CONFIG)})
    healthy = {"config_name": SCHEDULER_CONFIG, "config": config}
    pods = [InstanceSeen(name=f"longhorn-scheduler-{number}") for number in range(2)]
    return SchedulerSeen(**{"image": image, **healthy, "pods": pods, **changes})


def configured(release: Release | None = None, **entry: Any) -> ConfigMapSeen:
    """Build the second scheduler's ConfigMap; the entry has these fields, without those of None."""
    changed = {**CONFIG["extenders"][0], **entry}
    kept = {name: value for name, value in changed.items() if value is not None}
    text = yaml.safe_dump({**CONFIG, "extenders": [kept]})
    return ConfigMapSeen(name=SCHEDULER_CONFIG, data={"config.yaml": text}, release=release)


def called_by(**entry: Any) -> dict[str, Any]:
    return {"second_scheduler": scheduler(config=configured(**entry))}


def policy(*ingress: dict[str, Any], **spec: Any) -> NetworkPolicy:
    """Build a NetworkPolicy for the pods of the service."""
    selector = {"podSelector": {"matchLabels": LABELS}}
    body = {"metadata": {"name": "ours"}, "spec": {**selector, "ingress": ingress, **spec}}
    return msgspec.convert(body, NetworkPolicy)


def seen_class(record: StorageClass, *, immediate: bool = False) -> ClassSeen:
    binding = "Immediate" if immediate else "WaitForFirstConsumer"
    return ClassSeen(record=record, binding_mode=binding)


def service(**spec: Any) -> dict[str, Any]:
    return {**SERVICE, "spec": {**SERVICE["spec"], **spec}}


def wishing(injection: str) -> dict[str, Any]:
    annotations = {"longhorn-scheduler-extender/injection": injection}
    return {**SERVICE, "metadata": {**SERVICE["metadata"], "annotations": annotations}}


def lease(**changes: Any) -> LeaseSeen:
    return msgspec.structs.replace(LEASE, **changes)


def noted(last: str = "2026-03-01T11:59:30Z", most: str = "3") -> LeaseSeen:
    times = {LAST_REQUEST_AT: last, LAST_PRIORITIZE_AT: last}
    return lease(annotations={**times, MOST_CANDIDATES: most})


def only_filtered(most: str) -> LeaseSeen:
    return lease(annotations={LAST_REQUEST_AT: "2026-03-01T11:59:30Z", MOST_CANDIDATES: most})


def instance(**changes: Any) -> InstanceSeen:
    return InstanceSeen(**{"name": "new-one", "labels": LABELS, **changes})


FAST = seen_class(storage_class("fast"))
ASLEEP = instance(variables={"EXTENDER_WAKE_UP": "false"})


def autoscaler(*arguments: str) -> AutoscalerSeen:
    return AutoscalerSeen(name="kube-system/scaler", arguments=["./cluster-autoscaler", *arguments])


TOLD = "--scheduler-config-file=/etc/scheduler/config.yaml"


def stray(**changes: Any) -> dict[str, Any]:
    return {**SLICE, "metadata": {**SLICE["metadata"], "name": "stray"}, **changes}


def unreadable(kind: str, name: str) -> Unreadable:
    return Unreadable(kind=kind, name=name, why="5 is no string")


def at(found: Sequence[Finding], check: Check) -> list[Finding]:
    return [finding for finding in found if finding.check is check]


def problems(found: Sequence[Finding]) -> dict[str, str]:
    return {each.code: each.text for each in found if each.severity is not Severity.OK}


def test_a_healthy_cluster_has_one_line_for_each_check() -> None:
    found = findings(facts())

    assert [finding.check for finding in found] == [*Check]
    assert {finding.severity for finding in found} == {Severity.OK}


@pytest.mark.parametrize(
    ("schedules", "text"),
    [
        (None, "DiskSchedules are not served"),
        ([], "0 of 1 disks are counted by their DiskSchedules"),
        ([disk_schedule()], "1 of 1 disks are counted by their DiskSchedules"),
    ],
)
def test_it_says_by_what_disks_are_counted(schedules: object, text: str) -> None:
    found = findings(facts(longhorn_nodes=[node("node-1")], disk_schedules=schedules))

    [line] = at(found, Check.LONGHORN)
    assert line.severity is Severity.OK
    assert line.text.endswith(f"; {text}")


TRACKED = setting("csi-storage-capacity-tracking", "true")
FAR = storage_class("far", dataLocality="disabled")
RDMA, APART = {"dataEngineTransport": "rdma"}, {"volumeAntiAffinityFromPod": "enabled"}
CASES: list[tuple[str, Mapping[str, Any], str]] = [
    (
        "feature-not-judged",
        {
            "volumes": [VolumeSeen(name="a", watched=RDMA), VolumeSeen(name="b")],
            "classes": [FAST, seen_class(storage_class("fabric", **RDMA))],
        },
        "StorageClass fabric, Volume a ask for transport rdma",
    ),
    (
        "feature-not-judged",
        {
            "longhorn_settings": [setting("volume-anti-affinity-from-pod", "true")],
            "volumes": [VolumeSeen(name=str(n), watched=APART) for n in range(7)],
        },
        "Setting volume-anti-affinity-from-pod, Volume 0, 1, 2, 3, 4 and 2 more have Longhorn keep",
    ),
    (
        "disk-schedule-not-ready",
        {
            "longhorn_nodes": [node("node-1")],
            "disk_schedules": [disk_schedule(ready=None)],
        },
        "DiskSchedule uuid-disk-1 (disk disk-1 of node node-1) is not Ready: nobody decides what "
        "is asked of the disk",
    ),
    (
        "disk-without-schedule",
        {
            "longhorn_nodes": [node("node-1", disk("disk-1"), disk("disk-2"))],
            "disk_schedules": [disk_schedule()],
        },
        "disk disk-2 (uuid-disk-2) of node node-1 has no DiskSchedule, and others have",
    ),
    (
        "kind-not-served",
        {"kinds": {"nodes.longhorn.io": True, "volumes.longhorn.io": False}},
        "the API server does not know volumes.longhorn.io",
    ),
    (
        "no-longhorn-node",
        {"longhorn_nodes": []},
        "there is no Longhorn Node in longhorn-system",
    ),
    (
        "object-unreadable",
        {"longhorn_nodes": [node("node-1"), unreadable("Node", "node-2")]},
        "Node node-2 cannot be read: 5 is no string",
    ),
    (
        "node-unusable",
        {"longhorn_nodes": [node("node-1"), node("node-2", ready=False)]},
        "no new replica can be placed on node-2: Longhorn node is not ready",
    ),
    (
        "node-unusable",
        {"longhorn_nodes": [node(f"n{n}", disk(allow_scheduling=False)) for n in range(7)]},
        "no new replica can be placed on n0, n1, n2, n3, n4 and 2 more: ",
    ),
    (
        "right-missing",
        {"rights": granted(Right("watch", "", "persistentvolumes"))},
        f"system:serviceaccount:{NAMESPACE}:{NAME} may not watch persistentvolumes in all",
    ),
    (
        "variable-unusable",
        {"instances": [*INSTANCES, instance(variables={"EXTENDER_PROT": "1"})]},
        f"pod new-one, whose variables are those of Deployment {NAME} in {NAMESPACE}: there is no",
    ),
    (
        "live-setting-unusable",
        {"config_map": live_settings(scheduler_extender_enabled="perhaps")},
        f"ConfigMap {NAME} in {NAMESPACE}: scheduler-extender-enabled is 'perhaps'; use true or",
    ),
    (
        "disabled",
        {"config_map": live_settings(scheduler_extender_enabled="false")},
        f"scheduler-extender-enabled is false in ConfigMap {NAME} in {NAMESPACE}: no instance",
    ),
    (
        "namespace-shared",
        {"settings": IN_LONGHORNS, "longhorn_settings": [setting(OWN_EXTENDER, "false")]},
        f"this service has Service and Lease {NAME} in longhorn-system, the namespace of Longhorn",
    ),
    (
        "namespace-contested",
        {"settings": IN_LONGHORNS, "longhorn_settings": [setting(OWN_EXTENDER, "true")]},
        f"two extenders write Service and Lease {NAME} in longhorn-system",
    ),
    (
        "longhorn-setting-unusable",
        {"longhorn_settings": [setting("storage-over-provisioning-percentage", "many")]},
        "Longhorn Setting storage-over-provisioning-percentage in longhorn-system is 'many'",
    ),
    (
        "answers-late",
        {"settings": Settings(reservation_mode=Mode.NODE), "instances": []},
        "EXTENDER_RESERVATION_MODE is node",
    ),
    (
        "answers-late",
        {"instances": [instance(variables={"EXTENDER_FILTER_WAIT_SECONDS": "5"}), *INSTANCES]},
        f"EXTENDER_FILTER_WAIT_SECONDS is 5 (Deployment {NAME} in {NAMESPACE}), and httpTimeout "
        "is 5 s unless it is set",
    ),
    (
        "no-instance",
        {"instances": []},
        f"there is no pod with the label app={NAME} in {NAMESPACE}",
    ),
    (
        "no-instance-ready",
        {"instances": [instance(is_ready=False)]},
        f"none of 1 pods in {NAMESPACE} is ready",
    ),
    (
        "no-standby",
        {"instances": [INSTANCES[0]]},
        f"only pod {POD} is ready: nobody stands by",
    ),
    (
        "instance-not-ready",
        {"instances": [*INSTANCES, instance(is_ready=False, trouble="CrashLoopBackOff")]},
        "pod new-one is not ready: CrashLoopBackOff",
    ),
    ("lease-absent", {"lease": None, "holder": None}, f"there is no Lease {NAME} in"),
    (
        "lease-free",
        {"lease": lease(holder=None), "holder": None},
        f"nobody holds Lease {NAME} in {NAMESPACE}",
    ),
    (
        "lease-stale",
        {"lease": lease(is_renewed=False, watched_seconds=8.4)},
        f"{POD}_some-uuid holds Lease {NAME} in {NAMESPACE} and has not renewed it for 8 s",
    ),
    (
        "holder-gone",
        {"holder": None},
        f"Lease {NAME} in {NAMESPACE} is renewed by pod {POD}, which does not exist",
    ),
    ("service-absent", {"service": None}, f"there is no Service {NAME} in {NAMESPACE}"),
    (
        "service-selects",
        {"service": service(selector={"app": NAME})},
        f"Service {NAME} in {NAMESPACE} has a selector",
    ),
    (
        "service-without-port",
        {"service": service(ports=[{"name": "http", "port": 9504, "protocol": "UDP"}])},
        f"Service {NAME} in {NAMESPACE} has no TCP port",
    ),
    (
        "service-without-address",
        {"service": service(clusterIP="None")},
        f"Service {NAME} in {NAMESPACE} has no address",
    ),
    (
        "endpoints-absent",
        {"slices": []},
        "no EndpointSlice leads kube-scheduler from Service",
    ),
    (
        "endpoints-foreign",
        {"slices": [SLICE, stray()]},
        "EndpointSlice stray leads the Service to 10.42.0.1:9504",
    ),
    (
        "endpoints-left-over",
        {"slices": [SLICE, stray(endpoints=None)]},
        "EndpointSlice stray belongs to the Service and is empty",
    ),
    (
        "endpoints-wrong",
        {"slices": [{**SLICE, "endpoints": [{"addresses": ["10.42.0.9"]}]}]},
        f"EndpointSlice {NAME}-ipv4 leads to 10.42.0.9:9504, and the leader, pod {POD}, is at "
        "10.42.0.1:9504",
    ),
    (
        "endpoints-wrong",
        {"slices": [{**SLICE, "ports": [{"name": "https", "protocol": "TCP", "port": 9504}]}]},
        f"EndpointSlice {NAME}-ipv4 differs in ports from what the leader, pod {POD}, writes",
    ),
    (
        "endpoints-wrong",
        {"slices": [{**SLICE, "metadata": {**SLICE["metadata"], "ownerReferences": []}}]},
        f"EndpointSlice {NAME}-ipv4 differs in metadata from what the leader, pod {POD}, writes",
    ),
    (
        "endpoints-wrong",
        {"service": service(ipFamilies=["IPv4", "IPv6"])},
        f"EndpointSlice {NAME}-ipv6 is missing",
    ),
    (
        "endpoints-wrong",
        {"slices": [SLICE, {**SLICE, "metadata": {**SLICE["metadata"], "name": f"{NAME}-ipv6"}}]},
        f"EndpointSlice {NAME}-ipv6 leads to 10.42.0.1:9504, and the Service has no such family",
    ),
    (
        "family-unserved",
        {
            "service": service(ipFamilies=["IPv4", "IPv6"]),
            "slices": [
                SLICE,
                {
                    **EMPTY,
                    "metadata": {**SLICE["metadata"], "name": f"{NAME}-ipv6"},
                    "addressType": "IPv6",
                },
            ],
        },
        f"the Service has an address of IPv6, and pod {POD} none",
    ),
    (
        "port-open",
        {"network_policies": []},
        "port 9504 is open to everything in the cluster: no certificate is asked for, and no "
        f"NetworkPolicy is for what comes in to pod {POD}",
    ),
    (
        "port-open",
        {"network_policies": [policy({"ports": [{"port": 9504}]})]},
        "NetworkPolicy ours lets everybody in",
    ),
    (
        "not-injected",
        {"injection": InjectionSeen()},
        "nothing gives new pods with claims longhorn.io/scheduler-extender",
    ),
    *(
        (
            "injection-waits",
            {"injection": InjectionSeen(), "service": wishing("waiting"), "lease": seen},
            f"injection waits, so no new pod gets longhorn.io/scheduler-extender; {asked}",
        )
        for seen, asked in (
            (LEASE, "kube-scheduler called 30 seconds ago"),
            (lease(annotations={}), "kube-scheduler has not called since 2026-02-01T12:00:00Z"),
            (FORBIDDEN, "when kube-scheduler called last is not known"),
            (None, "when kube-scheduler called last is not known"),
        )
    ),
    *(
        (
            "injection-off",
            {"injection": seen, "config_map": config_map},
            "injection is installed and off: scheduler-extender-inject in ConfigMap",
        )
        for config_map in (None, live_settings(scheduler_extender_inject="false"))
        for seen in (
            InjectionSeen(has_policy=True, has_binding=True),
            InjectionSeen(has_webhook=True, is_trusted=True),
        )
    ),
    (
        "injection-without-effect",
        {"injection": InjectionSeen(has_policy=True)},
        f"MutatingAdmissionPolicy {INJECTION} has no binding",
    ),
    (
        "injection-without-effect",
        {"injection": InjectionSeen(has_webhook=True)},
        f"MutatingWebhookConfiguration {INJECTION} has no caBundle",
    ),
    (
        "not-installed",
        {"left_over": LeftOver()},
        f"not installed here: nothing of the extender runs in namespace {NAMESPACE}",
    ),
    (
        "scheduler-not-ready",
        {"second_scheduler": scheduler(pods=[instance(is_ready=False, trouble="ErrImagePull")])},
        "none of 1 pods of Deployment longhorn-scheduler is ready: ErrImagePull",
    ),
    *(
        ("scheduler-not-configured", {"second_scheduler": scheduler(config=config)}, text)
        for config, text in (
            (None, f"ConfigMap {SCHEDULER_CONFIG} in {NAMESPACE} does not exist"),
            (configured(managedResources=[]), "has no entry of extenders that manages"),
            (ConfigMapSeen(name="c", data={"config.yaml": "{"}), "cannot be read"),
            (ConfigMapSeen(name="c"), "has no entry of extenders that manages"),
        )
    ),
    ("emergency-on", called_by(filterVerb=None), f"{ENTRY} has no filterVerb"),
    *(
        ("scheduler-calls-wrong", {**called_by(**entry), **others}, f"{ENTRY} {text}")
        for entry, others, text in (
            (
                {},
                {"instances": OVER_TLS},
                f"calls http://{NAME}.{NAMESPACE}.svc:9504, and the service speaks HTTPS",
            ),
            (
                {"urlPrefix": f"https://{NAME}.{NAMESPACE}.svc:9504"},
                {},
                f"calls https://{NAME}.{NAMESPACE}.svc:9504, and the service speaks HTTP",
            ),
            (
                {"urlPrefix": f"https://{NAME}.{NAMESPACE}.svc:9504", "tlsConfig": {"caFile": "c"}},
                {"instances": ASKING_FOR_CERTIFICATES},
                "names no certificate of the client",
            ),
            (
                {"urlPrefix": f"http://{NAME}.{NAMESPACE}.svc"},
                {},
                f"calls http://{NAME}.{NAMESPACE}.svc, and the Service has port 9504",
            ),
            (
                {"urlPrefix": f"http://{NAME}.longhorn-system.svc:9504"},
                {},
                f"calls http://{NAME}.longhorn-system.svc:9504, and the Service is {NAME}.",
            ),
            ({"filterVerb": "filters"}, {}, "has filterVerb: filters, and the service answers"),
            ({"urlPrefix": "http://[::1"}, {}, "calls http://[::1, and the service speaks HTTP"),
        )
    ),
    (
        "scheduler-not-restarted",
        {
            "second_scheduler": scheduler(
                config=msgspec.structs.replace(configured(), changed=NOW),
                pods=[instance(started=NOW - timedelta(hours=1))],
            )
        },
        "pod new-one has run since 2026-03-01 11:00:00 UTC, and ConfigMap "
        f"{SCHEDULER_CONFIG} in {NAMESPACE} was changed at 2026-03-01 12:00:00",
    ),
    *(
        (
            "scheduler-of-other-version",
            {"second_scheduler": scheduler(f"registry.k8s.io/kube-scheduler:{tag}")},
            f"it is {tag}, and the cluster v1.36.1",
        )
        for tag in ("v1.34.9", "v1.37.0", "v2.36.1")
    ),
    (
        "never-called",
        {"lease": lease(annotations={})},
        "kube-scheduler has not called since 2026-02-01T12:00:00Z",
    ),
    (
        "never-prioritized",
        {"lease": only_filtered(most="3")},
        "kube-scheduler has called /filter with 3 candidates, and never /prioritize",
    ),
    (
        "nodes-not-sent",
        {"kubernetes_nodes": 300, "lease": noted(most="144")},
        "of 300 nodes kube-scheduler sends 144 as candidates by default, and it has never sent "
        "more than 144",
    ),
    (
        "nodes-not-sent",
        {
            "kubernetes_nodes": FORBIDDEN,
            "longhorn_nodes": [node(f"node-{number}") for number in range(101)],
        },
        "of 101 nodes of Longhorn kube-scheduler sends 100 as candidates by default",
    ),
    (
        "no-class",
        {"classes": [seen_class(storage_class(provisioner="other"))]},
        "there is no StorageClass that makes Longhorn volumes",
    ),
    (
        "class-not-local",
        {"classes": [seen_class(storage_class("far", dataLocality="disabled"))]},
        "volumes of far need no room on their pod's node, so that nothing is decided there: "
        "dataLocality is disabled",
    ),
    (
        "class-not-local",
        {
            "classes": [
                seen_class(
                    storage_class(
                        "s",
                        dataEngine="v2",
                        dataLocality="disabled",
                        dataLayout__type="sharded",
                        dataLayout__dataChunks="2",
                        dataLayout__parityChunks="1",
                        dataLayout__stripSizeKB="64",
                    )
                )
            ]
        },
        "they are sharded",
    ),
    (
        "class-not-local",
        {"classes": [seen_class(bare_class("longhorn"), immediate=True)]},
        "volumes of longhorn need no room on their pod's node, so that nothing is decided there: "
        "no dataLocality is given, and the default of Setting default-data-locality is disabled, "
        "and volumeBindingMode is Immediate",
    ),
    (
        "class-immediate",
        {"classes": [seen_class(storage_class("soon"), immediate=True)]},
        "volumes of soon are made before kube-scheduler looks at their pod",
    ),
    (
        "pack-outweighed",
        {"version": "v1.37.2", "instances": PACKING, "longhorn_settings": [TRACKED]},
        f"EXTENDER_BALANCE is pack (Deployment {NAME} in {NAMESPACE}), but kube-scheduler v1.37.2 "
        "gives points for free storage, as Longhorn's setting csi-storage-capacity-tracking "
        "is true",
    ),
    (
        "compute-nodes-left-out",
        {
            "longhorn_nodes": [node("compute", allow_scheduling=False), node("node-1")],
            "longhorn_settings": [TRACKED],
            "classes": [seen_class(FAR)],
        },
        "kube-scheduler leaves out compute for pods with new volumes of far: no replica can be "
        "placed there, and Longhorn's setting csi-storage-capacity-tracking is true",
    ),
    (
        "autoscaler-not-told",
        {"autoscalers": [autoscaler("--v=4")], "longhorn_settings": [TRACKED]},
        "pod kube-system/scaler runs without --scheduler-config-file: to cluster-autoscaler, pods "
        "that ask for longhorn.io/scheduler-extender fit on no node, so that it adds none for them",
    ),
    (
        "autoscaler-sees-no-room",
        {"autoscalers": [autoscaler(TOLD)]},
        "cluster-autoscaler (kube-system/scaler) does not know which nodes have room for new "
        "volumes, so that it adds none when disks are full: Longhorn's setting "
        "csi-storage-capacity-tracking is not true",
    ),
    (
        "class-unusable",
        {
            "classes": [
                seen_class(
                    storage_class("strict", dataLocality="strict-local", numberOfReplicas="2")
                )
            ]
        },
        "StorageClass strict has numberOfReplicas '2'; a strict-local volume must have 1 replica",
    ),
]


@pytest.mark.parametrize(
    ("problem", "changes", "text"), [pytest.param(*case, id=case[0]) for case in CASES]
)
def test_problem_is_found(problem: str, changes: Mapping[str, Any], text: str) -> None:
    found = findings(facts(**changes))

    [of_problem, *_] = [finding for finding in found if finding.code == problem]
    assert text in of_problem.text
    entry = PROBLEMS[problem]
    assert (of_problem.check, of_problem.severity) == (entry.check, entry.severity)
    assert of_problem.remedies


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"longhorn_settings": []}, id="not-tracked"),
        pytest.param({"longhorn_nodes": [node("node-1")]}, id="all-nodes-take-replicas"),
        pytest.param(
            {"longhorn_nodes": [node("compute", allow_scheduling=False, ready=False)]},
            id="not-ready",
        ),
        pytest.param({"classes": [seen_class(FAR, immediate=True)]}, id="made-before"),
        pytest.param({"classes": [seen_class(storage_class("near"))]}, id="local"),
        pytest.param(
            {
                "classes": [
                    seen_class(
                        storage_class("far", dataLocality="disabled", storageCapacityMode="zone")
                    )
                ]
            },
            id="zone",
        ),
    ],
)
def test_no_compute_node_is_left_out(changes: Mapping[str, Any]) -> None:
    left_out = {
        "longhorn_nodes": [node("compute", allow_scheduling=False), node("node-1")],
        "longhorn_settings": [TRACKED],
        "classes": [seen_class(FAR)],
    }

    titles = {finding.code for finding in findings(facts(**{**left_out, **changes}))}

    assert "compute-nodes-left-out" not in titles


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"version": "v1.36.9"}, id="older"),
        pytest.param({"instances": INSTANCES}, id="spread"),
        pytest.param({"longhorn_settings": []}, id="not-tracked"),
        pytest.param(
            {"second_scheduler": scheduler("kube-scheduler:v1.37.2")}, id="second-scheduler"
        ),
    ],
)
def test_nothing_outweighs_packing(changes: Mapping[str, Any]) -> None:
    outweighed = {"version": "v1.37.2", "instances": PACKING, "longhorn_settings": [TRACKED]}

    titles = {finding.code for finding in findings(facts(**{**outweighed, **changes}))}

    assert "pack-outweighed" not in titles


@pytest.mark.parametrize(
    ("changes", "severity"),
    [
        ({"autoscalers": [autoscaler(TOLD)]}, Severity.OK),
        ({"autoscalers": [autoscaler(f"sh -c './cluster-autoscaler {TOLD}'")]}, Severity.OK),
        ({"autoscalers": FORBIDDEN}, Severity.UNKNOWN),
        ({"autoscalers": [autoscaler(TOLD)], "longhorn_settings": FORBIDDEN}, Severity.UNKNOWN),
    ],
)
def test_an_autoscaler_that_is_told_is_fine_if_that_can_be_seen(
    changes: Mapping[str, Any], severity: Severity
) -> None:
    found = findings(facts(**{"longhorn_settings": [TRACKED], **changes}))

    assert [each.severity for each in at(found, Check.AUTOSCALER)] == [severity]


def test_every_problem_has_a_case() -> None:
    assert {problem for problem, _, _ in CASES} == {*PROBLEMS}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"slices": [SLICE, stray()]}, {"endpoints-foreign"}),
        ({"config_map": live_settings(scheduler_extender_enabled="false")}, {"disabled"}),
        ({"rights": granted(WAKE_UP), "instances": [ASLEEP, ASLEEP]}, set()),
        ({"classes": [seen_class(bare_class("longhorn-static"), immediate=True), FAST]}, set()),
        (
            {
                "classes": [seen_class(bare_class("plain"))],
                "longhorn_settings": [setting("default-data-locality", "best-effort")],
            },
            set(),
        ),
        # BackingImages are not read.
        ({"classes": [seen_class(storage_class("golden", backingImage="golden"))]}, set()),
        ({"lease": only_filtered(most="1")}, set()),
        ({"kubernetes_nodes": 100}, set()),
        ({"kubernetes_nodes": 300, "lease": noted(most="145")}, set()),
        ({"config_map": None}, {"injection-off"}),
        ({"service": service(clusterIP="fd00::95", ipFamilies=["IPv4"])}, set()),
    ],
)
def test_nothing_else_is_found(changes: Mapping[str, Any], expected: set[str]) -> None:
    assert problems(findings(facts(**changes))).keys() == expected


READ: Mapping[str, Sequence[Check]] = {
    "version": [Check.API_SERVER],
    "longhorn_settings": [Check.SETTINGS, Check.OWN_EXTENDER, Check.STORAGE_CLASSES],
    "rights": [Check.RIGHTS],
    "config_map": [Check.SETTINGS],
    "instances": [Check.INSTANCES, Check.ACCESS],
    "network_policies": [Check.ACCESS],
    "lease": [Check.LEASE, Check.REQUESTS],
    "holder": [Check.ENDPOINTS],
    "service": [Check.INSTALLATION, Check.SERVICE, Check.ENDPOINTS],
    "slices": [Check.ENDPOINTS],
    "classes": [Check.STORAGE_CLASSES],
}
"""What is read, and the checks that are nothing without it."""


@pytest.mark.parametrize("fact", READ)
def test_what_is_forbidden_is_unknown_and_stops_nothing_else(fact: str) -> None:
    found = findings(facts(**{fact: FORBIDDEN}))

    unknown = [finding.check for finding in found if finding.severity is not Severity.OK]
    assert unknown == READ[fact]
    assert {finding.check for finding in found} == {*Check}
    assert {each.severity for each in found} == {Severity.OK, Severity.UNKNOWN}


@pytest.mark.parametrize(
    ("is_forbidden", "text", "remedy"),
    [
        (True, "not allowed to list it", "run this as a user who may list it, so that it can be "),
        (False, "cannot list it: 500: etcd is away", "run this again"),
    ],
)
def test_what_cannot_be_read_says_why(*, is_forbidden: bool, text: str, remedy: str) -> None:
    unread = Unread(what="list it", why="500: etcd is away", is_forbidden=is_forbidden)

    [finding] = at(findings(facts(classes=unread)), Check.STORAGE_CLASSES)

    assert (finding.severity, finding.text) == (Severity.UNKNOWN, text)
    assert finding.remedies[0].startswith(remedy)


def test_longhorn_nodes_that_cannot_be_listed_are_told_once_by_their_kind() -> None:
    changes = {"kinds": {"nodes.longhorn.io": FORBIDDEN}, "longhorn_nodes": FORBIDDEN}

    found = findings(facts(**changes, kubernetes_nodes=FORBIDDEN))

    checks = [Check.LONGHORN, Check.CANDIDATES, Check.STORAGE_CLASSES]
    assert [each.check for each in found if each.severity is Severity.UNKNOWN] == checks


def test_all_unknown_still_says_something_of_every_check() -> None:
    names = {*Facts.__struct_fields__} - {"settings", "now", "account", "kinds", "left_over"}

    found = findings(facts(**dict.fromkeys(names, FORBIDDEN), kinds={"x": FORBIDDEN}))

    assert {finding.check for finding in found} == {*Check}


@pytest.mark.parametrize(
    ("last", "text"),
    [
        ("2026-03-01T11:59:59Z", "1 seconds ago"),
        ("2026-03-01T11:58:00Z", "2 minutes ago"),
        ("2026-03-01T10:00:00Z", "2 hours ago"),
        ("2026-02-01T12:00:00Z", "28 days ago"),
        ("2026-03-01T12:00:05Z", "at 2026-03-01 12:00:05 UTC, by a clock that is ahead"),
    ],
)
def test_the_last_call_is_told_with_its_age(last: str, text: str) -> None:
    [finding] = at(findings(facts(lease=noted(last))), Check.REQUESTS)

    assert finding.text == (
        f"kube-scheduler called {text}; it has not asked yet before it evicts pods"
    )


@pytest.mark.parametrize(
    ("nodes", "sample"),
    [(1, 1), (101, 100), (208, 101), (300, 144), (1000, 420), (5000, 500), (6000, 300)],
)
def test_sample_is_the_one_of_kube_scheduler(nodes: int, sample: int) -> None:
    """Those of 300, 1000 and 5000 nodes were seen, or are in Kubernetes' documentation."""
    assert sample_of(nodes) == sample


OF_KUBE_SCHEDULER = {"from": [CONTROL_PLANE], "ports": [{"port": "http"}]}
OTHER_PORT = {"ports": [{"port": 9505, "protocol": "TCP"}]}
CERTIFICATES = {
    "EXTENDER_TLS_CERT_FILE": "tls.crt",
    "EXTENDER_TLS_PRIVATE_KEY_FILE": "tls.key",
    "EXTENDER_CLIENT_CA_FILE": "ca.crt",
    "EXTENDER_METRICS_PORT": "9505",
}


@pytest.mark.parametrize(
    ("is_open", "policies"),
    [
        pytest.param(False, [policy(OF_KUBE_SCHEDULER, OTHER_PORT)], id="other-port"),
        pytest.param(
            False, [policy(OF_KUBE_SCHEDULER, {"ports": [{"port": "metrics"}]})], id="name"
        ),
        pytest.param(False, [policy({"ports": [{"protocol": "UDP"}]})], id="other-protocol"),
        pytest.param(False, [policy()], id="nobody"),
        pytest.param(False, [policy({"from": [{"podSelector": {}}]})], id="own-namespace"),
        pytest.param(True, [policy({})], id="all-ports"),
        pytest.param(True, [policy({"ports": [{"port": "http"}]})], id="named-port"),
        pytest.param(True, [policy({"ports": [{"port": 9000, "endPort": 9999}]})], id="range"),
        pytest.param(True, [policy({"ports": [{"protocol": "TCP"}]})], id="all-of-tcp"),
        pytest.param(True, [policy({"from": [{"ipBlock": {"cidr": "::/0"}}]})], id="addresses"),
        pytest.param(True, [policy({"from": [{"namespaceSelector": {}}]})], id="all-pods"),
        pytest.param(True, [policy(OF_KUBE_SCHEDULER), policy({})], id="one-of-two"),
        pytest.param(True, [policy(policyTypes=["Egress"])], id="what-goes-out"),
        pytest.param(True, [policy(podSelector={"matchLabels": {"app": "x"}})], id="other-pods"),
        pytest.param(False, [policy(podSelector={})], id="all-pods-of-the-namespace"),
    ],
)
def test_the_port_is_open_if_no_policy_says_who_may_reach_it(
    policies: list[NetworkPolicy], *, is_open: bool
) -> None:
    assert ("port-open" in problems(findings(facts(network_policies=policies)))) == is_open


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ({}, "clients need a certificate of the CA for clients"),
        (
            {"EXTENDER_CLIENT_NAMES": "kube-scheduler"},
            "clients need a certificate for kube-scheduler",
        ),
        (
            {"EXTENDER_PLAIN_UNTIL": "2026-12-24T12:00:00Z"},
            "clients need a certificate of the CA for clients; until 2026-12-24T12:00:00Z plain "
            "HTTP is answered, too",
        ),
    ],
)
def test_the_port_is_not_open_to_those_without_a_certificate(
    names: dict[str, str], text: str
) -> None:
    changes = {
        "instances": [instance(variables={**CERTIFICATES, **names})],
        "network_policies": FORBIDDEN,
    }

    [finding] = at(findings(facts(**changes)), Check.ACCESS)

    assert (finding.severity, finding.text) == (Severity.OK, text)


def test_only_the_policies_for_the_pods_are_named() -> None:
    of_others = policy(podSelector={"matchLabels": {"app": "longhorn-ui"}})
    of_others = msgspec.structs.replace(of_others, metadata=Metadata(name="of-longhorn"))

    found = findings(facts(network_policies=[of_others, policy(OF_KUBE_SCHEDULER)]))

    [finding] = at(found, Check.ACCESS)
    assert finding.text == "who can reach port 9504 is limited by ours"


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"injection": InjectionSeen(has_webhook=True, is_trusted=True)},
            "a webhook of the service gives new pods longhorn.io/scheduler-extender",
        ),
        (
            {
                "injection": InjectionSeen(),
                "service": wishing("none"),
            },
            "not installed: pods name longhorn.io/scheduler-extender themselves",
        ),
        (
            {"service": wishing("waiting")},
            f"MutatingAdmissionPolicy {INJECTION} gives new pods",
        ),
        (
            {"second_scheduler": scheduler("kube-scheduler:v1.36.0")},
            "it asks the service; it is v1.36.0, and the cluster v1.36.1",
        ),
        (
            {"second_scheduler": scheduler("a:5000/scheduler:v1.35.7")},
            "it asks the service; it is v1.35.7",
        ),
        (
            {"version": "v1.37.2", "second_scheduler": scheduler("kube-scheduler:v1.36.3")},
            "it asks the service; it is v1.36.3, and the cluster v1.37.2",
        ),
        ({"second_scheduler": None}, "none is installed"),
    ],
)
def test_how_pods_come_to_the_extender_is_said(changes: dict[str, Any], text: str) -> None:
    found = findings(facts(**changes))

    assert [each for each in found if each.text.startswith(text)]
    assert {each.severity for each in found} == {Severity.OK}


@pytest.mark.parametrize("image", ["scheduler@sha256:00", "scheduler", "scheduler:latest"])
def test_a_version_that_is_not_said_is_unknown(image: str) -> None:
    found = findings(facts(second_scheduler=scheduler(image)))

    [only] = [each for each in found if each.severity is not Severity.OK]
    assert only.severity is Severity.UNKNOWN
    assert image in only.text


@pytest.mark.parametrize(
    ("field", "value", "is_told"),
    [
        ("dataEngineTransport", "RDMA", True),
        ("transportType", {"default": "rdma"}, True),
        ("dataEngineTransport", "tcp", False),
        ("dataEngineTransport", "", False),
        ("volumeAntiAffinity", {"selectors": [{"matchLabels": {"app": "kafka"}}]}, True),
        ("volumeAntiAffinity", {}, False),
        ("volumeAntiAffinity", None, False),
        ("volumeAntiAffinityFromPod", "ignored", False),
        ("volumeAntiAffinityFromPod", "disabled", False),
        ("replicaSoftAntiAffinity", "enabled", False),
    ],
)
def test_what_is_not_judged_is_known_by_its_name_and_value(
    field: str, value: object, *, is_told: bool
) -> None:
    spec = {"size": "10", "nodeID": "rdma", field: value}
    volume = volume_seen(msgspec.convert({"metadata": {"name": "v"}, "spec": spec}, Volume))

    told = problems(findings(facts(volumes=[volume])))

    assert ("feature-not-judged" in told) is is_told


def test_what_other_provisioners_are_asked_for_is_their_own() -> None:
    other = seen_class(storage_class("other", provisioner="example.com/fabric", **RDMA))

    assert "feature-not-judged" not in problems(findings(facts(classes=[FAST, other])))


def test_volumes_that_cannot_be_read_are_told_with_their_kind() -> None:
    kinds = {KINDS[0]: True, KINDS[1]: FORBIDDEN}

    found = findings(facts(volumes=FORBIDDEN, kinds=kinds))

    assert [each.severity for each in at(found, Check.LONGHORN)] == [Severity.UNKNOWN]
