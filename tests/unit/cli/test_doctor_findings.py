"""Every problem is found in facts that differ from those of a healthy cluster by what causes it."""

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
import yaml
from click import unstyle

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
from cli.findings import finding_lines
from cli.kube.asking import WaitingPod
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
    "spec": {"clusterIP": "10.96.0.95", "ipFamilies": ["IPv4"],
        "ports": [{"name": "http", "port": 9504, "protocol": "TCP"}]},
}  # fmt: skip
HOLDER: dict[str, Any] = {
    "metadata": {"name": POD, "uid": "pod-uid"},
    "spec": {"nodeName": "node-1",
        "containers": [{"ports": [{"name": "http", "containerPort": 9504}]}]},
    "status": {"podIP": "10.42.0.1"},
}  # fmt: skip
[SLICE] = desired_slices(SERVICE, backend_of(HOLDER), 9504)
EMPTY = {**SLICE, "endpoints": []}
LABELS = {"app": NAME}
CONFIG = yaml.safe_load(
    written(make_wanted(Distribution.SECONDARY, f"http://{NAME}.{NAMESPACE}.svc:9504"))
)


def instances(**variables: str) -> list[InstanceSeen]:
    """Build both instances, with these of our environment variables."""
    given = {f"EXTENDER_{name}": value for name, value in variables.items()}
    return [InstanceSeen(name=each, labels=LABELS, variables=given) for each in (POD, f"{NAME}-1")]


TLS = {"TLS_CERT_FILE": "tls.crt", "TLS_PRIVATE_KEY_FILE": "tls.key", "METRICS_PORT": "9505"}
INSTANCES, PACKING, OVER_TLS = instances(), instances(BALANCE="pack"), instances(**TLS)
ASKING_FOR_CERTIFICATES = instances(**TLS, CLIENT_CA_FILE="ca.crt")
CONTROL_PLANE = {"ipBlock": {"cidr": "192.0.2.0/28"}}
SECONDS_AGO = "2026-03-01T11:59:30Z"
FILTERED = {LAST_REQUEST_AT: SECONDS_AGO, MOST_CANDIDATES: "3"}
LEASE = LeaseSeen(holder=f"{POD}_some-uuid", created="2026-02-01T12:00:00Z",
    annotations={**FILTERED, LAST_PRIORITIZE_AT: SECONDS_AGO})  # fmt: skip
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
    pods = [InstanceSeen(name=f"longhorn-scheduler-{number}") for number in range(2)]
    healthy = {"image": image, "config_name": SCHEDULER_CONFIG, "config": config, "pods": pods}
    return SchedulerSeen(**{**healthy, **changes})


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


