"""What is read of Kubernetes' objects for plans: each as a whole, and why one cannot be read.

The rows stand in `golden/read/`: a name, and what must be said of the object; the object; and all
of the record that is read. A new row is two lines there, and REWRITE_GOLDEN=1 writes the third.
"""

from typing import Any

import pytest
import yaml

from cli.kube.decoding import read_object
from cli.kube.pods import Pod
from cli.kube.resources import PLANNED, WRITTEN
from longhorn import Unreadable
from planner.records import Wishes
from planner.workloads import Workload
from tests.unit.cli.plans import rows_of, shown

Document = dict[str, Any]
KINDS = {"workloads": WRITTEN, "workloads-refused": WRITTEN, "requests": PLANNED,
         "rules": PLANNED, "others": PLANNED}  # fmt: skip
APIS = {"StorageClass": "storage.k8s.io/v1", "PodDisruptionBudget": "policy/v1"}
APIS |= dict.fromkeys(("StatefulSet", "Deployment", "ReplicaSet", "DaemonSet"), "apps/v1")
APIS |= dict.fromkeys(("Job", "CronJob"), "batch/v1")
SHORT = {
    "TEMPLATE": "{metadata: {labels: {app: db}}, spec: {containers: [{resources: {requests: {cpu: "
    "'1'}}}], volumes: [{name: shared, persistentVolumeClaim: {claimName: all}}, "
    "{name: conf, configMap: {name: x}}]}}",
    "CLAIM_SPEC": "{accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}}",
}
"""What words in capital letters stand for."""


def document_of(text: str) -> Document:
    """Read `Pod {spec: {}}` as object `default/db`, of the version that we read.

    A pod has labels if no metadata are given, and one container if its spec has none.
    """
    kind, _, fields = text.partition(" ")
    for word, meant in SHORT.items():
        fields = fields.replace(word, meant)
    given: Document = {"apiVersion": APIS.get(kind, "v1"), **yaml.safe_load(fields)}
    labels = {"labels": {"app": "web", "rev": "1"}} if kind == "Pod" else {}
    metadata = {"name": "db", "namespace": "default", **given.get("metadata", labels)}
    if kind == "Pod" and given.get("spec"):
        given["spec"] = {"containers": [{}], **given["spec"]}
    return {**given, "kind": kind, "metadata": metadata}


ROWS = {topic: rows_of(f"read/{topic}") for topic in KINDS}


def read(topic: str, row: str) -> object:
    found = read_object(document_of(ROWS[topic][row][1]), KINDS[topic])
    return found.wishes if isinstance(found, Pod) else found


@pytest.mark.parametrize(("topic", "row"), [(topic, row) for topic in ROWS for row in ROWS[topic]])
def test_an_object_is_read_or_named(topic, row):
    fact, text = ROWS[topic][row]

    found = read(topic, row)

    assert fact in shown(found), shown(found)
    if isinstance(found, Unreadable):
        cluster_wide = text.split()[0] in ("Node", "PersistentVolume", "StorageClass")
        assert found.name == ("db" if cluster_wide else "default/db")


@pytest.mark.parametrize("topic", ROWS)
def test_all_of_an_object_is_read_so(golden, topic):
    rows = ROWS[topic].items()
    text = [f"# {row}: {fact}\n{it}\n= {shown(read(topic, row))}\n" for row, (fact, it) in rows]

    golden(f"read/{topic}", "\n".join(text))


def test_a_stateful_set_of_the_cluster_is_read_as_one_of_a_file():
    document = document_of(ROWS["workloads"]["stateful-set"][1])

    assert isinstance(read_object(document, WRITTEN), Workload)
    assert read_object(document, PLANNED) == read_object(document, WRITTEN)


def test_fields_that_only_plans_read_leave_a_pod_readable_for_others():
    assert isinstance(read_object(document_of(ROWS["requests"]["request-unreadable"][1])), Pod)


def test_preferences_are_no_rules():
    preferred, required = read("rules", "preferences"), read("rules", "namespace-its-own")

    assert isinstance(preferred, Wishes)
    assert isinstance(required, Wishes)
    assert (preferred.has_pod_rules, required.has_pod_rules) == (False, True)
