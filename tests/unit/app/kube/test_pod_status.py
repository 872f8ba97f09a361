"""How far a pod has come, as kube-scheduler and kubelet leave it in the object."""

from typing import Any

import msgspec
import pytest

from app.kube import objects
from app.kube.translate import pod_status
from extender.kubernetes import PodStatus
from longhorn import NodeName

HERE = NodeName("node-1")
BOUND = {"spec": {"nodeName": "node-1"}}
GOING = {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}
REFUSAL = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
ROWS: dict[str, tuple[dict[str, Any], PodStatus]] = {
    # What the pod has besides its name, and what is read of it.
    "status-missing": ({}, PodStatus()),
    "status-null": ({"status": None}, PodStatus()),
    "fields-null": ({"status": {"conditions": None, "nominatedNodeName": None}}, PodStatus()),
    "condition-without-status":
        ({"status": {"conditions": [{"type": "PodScheduled"}]}}, PodStatus()),
    "version": ({"metadata": {"resourceVersion": "77"}}, PodStatus(version=77)),
    "version-null": ({"metadata": {"resourceVersion": None}}, PodStatus()),
    "version-that-is-no-number": ({"metadata": {"resourceVersion": "abc"}}, PodStatus()),
    "nominated": ({"status": {"nominatedNodeName": "node-1"}}, PodStatus(nominated=HERE)),
    "nomination-empty": ({"status": {"nominatedNodeName": ""}}, PodStatus()),
    "refused": ({"status": {"conditions": [REFUSAL]}}, PodStatus(refusal="- Unschedulable -")),
    "bound": (BOUND, PodStatus(node=HERE)),
    "running": ({**BOUND, "status": {"phase": "Running"}}, PodStatus(node=HERE, running=True)),
    "succeeded": ({"status": {"phase": "Succeeded"}}, PodStatus(ended=True)),
    "failed": ({"status": {"phase": "Failed"}}, PodStatus(ended=True)),
    # A pod that is bound keeps its room until it has gone: its volumes are placed for it.
    "pod-about-to-go": (GOING, PodStatus(ended=True)),
    "pod-about-to-go-that-is-bound": ({**BOUND, **GOING}, PodStatus(node=HERE)),
}  # fmt: skip


@pytest.mark.parametrize(("given", "expected"), ROWS.values(), ids=ROWS)
def test_pod_has_come_as_far_as_its_object_tells(given, expected):
    written = {"spec": {}, **given, "metadata": {"name": "pod", **given.get("metadata", {})}}

    assert pod_status(msgspec.convert(written, objects.Pod)) == expected
