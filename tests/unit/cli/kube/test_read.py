"""What is read of Kubernetes' objects for plans: each as a whole, and why one cannot be read.

A row has what must be said of the object; its golden file has all of the record that is read.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from app.config import RESOURCE
from cli.kube.decoding import read_object
from cli.kube.pods import Pod
from cli.kube.resources import PLANNED, WRITTEN
from longhorn import Unreadable
from planner.records import Wishes
from planner.workloads import Workload
from tests.builders import core_document

Document = dict[str, Any]
APIS = {"StorageClass": "storage.k8s.io/v1", "PodDisruptionBudget": "policy/v1"}
APIS |= dict.fromkeys(("StatefulSet", "Deployment", "ReplicaSet", "DaemonSet"), "apps/v1")
APIS |= dict.fromkeys(("Job", "CronJob"), "batch/v1")
ZONE = "topology.kubernetes.io/zone"
ON_A = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["a"]}
IS_WEB = {"matchLabels": {"app": "web"}}
WEB = {"labelSelector": IS_WEB, "topologyKey": ZONE}
NEAR = {"weight": 7, "podAffinityTerm": WEB}
SSD = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
CLAIM_SPEC: Document = {
    "accessModes": ["ReadWriteOnce"],
    "resources": {"requests": {"storage": "10Gi"}},
}


def shown(value: object) -> str:
    """Write a record without what is as by default."""
    if isinstance(value, msgspec.Struct):
        fields = {each.name: each for each in msgspec.structs.fields(value)}
        given = {name: getattr(value, name) for name in fields}
        kept = {n: each for n, each in given.items() if each != default_of(fields[n])}
        return f"{type(value).__name__}({', '.join(f'{n}={shown(v)}' for n, v in kept.items())})"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {shown(each)}" for key, each in value.items()) + "}"
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(shown, value))}]"
    return f"{{{', '.join(sorted(value))}}}" if isinstance(value, frozenset) else repr(value)


def default_of(field: Any) -> object:
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return field.default


def of(kind: str, spec: Mapping[str, Any] | None = None, **fields: Any) -> Document:
    """Build an object `default/db`; underscores of other fields than its spec are none."""
    name, metadata = fields.pop("name", "db"), fields.pop("metadata", {})
    found = core_document(kind, name, metadata=metadata)
    if spec is not None:
        found["spec"] = spec
    return found | ({"apiVersion": APIS[kind]} if kind in APIS else {}) | fields


def asking(**requests: Any) -> Document:
    return {"resources": {"requests": requests}}


def limited(limits: Document, **requests: Any) -> Document:
    return {"resources": {"requests": requests, "limits": limits}}


def sidecar(**requests: Any) -> Document:
    return {**asking(**requests), "restartPolicy": "Always"}


def pod(*containers: Document, metadata: Document | None = None, **spec: Any) -> Document:
    """Build a pod; its init containers are `init`."""
    init = {"initContainers": spec.pop("init")} if "init" in spec else {}
    return of("Pod", {"containers": list(containers or [{}]), **init, **spec},
              metadata=metadata or {"labels": {"app": "web", "rev": "1"}})  # fmt: skip


def ports(*given: Document, **spec: Any) -> Document:
    return pod({"ports": list(given)}, **spec)


def volumes(*given: Document, **spec: Any) -> Document:
    return pod(volumes=[{"name": "v", **each} for each in given], **spec)


def near(rule: Document, kind: str = "podAffinity", when: str = REQUIRED) -> Document:
    return pod(affinity={kind: {when: [rule]}})


def spread(**changes: Any) -> Document:
    rule = {"topologyKey": ZONE, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    return pod(topologySpreadConstraints=[rule | changes])


def workload(kind: str = "Deployment", pods: Document | None = None, **spec: Any) -> Document:
    """Build a workload; *pods* are fields of the spec of its pods."""
    shared = [{"name": "shared", "persistentVolumeClaim": {"claimName": "all"}},
              {"name": "conf", "configMap": {"name": "x"}}]  # fmt: skip
    of_pods = {"containers": [asking(cpu="1")], "volumes": shared} | (pods or {})
    template = {"metadata": {"labels": {"app": "db"}}, "spec": of_pods}
    return of(kind, {"template": template, **spec})


def job(status: Document | None = None, **spec: Any) -> Document:
    return workload("Job", **spec) | {"status": status or {}}


def claim(**spec: Any) -> Document:
    return of("PersistentVolumeClaim", CLAIM_SPEC | spec)


def set_of(*claims: Document, **spec: Any) -> Document:
    """Build a StatefulSet with claim templates, of which these are fields of the spec."""
    templates = [each if "metadata" in each else {"metadata": {"name": "data"}} | {
        "spec": CLAIM_SPEC | each} for each in claims]  # fmt: skip
    return workload("StatefulSet", volumeClaimTemplates=templates, **spec)


def sized(storage: object) -> Document:
    return set_of({"resources": {"requests": {"storage": storage}}})


def cron_job(**spec: Any) -> Document:
    of_job = workload("Job", parallelism=2)["spec"]
    return of("CronJob", {"jobTemplate": {"spec": of_job}, **spec})


def persistent(affinity: Any = None, **spec: Any) -> Document:
    csi = {"driver": "d", "volumeHandle": "h"}
    return of("PersistentVolume", {"nodeAffinity": affinity, "csi": csi, **spec})


def budget(**spec: Any) -> Document:
    return of("PodDisruptionBudget", spec)


OWNERS = [{"kind": "Other", "name": "o"}, {"kind": "Job", "name": "j", "controller": True}]
DEPLOYED = {"ownerReferences": [{"kind": "Deployment", "name": "db", "controller": True}]}
AMOUNTS = {"cpu": "3920m", "memory": "2Gi", "pods": "110", "gpu": 2}
EPHEMERAL = {"volumeClaimTemplate": {"spec": CLAIM_SPEC}}
UNPLANNED: Document = {
    "resourceClaims": [{"name": "gpu"}],
    "schedulingGates": [{"name": "later"}],
    "schedulingGroup": {"podGroupName": "all"},
    "runtimeClassName": "kata",
}
ROWS: dict[str, dict[str, tuple[str, Document]]] = {
    "workloads": {
        "stateful-set": ("first=1, ordered=True", set_of({"storageClassName": "local"}, replicas=3,
            ordinals={"start": 1})),
        "stateful-set-in-parallel": ("kind='StatefulSet'", set_of(podManagementPolicy="Parallel")),
        **{f"stateful-set-and-claims-{policy}": (fact, set_of(
            persistentVolumeClaimRetentionPolicy={"whenScaled": policy} if policy else {}))
            for policy, fact in {"Delete": "deletes_claims=True", "Retain": "ordered=True",
                                 "": "ordered=True"}.items()},
        # It comes in place of the volume of its name.
        "claim-template-shared":
            ("name='shared'", set_of({"metadata": {"name": "shared"}, "spec": CLAIM_SPEC})),
        "deployment":
            ("owner=['Deployment', 'db']", workload(replicas=2) | {"metadata": {
                "name": "db", "namespace": "default", **DEPLOYED}}),
        "replica-set": ("replicas=2", workload("ReplicaSet", replicas=2)),
        "replicas-by-default": ("kind='Deployment'", workload()),
        "replicas-none": ("replicas=0", workload(replicas=0)),
        "daemon-set": ("replicas=0", workload("DaemonSet")),
        "job": ("job-name: 'db'", job()),
        "job-in-parallel": ("replicas=3", job(parallelism=3)),
        "job-of-five": ("kind='Job'", job(completions=5)),
        "job-of-two-in-parallel": ("replicas=2", job(parallelism=3, completions=2)),
        "job-of-nine-in-parallel": ("replicas=2", job(parallelism=2, completions=9)),
        "job-suspended": ("replicas=0", job(parallelism=3, suspend=True)),
        "job-begun": ("replicas=3", job({"succeeded": 1}, parallelism=3, completions=5)),
        "job-nearly-done": ("kind='Job'", job({"succeeded": 4}, parallelism=3, completions=5)),
        "job-done": ("replicas=0", job({"succeeded": 6}, parallelism=3, completions=5)),
        "job-without-number-begun": ("replicas=3", job({"succeeded": 0}, parallelism=3)),
        "job-without-number-done": ("replicas=0", job({"succeeded": 1}, parallelism=3)),
        **{f"job-{kind}": (fact, job({"conditions": [{"type": kind, "status": "True"}]},
            parallelism=3)) for kind, fact in {"Failed": "replicas=0", "Complete": "replicas=0",
                                               "Suspended": "replicas=3"}.items()},
        "cron-job": ("CronJob", cron_job(suspend=None)),
        "cron-job-not-suspended": ("replicas=2", cron_job(suspend=False)),
        "cron-job-suspended": ("replicas=0", cron_job(suspend=True)),
        "volume-ephemeral": ("'all', NewClaim(", workload(pods={"volumes": [
            {"name": "a", "persistentVolumeClaim": {"claimName": "all"}},
            {"name": "b", "ephemeral": EPHEMERAL}]})),
        # It is new wherever it was.
        "pod": ("volumes=['all']", of("Pod", workload()["spec"]["template"]["spec"], metadata={
            "deletionTimestamp": "2026-11-21T03:00:00Z"}, status={"phase": "Running"})),
        "template-with-node": ("node_name='node-1'", workload(pods={"nodeName": "node-1"})),
        "claim-of-no-class": ("storage_class=''", claim(storageClassName="")),
        "claim-of-a-volume": ("persistent_volume='pv'", claim(volumeName="pv")),
        "claim-shared":
            ("read_write_many=True", claim(accessModes=["ReadWriteMany", "ReadOnlyMany"])),
        "claim-of-one-pod": ("read_write_once_pod=True", claim(accessModes=["ReadWriteOncePod"])),
    },
    "workloads-refused": {
        "spec-missing": ("no spec.template", of("Deployment")),
        "template-missing": ("no spec.template", of("Deployment", {"template": None})),
        "containers-none": ("at least one container", workload(pods={"containers": []})),
        "pod-without-containers": ("spec.containers is empty", of("Pod")),
        "replicas-negative": ("spec.replicas is -1; use 0", workload(replicas=-1)),
        "replicas-absurd": ("150000 pods at most", workload(replicas=10**9)),
        "replicas-in-a-text": ("$.spec.replicas", workload(replicas="three")),
        "parallelism-negative": ("spec.parallelism is -2", job(parallelism=-2)),
        "completions-negative": ("spec.completions is -2", job(completions=-2)),
        "ordinals-negative": ("ordinals.start is -1", set_of(ordinals={"start": -1})),
        "policy": ("'Random'", set_of(podManagementPolicy="Random")),
        "retention": ("whenScaled is 'Keep'",
            set_of(persistentVolumeClaimRetentionPolicy={"whenScaled": "Keep"})),
        "claim-template-without-metadata": ("$.spec.volumeClaimTemplates[0]",
            workload("StatefulSet", volumeClaimTemplates=[{"spec": CLAIM_SPEC}])),
        "claim-template-without-name": ("volumeClaimTemplates[0].metadata.name",
            set_of({"metadata": {"name": ""}, "spec": CLAIM_SPEC})),
        "claim-templates-of-one-name": ("have one name; rename one", set_of({}, {})),
        "size-zero": ("asks for 0", sized(0)),
        "size-negative": ("asks for -5Gi", sized("-5Gi")),
        "size-absurd": ("less than 8Ei", sized("9Ei")),
        "size-unreadable": ("'big' is not a quantity", sized("big")),
        "size-missing": ("no resources.requests.storage", set_of({"resources": None})),
        "mode-missing": ("accessModes []", set_of({"accessModes": []})),
        "mode-unknown": ("accessModes ['RWO']", set_of({"accessModes": ["RWO"]})),
        "modes-excluding": ("the last one alone",
            set_of({"accessModes": ["ReadWriteOncePod", "ReadWriteMany"]})),
        "claim-without-name": ("names no claim",
            workload(pods={"volumes": [{"name": "v", "persistentVolumeClaim": {}}]})),
        "ephemeral-without-template": ("needs a name and a volumeClaimTemplate",
            workload(pods={"volumes": [{"name": "v", "ephemeral": {}}]})),
        "cpu": ("'x' is not a quantity", workload(pods={"containers": [asking(cpu="x")]})),
        "version": ("only apps/v1", workload() | {"apiVersion": "apps/v1beta1"}),
    },
    "requests": {
        "containers-none": ("Wishes(", of("Pod", {})),
        "resources-missing": ("Wishes(", pod()),
        "containers-added": ("cpu: 600", pod(asking(cpu="100m", memory="64Mi"), asking(cpu=0.5))),
        "limit-without-request": ("cpu: 1000", pod(limited({"cpu": 2, "memory": "1Gi"}, cpu=1))),
        "init-container-the-largest": ("cpu: 3000", pod(asking(cpu=1), init=[asking(cpu=3)])),
        "init-containers-not-added": ("cpu: 3000", pod(asking(cpu=3), init=[asking(cpu=1)] * 4)),
        "sidecar-added": ("cpu: 2000", pod(asking(cpu=1), init=[sidecar(cpu=1)])),
        "init-container-before-the-sidecar":
            ("cpu: 3000", pod(asking(cpu=1), init=[asking(cpu=3), sidecar(cpu=1)])),
        "init-container-after-the-sidecar":
            ("cpu: 4000", pod(asking(cpu=1), init=[sidecar(cpu=1), asking(cpu=3)])),
        "resources-by-themselves": ("cpu: 1000", pod(asking(cpu=1), init=[asking(memory="1Gi")])),
        "overhead":
            ("cpu: 1250", pod(asking(cpu=1), overhead={"cpu": "250m", "memory": "120Mi"})),
        "requests-of-the-pod": ("cpu: 5000", pod(asking(cpu=1, memory="1Gi"),
            overhead={"cpu": "1"},
            resources={"requests": {"cpu": 4, "hugepages-2Mi": "4Mi", "gpu": 1}})),
        "limits-of-the-pod":
            ("cpu: 1000", pod(asking(cpu=1), resources={"limits": {"cpu": 4, "memory": "2Gi"}})),
        "devices": ("example.com/gpu: 2", pod(
            asking(**{"example.com/gpu": 2, "cpu": 0, "memory": None}))),
        "resource-of-the-extender": ("Wishes(", pod(asking(**{RESOURCE: 1}))),
        "request-unreadable": ("'much' is not a quantity", pod(asking(cpu="much"))),
        "request-negative": ("'-1Gi' is negative", pod(asking(memory="-1Gi"))),
        "request-of-an-init-container": ("'1x'", pod(init=[limited({"cpu": "1x"})])),
        "overhead-unreadable": ("'?'", pod(overhead={"cpu": "?"})),
        "limit-unreadable": ("'a'", pod(resources={"limits": {"memory": "a"}})),
        "request-a-list": ("got `array`", pod(asking(cpu=[1]))),
        "port-absurd": ("<= 65535", ports({"hostPort": 70_000})),
        "port-of-the-pod": ("Wishes(", ports({"containerPort": 80})),
        "port-of-the-node": ("8080", ports({"containerPort": 80, "hostPort": 8080})),
        "port-of-udp": ("UDP", ports({"hostPort": 53, "protocol": "UDP"})),
        "ports-of-addresses": ("10.0.0.1", ports({"hostPort": 1, "hostIP": "0.0.0.0"},  # noqa: S104
            {"hostPort": 2, "hostIP": "10.0.0.1"})),
        "port-on-the-network-of-the-node":
            ("80", ports({"containerPort": 80}, hostNetwork=True)),
        "ports-of-init-containers": ("[HostPort(port=2)]", pod(init=[
            {"ports": [{"hostPort": 1}]},
            {"ports": [{"hostPort": 2}], "restartPolicy": "Always"}])),
        "disks-of-a-cloud": ("read_only=True", volumes(
            {"gcePersistentDisk": {"pdName": "disk", "readOnly": True}},
            {"awsElasticBlockStore": {"volumeID": "vol"}}, {"emptyDir": {}})),
        "local-data": ("has_local_data=True", volumes({"emptyDir": {}})),
        "local-data-null": ("Wishes(", volumes({"emptyDir": None})),
        "owner": ("owner=['Job', 'j']", pod(metadata={"ownerReferences": OWNERS})),
        "owner-that-controls-nothing": ("Wishes(", pod(metadata={"ownerReferences": OWNERS[:1]})),
        "pod-of-the-kubelet": ("is_static=True",
            pod(metadata={"annotations": {"kubernetes.io/config.mirror": "abc"}})),
        "pod-with-annotations": ("Wishes(", pod(metadata={"annotations": {"other": "abc"}})),
        "placement": ("node_selector={disk: 'ssd'}", pod(asking(cpu=1), schedulerName="own",
            nodeSelector={"disk": "ssd"}, tolerations=[{"operator": "Exists"}])),
    },
    "rules": {
        "namespace-its-own": ("namespaces=['default']", near(WEB)),
        "apart": ("(anti_affinity=[", near(WEB, "podAntiAffinity")),
        "namespaces": ("['a', 'b']", near(WEB | {"namespaces": ["a", "b"]})),
        "namespaces-all": ("app: 'web'", near(WEB | {"namespaceSelector": {},
            "namespaces": ["a"]})),
        "expressions": ("'Exists'",
            near({"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}})),
        "selector-of-all": ("PodTerm(selector=Selector()", near({"labelSelector": {}})),
        "selector-missing": ("operator='In'", near({})),
        "labels-of-the-pod-itself": ("'NotIn'", near(
            WEB | {"matchLabelKeys": ["rev", "absent"], "mismatchLabelKeys": ["app"]})),
        "spread": ("Spread(", spread()),
        "spread-selector": ("app: 'web'", spread(labelSelector=IS_WEB)),
        "spread-label-keys":
            ("key='rev'", spread(labelSelector={}, matchLabelKeys=["rev", "absent"])),
        "spread-label-keys-without-selector": ("Spread(", spread(matchLabelKeys=["rev"])),
        "spread-numbers": ("least_domains=3", spread(minDomains=3, maxSkew=2)),
        "spread-policies": ("only_tolerated=True",
            spread(nodeAffinityPolicy="Ignore", nodeTaintsPolicy="Honor")),
        "spread-soft": ("is_required=False", spread(whenUnsatisfiable="ScheduleAnyway")),
        "spread-without-key": ("has no topologyKey", spread(topologyKey=None)),
        "spread-skew-zero": (".maxSkew is 0", spread(maxSkew=0)),
        "spread-domains-zero": (".minDomains is 0", spread(minDomains=0)),
        "spread-never": ("'Never'", spread(whenUnsatisfiable="Never")),
        "spread-policy-in-small-letters": ("'honor'", spread(nodeTaintsPolicy="honor")),
        "preferences": ("preferred_pods=", pod(affinity={
            "nodeAffinity": {PREFERRED: [{"weight": 5, "preference": SSD}]},
            "podAffinity": {PREFERRED: [NEAR]},
            "podAntiAffinity": {PREFERRED: [NEAR | {"weight": 9}]}})),
        **{f"unplanned-{field}": (f"'{field} (", pod(**{field: value}))
            for field, value in UNPLANNED.items()},
        **{f"unplanned-{kind}": (f"'{kind} volumes (", volumes({kind: value})) for kind, value in {
            "csi": {"driver": "x"}, "rbd": {"image": "x"},
            "gcePersistentDisk": {"pdName": "x"}}.items()},
        "unplanned-namespace-selector": ("'namespaceSelector of its affinity (",
            near({"topologyKey": ZONE, "namespaceSelector": IS_WEB})),
        "class-of-run-time-with-overhead": ("cpu: 1000",
            pod(runtimeClassName="kata", overhead={"cpu": "1"})),
        "namespace-selector-of-all":
            ("PodTerm(", near({"topologyKey": ZONE, "namespaceSelector": {}})),
        "network-and-tolerations":
            ("Toleration(", pod(hostNetwork=True, tolerations=[{"operator": "Exists"}])),
        "volumes-planned":
            ("has_local_data", volumes({"emptyDir": {}}, {"configMap": {"name": "x"}})),
        "priority-zero": ("Wishes(", pod(priority=0)),
        "priority": ("priority='7'", pod(priority=7)),
        "priority-of-a-class": ("'high'", pod(priorityClassName="high", priority=7)),
        "priority-that-evicts-none":
            ("Wishes(", pod(priorityClassName="high", preemptionPolicy="Never")),
    },
    "others": {
        "node": ("labels={a: 'b'}", of("Node", metadata={"labels": {"a": "b"}}, status={})),
        "node-allocatable": ("cpu: 3920", of("Node", status={"allocatable": AMOUNTS})),
        "node-capacity-and-allocatable":
            ("cpu: 3000", of("Node", status={"capacity": {"cpu": 4}, "allocatable": {"cpu": 3}})),
        "node-capacity": ("cpu: 4000", of("Node", status={"capacity": {"cpu": 4}})),
        "node-amount-unreadable":
            ("'lots' is not a quantity", of("Node", status={"allocatable": {"memory": "lots"}})),
        "volume-anywhere": ("volume_handle='h'", persistent()),
        "volume-nothing-required": ("volume_handle='h'", persistent({"required": None})),
        "volume-nowhere": ("terms=[]", persistent({"required": {}})),
        "volume-on-one-node": ("values=['a']",
            persistent({"required": {"nodeSelectorTerms": [{"matchExpressions": [ON_A]}]}})),
        **{f"volume-{policy}": (fact, persistent(persistentVolumeReclaimPolicy=policy))
            for policy, fact in {"Retain": "retained=True", "Delete": "PersistentVolume",
                                 "Recycle": "PersistentVolume"}.items()},
        **{f"class-{policy}": (fact, of("StorageClass", provisioner="p", reclaimPolicy=policy))
            for policy, fact in {None: "StorageClass", "Delete": "StorageClass",
                                 "Retain": "retains=True"}.items()},
        "class-and-its-age": ("created='2026-11-21T03:00:00Z'",
            of("StorageClass", metadata={"creationTimestamp": "2026-11-21T03:00:00Z"})),
        "service": ("selector={app: 'web'}", of("Service", {"selector": {"app": "web"}})),
        "service-without-selector": ("Service(", of("Service")),
        "budget": ("Budget(", budget()),
        "budget-of-all-pods": ("least_available='2'", budget(selector={}, minAvailable=2)),
        "budget-in-percent": ("most_unavailable='30%'", budget(
            selector={"matchLabels": {"a": "b"}}, maxUnavailable="30%")),
        **{f"budget-{share}": ("is neither a number of pods nor a share", budget(
            minAvailable=share)) for share in (-1, "half", "-5%", "1.5", "5%%")},
        "claim-of-one-pod": ("read_write_once_pod=True",
            of("PersistentVolumeClaim", {"accessModes": ["ReadWriteOncePod"]})),
    },
}  # fmt: skip
KINDS = {"workloads": WRITTEN, "workloads-refused": WRITTEN}


def read(topic: str, row: str) -> object:
    found = read_object(ROWS[topic][row][1], KINDS.get(topic, PLANNED))
    return found.wishes if isinstance(found, Pod) else found


@pytest.mark.parametrize(("topic", "row"), [(topic, row) for topic in ROWS for row in ROWS[topic]])
def test_an_object_is_read_or_named(topic, row):
    fact, document = ROWS[topic][row]

    found = read(topic, row)

    text = shown(found)
    assert fact in text, text
    if isinstance(found, Unreadable):
        cluster_wide = document["kind"] in ("Node", "PersistentVolume", "StorageClass")
        assert found.name == ("db" if cluster_wide else "default/db")


@pytest.mark.parametrize("topic", ROWS)
def test_all_of_an_object_is_read_so(golden, topic):
    golden(f"read/{topic}", "".join(f"# {row}\n{shown(read(topic, row))}\n" for row in ROWS[topic]))


def test_a_stateful_set_of_the_cluster_is_read_as_one_of_a_file():
    document = ROWS["workloads"]["stateful-set"][1]

    assert isinstance(read_object(document, WRITTEN), Workload)
    assert read_object(document, PLANNED) == read_object(document, WRITTEN)


def test_fields_that_only_plans_read_leave_a_pod_readable_for_others():
    assert isinstance(read_object(ROWS["requests"]["request-unreadable"][1]), Pod)


def test_preferences_are_no_rules():
    preferred, required = read("rules", "preferences"), read("rules", "namespace-its-own")

    assert isinstance(preferred, Wishes)
    assert isinstance(required, Wishes)
    assert (preferred.has_pod_rules, required.has_pod_rules) == (False, True)