def service(annotations: Mapping[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    metadata = SERVICE["metadata"] | ({"annotations": annotations} if annotations else {})
    return {"metadata": metadata, "spec": SERVICE["spec"] | spec}


def wishing(injection: str) -> dict[str, Any]:
    return service({"longhorn-scheduler-extender/injection": injection})


def lease(**changes: Any) -> LeaseSeen:
    return msgspec.structs.replace(LEASE, **changes)


def noted(last: str = SECONDS_AGO, most: str = "3") -> LeaseSeen:
    times = {LAST_REQUEST_AT: last, LAST_PRIORITIZE_AT: last}
    return lease(annotations={**times, MOST_CANDIDATES: most})


def instance(**changes: Any) -> InstanceSeen:
    return InstanceSeen(**{"name": "new-one", "labels": LABELS, **changes})


FAST = seen_class(storage_class("fast"))
ASLEEP = instance(variables={"EXTENDER_WAKE_UP": "false"})


def autoscaler(*arguments: str) -> AutoscalerSeen:
    return AutoscalerSeen(name="kube-system/scaler", arguments=["./cluster-autoscaler", *arguments])


TOLD = "--scheduler-config-file=/etc/scheduler/config.yaml"


def stray(**changes: Any) -> dict[str, Any]:
    return {**SLICE, "metadata": {**SLICE["metadata"], "name": "stray"}, **changes}


UNREADABLE = Unreadable(kind="Node", name="node-2", why="5 is no string")
TRACKED = setting("csi-storage-capacity-tracking", "true")
NEAR, FAR = (seen_class(storage_class(name, dataLocality=locality))
             for name, locality in (("near", "best-effort"), ("far", "disabled")))  # fmt: skip
RDMA, APART = {"dataEngineTransport": "rdma"}, {"volumeAntiAffinityFromPod": "enabled"}
SHARDS = {"dataChunks": "2", "parityChunks": "1", "stripSizeKB": "64"}
SHARDED = {f"dataLayout__{name}": value for name, value in {"type": "sharded", **SHARDS}.items()}
TWO_FAMILIES = service(ipFamilies=["IPv4", "IPv6"])
OF_SIX = {**SLICE["metadata"], "name": f"{NAME}-ipv6"}
DOOR = f"{NAME}.{NAMESPACE}.svc"
OFF, PERHAPS = (live_settings(scheduler_extender_enabled=value) for value in ("false", "perhaps"))
NOT_INJECTING = live_settings(scheduler_extender_inject="false")
BY_POLICY = InjectionSeen(has_policy=True, has_binding=True)
BY_WEBHOOK = InjectionSeen(has_webhook=True, is_trusted=True)
WAITING = {"injection": InjectionSeen(), "service": wishing("waiting")}
CHANGED = msgspec.structs.replace(configured(), changed=NOW)
LEFT_OUT = {
    "longhorn_nodes": [node("compute", allow_scheduling=False), node("node-1")],
    "longhorn_settings": [TRACKED],
    "classes": [FAR],
}
OUTWEIGHED = {"version": "v1.37.2", "instances": PACKING, "longhorn_settings": [TRACKED]}
OF_KUBE_SCHEDULER = {"from": [CONTROL_PLANE], "ports": [{"port": "http"}]}
OTHER_PORT = {"ports": [{"port": 9505, "protocol": "TCP"}]}
OF_UI = msgspec.structs.replace(
    policy(podSelector={"matchLabels": {"app": "ui"}}), metadata=Metadata(name="of-longhorn")
)
CHECKSUM = hashlib.sha256(CHANGED.data["config.yaml"].rstrip("\n").encode()).hexdigest()
RELEASE = Release("ours", NAMESPACE)
ANNOTATIONS = {"meta.helm.sh/release-name": "ours", "meta.helm.sh/release-namespace": NAMESPACE}
OF_HELM = service(ANNOTATIONS)
GONE: dict[str, Any] = {"left_over": LeftOver(), "instances": []}
BY_RELEASE = configured(RELEASE, filterVerb=None)
UNREAD = Unread(what="list it", why="500: etcd is away")


def by(*policies: NetworkPolicy) -> dict[str, Any]:
    return {"network_policies": policies}


def asked(**spec: Any) -> dict[str, Any]:
    """Build a volume with fields that may ask for what is not judged."""
    body = {"metadata": {"name": "v"}, "spec": {"size": "10", "nodeID": "rdma", **spec}}
    return {"volumes": [volume_seen(msgspec.convert(body, Volume))]}


def variables(*others: InstanceSeen, **given: str) -> dict[str, Any]:
    named = {f"EXTENDER_{name}": value for name, value in given.items()}
    return {"instances": [*others, instance(variables=named)]}


def by_certificate(**names: str) -> dict[str, Any]:
    asked = variables(**TLS, CLIENT_CA_FILE="ca.crt", **names)
    return asked | {"network_policies": FORBIDDEN}


def of_classes(*records: StorageClass, immediate: bool = False) -> dict[str, Any]:
    return {"classes": [seen_class(each, immediate=immediate) for each in records]}


def second(*image: str, **changes: Any) -> dict[str, Any]:
    return {"second_scheduler": scheduler(*image, **changes)}


THREE_SETTINGS = "variable-unusable, live-setting-unusable, disabled, emergency-on"
OF_RELEASE = {
    "config_map": live_settings(RELEASE, scheduler_extender_enabled="false", other="x"),
    "service": OF_HELM,
    **variables(*INSTANCES, PROT="1"),
    **second(config=BY_RELEASE),
}
ROWS: dict[str, dict[str, tuple[str, Mapping[str, Any]]]] = {}
ROWS["longhorn"] = {
    "schedules-not-served": ("", {"longhorn_nodes": [node("a")], "disk_schedules": None}),
    "schedules-of-no-disk": ("", {"longhorn_nodes": [node("a")], "disk_schedules": []}),
    "schedules-of-all-disks":
        ("", {"longhorn_nodes": [node("node-1")], "disk_schedules": [disk_schedule()]}),
    "schedule-not-ready": ("disk-schedule-not-ready",
        {"longhorn_nodes": [node("node-1")], "disk_schedules": [disk_schedule(ready=None)]}),
    "disk-without-schedule": ("disk-without-schedule", {"disk_schedules": [disk_schedule()],
        "longhorn_nodes": [node("node-1", disk("disk-1"), disk("disk-2"))]}),
    "kind-not-served": ("kind-not-served", {"kinds": {"nodes.longhorn.io": True, KINDS[1]: False}}),
    "nodes-missing": ("no-longhorn-node", {"longhorn_nodes": []}),
    "node-unreadable": ("object-unreadable",
        {"longhorn_nodes": [node("node-1"), UNREADABLE]}),
    "node-not-ready": ("node-unusable",
        {"longhorn_nodes": [node("node-1"), node("node-2", ready=False)]}),
    "nodes-closed": ("node-unusable",
        {"longhorn_nodes": [node(f"n{n}", disk(allow_scheduling=False)) for n in range(7)]}),
    "transport-of-classes-and-volumes": ("feature-not-judged", {
        "volumes": [VolumeSeen(name="a", watched=RDMA), VolumeSeen(name="b")],
        "classes": [FAST, seen_class(storage_class("fabric", **RDMA))]}),
    "anti-affinity-of-seven-volumes": ("feature-not-judged", {
        "longhorn_settings": [setting("volume-anti-affinity-from-pod", "true")],
        "volumes": [VolumeSeen(name=str(n), watched=APART) for n in range(7)]}),
    "transport-in-capitals": ("feature-not-judged", asked(dataEngineTransport="RDMA")),
    "transport-of-one-type": ("feature-not-judged", asked(transportType={"default": "rdma"})),
    "transport-by-tcp": ("", asked(dataEngineTransport="tcp")),
    "transport-by-default": ("", asked(dataEngineTransport="")),
    "anti-affinity-by-selectors": ("feature-not-judged",
        asked(volumeAntiAffinity={"selectors": [{"matchLabels": {"app": "kafka"}}]})),
    "anti-affinity-empty": ("", asked(volumeAntiAffinity={})),
    "anti-affinity-null": ("", asked(volumeAntiAffinity=None)),
    "anti-affinity-ignored": ("", asked(volumeAntiAffinityFromPod="ignored")),
    "anti-affinity-disabled": ("", asked(volumeAntiAffinityFromPod="disabled")),
    "anti-affinity-of-replicas": ("", asked(replicaSoftAntiAffinity="enabled")),
    "transport-of-another-provisioner": ("", {"classes": [FAST, seen_class(
        storage_class("other", provisioner="example.com/fabric", **RDMA))]}),
    "volumes-forbidden": ("longhorn?",
        {"volumes": FORBIDDEN, "kinds": {KINDS[0]: True, KINDS[1]: FORBIDDEN}}),
    "nodes-forbidden": ("longhorn?, candidates?, storage-classes?", {
        "kinds": {"nodes.longhorn.io": FORBIDDEN}, "longhorn_nodes": FORBIDDEN,
        "kubernetes_nodes": FORBIDDEN}),
}  # fmt: skip
ROWS["settings"] = {
    "right-missing":
        ("right-missing", {"rights": granted(Right("watch", "", "persistentvolumes"))}),
    "right-not-needed-asleep": ("", {"rights": granted(WAKE_UP), "instances": [ASLEEP] * 2}),
    "live-setting-odd": ("live-setting-unusable", {"config_map": PERHAPS}),
    "extender-disabled": ("disabled", {"config_map": OFF}),
    "namespace-of-longhorn": ("namespace-shared",
        {"settings": IN_LONGHORNS, "longhorn_settings": [setting(OWN_EXTENDER, "false")]}),
    "namespace-of-two-extenders": ("namespace-contested",
        {"settings": IN_LONGHORNS, "longhorn_settings": [setting(OWN_EXTENDER, "true")]}),
    "longhorn-setting-odd": ("longhorn-setting-unusable",
        {"longhorn_settings": [setting("storage-over-provisioning-percentage", "many")]}),
    "hold-of-one-node": ("answers-late, no-instance",
        {"settings": Settings(reservation_mode=Mode.NODE), "instances": []}),
    "filter-waits": ("answers-late",
        {"instances": [variables(FILTER_WAIT_SECONDS="5")["instances"][0], *INSTANCES]}),
}  # fmt: skip
ROWS["instances"] = {
    "instances-missing": ("no-instance", {"instances": []}),
    "instances-unready": ("no-instance-ready, instance-not-ready",
        {"instances": [instance(is_ready=False)]}),
    "instance-alone": ("no-standby", {"instances": [INSTANCES[0]]}),
    "instance-unready": ("instance-not-ready",
        {"instances": [*INSTANCES, instance(is_ready=False, trouble="CrashLoopBackOff")]}),
    "lease-missing": ("lease-absent, endpoints?, requests?", {"lease": None, "holder": None}),
    "lease-without-holder":
        ("lease-free, endpoints?", {"lease": lease(holder=None), "holder": None}),
    "lease-not-renewed": ("lease-stale", {"lease": lease(is_renewed=False, watched_seconds=8.4)}),
    "holder-gone": ("holder-gone, endpoints?", {"holder": None}),
}  # fmt: skip
ROWS["service"] = {
    "service-missing": ("service-absent, endpoints?", {"service": None}),
    "service-with-selector": ("service-selects", {"service": service(selector={"app": NAME})}),
    "service-for-udp": ("service-without-port, endpoints-wrong",
        {"service": service(ports=[{"name": "http", "port": 9504, "protocol": "UDP"}])}),
    "service-headless": ("service-without-address", {"service": service(clusterIP="None")}),
    "service-of-family-six-called-four":
        ("", {"service": service(clusterIP="fd00::95", ipFamilies=["IPv4"])}),
    "slices-missing": ("endpoints-absent", {"slices": []}),
    "slice-stray": ("endpoints-foreign", {"slices": [SLICE, stray()]}),
    "slice-stray-and-empty": ("endpoints-left-over", {"slices": [SLICE, stray(endpoints=None)]}),
    "slice-of-another-address": ("endpoints-wrong",
        {"slices": [{**SLICE, "endpoints": [{"addresses": ["10.42.0.9"]}]}]}),
    "slice-of-another-port": ("endpoints-wrong",
        {"slices": [{**SLICE, "ports": [{"name": "https", "protocol": "TCP", "port": 9504}]}]}),
    "slice-without-owner": ("endpoints-wrong",
        {"slices": [{**SLICE, "metadata": {**SLICE["metadata"], "ownerReferences": []}}]}),
    "slice-of-a-family-missing": ("family-unserved, endpoints-wrong", {"service": TWO_FAMILIES}),
    "slice-of-no-family": ("endpoints-wrong", {"slices": [SLICE, {**SLICE, "metadata": OF_SIX}]}),
    "family-unserved": ("family-unserved", {"service": TWO_FAMILIES,
        "slices": [SLICE, {**EMPTY, "metadata": OF_SIX, "addressType": "IPv6"}]}),
}  # fmt: skip
ROWS["access"] = {
    "policies-missing": ("port-open", by()),
    "policy-for-everybody": ("port-open", by(policy({"ports": [{"port": 9504}]}))),
    "policy-for-other-port": ("", by(policy(OF_KUBE_SCHEDULER, OTHER_PORT))),
    "policy-for-other-name": ("", by(policy(OF_KUBE_SCHEDULER, {"ports": [{"port": "metrics"}]}))),
    "policy-for-udp": ("", by(policy({"ports": [{"protocol": "UDP"}]}))),
    "policy-without-rule": ("", by(policy())),
    "policy-for-own-namespace": ("", by(policy({"from": [{"podSelector": {}}]}))),
    "policy-for-all-ports": ("port-open", by(policy({}))),
    "policy-for-named-port": ("port-open", by(policy({"ports": [{"port": "http"}]}))),
    "policy-for-range": ("port-open", by(policy({"ports": [{"port": 9000, "endPort": 9999}]}))),
    "policy-for-all-of-tcp": ("port-open", by(policy({"ports": [{"protocol": "TCP"}]}))),
    "policy-for-all-addresses":
        ("port-open", by(policy({"from": [{"ipBlock": {"cidr": "::/0"}}]}))),
    "policy-for-all-pods": ("port-open", by(policy({"from": [{"namespaceSelector": {}}]}))),
    "policy-beside-an-open-one": ("port-open", by(policy(OF_KUBE_SCHEDULER), policy({}))),
    "policy-for-what-goes-out": ("port-open", by(policy(policyTypes=["Egress"]))),
    "policy-of-other-pods": ("port-open", by(policy(podSelector={"matchLabels": {"app": "x"}}))),
    "policy-of-the-namespace": ("", by(policy(podSelector={}))),
    "policy-beside-that-of-other-pods": ("", by(OF_UI, policy(OF_KUBE_SCHEDULER))),
    "certificate-of-the-ca": ("no-standby", by_certificate()),
    "certificate-of-a-name": ("no-standby", by_certificate(CLIENT_NAMES="kube-scheduler")),
    "certificate-or-plain-http": ("no-standby", by_certificate(PLAIN_UNTIL="2026-12-24T12:00:00Z")),
}  # fmt: skip
ROWS["release"] = {
    "installation-by-release": ("", {"service": OF_HELM}),
    "live-setting-of-a-release": ("live-setting-unusable",
        {"config_map": live_settings(RELEASE, scheduler_extender_pod_scheduling_timeout="x")}),
    "live-setting-of-none": ("live-setting-unusable",
        {"config_map": live_settings(scheduler_extender_node_reservation_timeout="x")}),
    "live-setting-unknown":
        ("live-setting-unusable", {"config_map": live_settings(RELEASE, other="x")}),
    "live-setting-changed-by-a-person": ("disabled", {"config_map": msgspec.structs.replace(
        live_settings(RELEASE, scheduler_extender_enabled="false"),
        by_people=frozenset({"scheduler-extender-enabled"}))}),
    "variable-of-a-release-misspelt":
        ("variable-unusable", {**variables(*INSTANCES, PROT="1"), "service": OF_HELM}),
    "variable-of-a-release-odd":
        ("variable-unusable", {**variables(*INSTANCES, PORT="one"), "service": OF_HELM}),
    "variable-misspelt": ("variable-unusable", variables(*INSTANCES, PROT="1")),
    "variable-odd": ("variable-unusable", variables(*INSTANCES, PORT="one")),
    "all-of-a-release": (THREE_SETTINGS, OF_RELEASE),
    "all-of-a-release-changed-by-people": (THREE_SETTINGS, {**OF_RELEASE, **second(
        config=msgspec.structs.replace(BY_RELEASE, by_people=frozenset({"config.yaml"})))}),
}  # fmt: skip
ROWS["left-over"] = {
    "service": ("not-installed", {**GONE, "injection": InjectionSeen()}),
    "webhook": ("not-installed", {"left_over": LeftOver(), "injection": BY_WEBHOOK}),
    "pods-forbidden": ("installation?, not-installed", {"left_over": LeftOver(asking=FORBIDDEN)}),
    "all": ("not-installed", {**GONE, "injection": BY_POLICY, "service": None,
        "left_over": LeftOver(leases=[NAME], asking=[
            WaitingPod(namespace="a", name="x", controller="StatefulSet web"),
            WaitingPod(namespace="a", name="y", controller="StatefulSet web"),
            WaitingPod(namespace="b", name="bare")])}),
}  # fmt: skip
ROWS["injection"] = {
    "injection-missing": ("not-injected", {"injection": InjectionSeen()}),
    "injection-waits-and-calls-come": ("injection-waits", WAITING),
    "injection-waits-and-no-call-came": ("injection-waits, never-called",
        {**WAITING, "lease": lease(annotations={})}),
    "injection-waits-and-lease-forbidden": ("lease?, injection-waits, requests?",
        {**WAITING, "lease": FORBIDDEN}),
    "injection-waits-and-lease-missing": ("lease-absent, injection-waits, requests?",
        {**WAITING, "lease": None}),
    "policy-off-without-settings": ("injection-off", {"injection": BY_POLICY, "config_map": None}),
    "policy-off": ("injection-off", {"injection": BY_POLICY, "config_map": NOT_INJECTING}),
    "webhook-off-without-settings":
        ("injection-off", {"injection": BY_WEBHOOK, "config_map": None}),
    "webhook-off": ("injection-off", {"injection": BY_WEBHOOK, "config_map": NOT_INJECTING}),
    "policy-without-binding":
        ("injection-without-effect", {"injection": InjectionSeen(has_policy=True)}),
    "webhook-without-ca":
        ("injection-without-effect", {"injection": InjectionSeen(has_webhook=True)}),
    "webhook-injects": ("", {"injection": BY_WEBHOOK}),
    "injection-not-wished": ("", {"injection": InjectionSeen(), "service": wishing("none")}),
    "policy-injects-though-waiting": ("", {"service": wishing("waiting")}),
    "extender-missing": ("not-installed", {"left_over": LeftOver()}),
}  # fmt: skip
ROWS["scheduler"] = {
    "scheduler-unready": ("scheduler-not-ready",
        second(pods=[instance(is_ready=False, trouble="ErrImagePull")])),
    "configuration-missing": ("scheduler-not-configured", second(config=None)),
    "configuration-without-resource": ("scheduler-not-configured", called_by(managedResources=[])),
    "configuration-unreadable": ("scheduler-not-configured",
        second(config=ConfigMapSeen(name="c", data={"config.yaml": "{"}))),
    "configuration-empty": ("scheduler-not-configured", second(config=ConfigMapSeen(name="c"))),
    "verb-missing": ("emergency-on", called_by(filterVerb=None)),
    "verb-misspelt": ("scheduler-calls-wrong", called_by(filterVerb="filters")),
    "http-to-https": ("scheduler-calls-wrong", {**called_by(), "instances": OVER_TLS}),
    "https-to-http": ("scheduler-calls-wrong", called_by(urlPrefix=f"https://{DOOR}:9504")),
    "certificate-missing": ("scheduler-calls-wrong", {
        **called_by(urlPrefix=f"https://{DOOR}:9504", tlsConfig={"caFile": "c"}),
        "instances": ASKING_FOR_CERTIFICATES}),
    "port-missing": ("scheduler-calls-wrong", called_by(urlPrefix=f"http://{DOOR}")),
    "namespace-wrong": ("scheduler-calls-wrong",
        called_by(urlPrefix=f"http://{NAME}.longhorn-system.svc:9504")),
    "address-unreadable": ("scheduler-calls-wrong", called_by(urlPrefix="http://[::1")),
    "configuration-changed-since": ("scheduler-not-restarted",
        second(config=CHANGED, pods=[instance(started=NOW - timedelta(hours=1))])),
    "version-two-behind": ("scheduler-of-other-version", second("r.io/scheduler:v1.34.9")),
    "version-ahead": ("scheduler-of-other-version", second("r.io/scheduler:v1.37.0")),
    "version-of-another-major": ("scheduler-of-other-version", second("scheduler:v2.36.1")),
    "version-of-an-older-patch": ("", second("kube-scheduler:v1.36.0")),
    "version-one-behind": ("", second("a:5000/scheduler:v1.35.7")),
    "version-one-behind-another": ("", {"version": "v1.37.2", **second("kube-scheduler:v1.36.3")}),
    "version-in-a-digest": ("scheduler?", second("scheduler@sha256:00")),
    "version-missing": ("scheduler?", second("scheduler")),
    "version-latest": ("scheduler?", second("scheduler:latest")),
    "scheduler-missing": ("", {"second_scheduler": None}),
    "configuration-changed-and-read": ("", second(config=CHANGED, pods=[
        instance(started=NOW.replace(hour=9), config_checksum=CHECKSUM)])),
    "service-called-by-its-name": ("", called_by(urlPrefix=f"http://{NAME}:9504")),
    "service-called-by-its-namespace":
        ("", called_by(urlPrefix=f"http://{NAME}.{NAMESPACE}:9504", filterVerb="/filter")),
    "service-called-by-its-domain":
        ("", called_by(urlPrefix=f"http://{DOOR}.cluster.local.:9504/")),
    "service-called-by-its-address": ("", called_by(urlPrefix="http://10.96.0.95:9504")),
    # A roll-out is judged by the instance that leads.
    "roll-out-of-https":
        ("", {**second(), "instances": [by_certificate()["instances"][0], *INSTANCES]}),
}  # fmt: skip
ROWS["requests"] = {
    "call-missing": ("never-called", {"lease": lease(annotations={})}),
    "call-to-prioritize-missing": ("never-prioritized", {"lease": lease(annotations=FILTERED)}),
    "call-of-one-candidate": ("", {"lease": lease(annotations={**FILTERED, MOST_CANDIDATES: "1"})}),
    "call-seconds-ago": ("", {"lease": noted("2026-03-01T11:59:59Z")}),
    "call-minutes-ago": ("", {"lease": noted("2026-03-01T11:58:00Z")}),
    "call-hours-ago": ("", {"lease": noted("2026-03-01T10:00:00Z")}),
    "call-days-ago": ("", {"lease": noted("2026-02-01T12:00:00Z")}),
    "call-ahead": ("", {"lease": noted("2026-03-01T12:00:05Z")}),
    "nodes-more-than-sent":
        ("nodes-not-sent", {"kubernetes_nodes": 300, "lease": noted(most="144")}),
    "nodes-of-longhorn-more-than-sent": ("nodes-not-sent", {
        "kubernetes_nodes": FORBIDDEN, "longhorn_nodes": [node(f"n-{n}") for n in range(101)]}),
    "nodes-as-many-as-sent": ("", {"kubernetes_nodes": 100}),
    "nodes-sent-beyond-the-sample": ("", {"kubernetes_nodes": 300, "lease": noted(most="145")}),
}  # fmt: skip
ROWS["classes"] = {
    "class-missing": ("no-class", of_classes(storage_class(provisioner="other"))),
    "class-of-others-beside": ("", of_classes(storage_class("fast"), storage_class(
        "other", provisioner="example.com/x", dataLocality="disabled"))),
    "class-not-local": ("class-not-local", {"classes": [FAR]}),
    "class-sharded": ("class-not-local", of_classes(
        storage_class("s", dataEngine="v2", dataLocality="disabled", **SHARDED))),
    "class-without-locality":
        ("class-not-local", of_classes(bare_class("longhorn"), immediate=True)),
    "class-without-locality-but-by-setting": ("", {**of_classes(bare_class("plain")),
        "longhorn_settings": [setting("default-data-locality", "best-effort")]}),
    "class-longhorn-static":
        ("", {"classes": [seen_class(bare_class("longhorn-static"), immediate=True), FAST]}),
    # BackingImages are not read.
    "class-with-image": ("", of_classes(storage_class("golden", backingImage="golden"))),
    "class-immediate": ("class-immediate", of_classes(storage_class("soon"), immediate=True)),
    "class-odd": ("class-unusable", of_classes(
        storage_class("strict", dataLocality="strict-local", numberOfReplicas="2"))),
    "packing-outweighed": ("pack-outweighed", OUTWEIGHED),
    "packing-of-an-older-kubernetes": ("", {**OUTWEIGHED, "version": "v1.36.9"}),
    "spreading": ("", {**OUTWEIGHED, "instances": INSTANCES}),
    "packing-and-room-not-tracked": ("", {**OUTWEIGHED, "longhorn_settings": []}),
    "packing-by-second-scheduler": ("", {**OUTWEIGHED, **second("scheduler:v1.37.2")}),
    "node-left-out": ("node-unusable, class-not-local, compute-nodes-left-out", LEFT_OUT),
    "node-and-room-not-tracked":
        ("node-unusable, class-not-local", {**LEFT_OUT, "longhorn_settings": []}),
    "nodes-that-take-all": ("class-not-local", {**LEFT_OUT, "longhorn_nodes": [node("node-1")]}),
    "node-not-ready-and-closed": ("node-unusable, class-not-local", {**LEFT_OUT,
        "longhorn_nodes": [node("compute", allow_scheduling=False, ready=False)]}),
    "volume-made-before": ("node-unusable, class-not-local",
        {**LEFT_OUT, "classes": [msgspec.structs.replace(FAR, binding_mode="Immediate")]}),
    "volume-local": ("node-unusable", {**LEFT_OUT, "classes": [NEAR]}),
    "room-told-of-zones": ("node-unusable, class-not-local", {**LEFT_OUT, **of_classes(
        storage_class("far", dataLocality="disabled", storageCapacityMode="zone"))}),
}  # fmt: skip
ROWS["autoscaler"] = {
    "autoscaler-not-told": ("autoscaler-not-told",
        {"autoscalers": [autoscaler("--v=4")], "longhorn_settings": [TRACKED]}),
    "autoscaler-without-room": ("autoscaler-sees-no-room", {"autoscalers": [autoscaler(TOLD)]}),
    "autoscaler-told": ("", {"autoscalers": [autoscaler(TOLD)], "longhorn_settings": [TRACKED]}),
    "autoscaler-told-by-shell": ("", {"longhorn_settings": [TRACKED],
        "autoscalers": [autoscaler(f"sh -c './cluster-autoscaler {TOLD}'")]}),
    "autoscalers-forbidden":
        ("autoscaler?", {"autoscalers": FORBIDDEN, "longhorn_settings": [TRACKED]}),
    "autoscaler-and-settings-forbidden": (
        "settings?, own-extender?, storage-classes?, autoscaler?",
        {"autoscalers": [autoscaler(TOLD)], "longhorn_settings": FORBIDDEN}),
}  # fmt: skip
ROWS["forbidden"] = {
    "version": ("api-server?", {"version": FORBIDDEN}),
    "longhorn-settings": ("settings?, own-extender?, storage-classes?",
        {"longhorn_settings": FORBIDDEN}),
    "rights": ("rights?", {"rights": FORBIDDEN}),
    "settings": ("settings?", {"config_map": FORBIDDEN}),
    "instances": ("instances?, access?", {"instances": FORBIDDEN}),
    "policies": ("access?", {"network_policies": FORBIDDEN}),
    "lease": ("lease?, requests?", {"lease": FORBIDDEN}),
    "holder": ("endpoints?", {"holder": FORBIDDEN}),
    "service": ("installation?, service?, endpoints?", {"service": FORBIDDEN}),
    "slices": ("endpoints?", {"slices": FORBIDDEN}),
    "classes": ("storage-classes?", {"classes": FORBIDDEN}),
    "classes-for-another-reason": ("storage-classes?", {"classes": UNREAD}),
}  # fmt: skip
"""What differs from a healthy cluster, and the problems that are found; `lease?` cannot be seen."""


@pytest.mark.parametrize(("topic", "row"), [(topic, row) for topic in ROWS for row in ROWS[topic]])
def test_a_state_has_its_problems(topic, row):
    problems, changes = ROWS[topic][row]

    found = findings(facts(**changes))

    wrong = [each for each in found if each.severity is not Severity.OK]
    named = dict.fromkeys(each.code or f"{each.check}?" for each in wrong)
    assert ", ".join(named) == problems
    for each in wrong:
        assert each.remedies or not each.code
        assert each.code == "" or PROBLEMS[each.code].severity is each.severity
        assert each.code == "" or PROBLEMS[each.code].check is each.check
        assert each.code or each.severity is Severity.UNKNOWN
    assert {each.check for each in found} == {*Check} or "left_over" in changes


@pytest.mark.parametrize("topic", ROWS)
def test_a_state_is_told_in_these_lines(golden, topic):
    """What is told of a healthy cluster, too, is left out."""
    healthy, lines = findings(facts()), list[str]()
    for row, (_, changes) in ROWS[topic].items():
        told = [each for each in findings(facts(**changes)) if each not in healthy]
        lines += [f"# {row}", *finding_lines(told, 100, checks=15, show_all=True), ""]

    golden(f"doctor/{topic}", unstyle("\n".join(lines)))


def test_a_healthy_cluster_has_one_line_for_each_check(golden):
    found = findings(facts())

    assert [finding.check for finding in found] == [*Check]
    assert {finding.severity for finding in found} == {Severity.OK}
    golden("doctor/healthy", unstyle("\n".join([*finding_lines(found, 100, checks=15), ""])))


@pytest.mark.parametrize("row", ["all-of-a-release", "all-of-a-release-changed-by-people"])
def test_an_object_of_a_release_is_never_patched(row):
    remedies = str([each.remedies for each in findings(facts(**ROWS["release"][row][1]))])

    assert "patch" not in remedies
    assert "set env" not in remedies


def test_every_problem_has_a_state():
    states = [row for topic in ROWS.values() for row, _ in topic.values()]
    assert {code for row in states for code in row.split(", ") if "?" not in code} - {""} == {
        *PROBLEMS
    }


def test_all_unknown_still_says_something_of_every_check():
    names = {*Facts.__struct_fields__} - {"settings", "now", "account", "kinds", "left_over"}

    found = findings(facts(**dict.fromkeys(names, FORBIDDEN), kinds={"x": FORBIDDEN}))

    assert {finding.check for finding in found} == {*Check}


@pytest.mark.parametrize(
    ("nodes", "sample"),
    [(1, 1), (101, 100), (208, 101), (300, 144), (1000, 420), (5000, 500), (6000, 300)],
)
def test_sample_is_the_one_of_kube_scheduler(nodes, sample):
    """Those of 300, 1000 and 5000 nodes were seen, or are in Kubernetes' documentation."""
    assert sample_of(nodes) == sample
