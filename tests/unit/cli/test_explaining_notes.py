"""What stands outside the disks: notes on pods and their claims."""

from typing import Any

import pytest
from msgspec.structs import replace

from app.config import RESOURCE
from app.serving.admission import OPT_OUT_LABEL
from cli.catalogue import NOTES
from cli.explaining.claims import ClaimReport, claim_reports
from cli.explaining.notes import ask_notes, hold_notes, pod_notes, unjudged_notes, volume_notes
from cli.kube.pods import Pod
from longhorn import Locality, VolumeName
from tests.builders import bound, core_document, node, read, replica, replicas_of, view_of, volume

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
DAEMON_SET = {"kind": "DaemonSet", "controller": True}


def pod(**fields: Any) -> Pod:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "vol"}}]
    spec = {"volumes": volumes, **fields.pop("spec", {})}
    found = read(core_document("Pod", "web", spec=spec, **fields))
    assert isinstance(found, Pod)
    return found


def claims_of(**fields: Any) -> list[ClaimReport]:
    """Return what is known of the claims of a pod on one node, with this volume."""
    return claim_reports(pod().ref, view_of(node(), *bound(volume(**fields)), replica()))


def spread(otherwise: str) -> dict[str, Any]:
    return {"spec": {"topologySpreadConstraints": [{"whenUnsatisfiable": otherwise}]}}


NOTED: dict[str, tuple[list[str], dict[str, Any]]] = {
    "pod": ([], {}),
    "pod-with-a-node": (["pod_bound"], {"spec": {"nodeName": "node-1"}}),
    "pod-that-ended": (["pod_finished"], {"status": {"phase": "Succeeded"}}),
    "pod-that-ends":
        (["pod_deleting"], {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}),
    "pod-of-a-scheduler": (["other_scheduler"], {"spec": {"schedulerName": "volcano"}}),
    **{f"pod-of-{name}": ([], {"spec": {"schedulerName": name}})
        for name in ("default-scheduler", "longhorn-scheduler", "ours")},
    "pod-apart-from-others": (["pod_rules_unjudged"],
        {"spec": {"affinity": {"podAntiAffinity": {REQUIRED: [{"topologyKey": "zone"}]}}}}),
    "pods-spread": (["pod_rules_unjudged"], spread("DoNotSchedule")),
    "pods-spread-if-possible": ([], spread("ScheduleAnyway")),
}  # fmt: skip


@pytest.mark.parametrize(("codes", "fields"), NOTED.values(), ids=NOTED)
def test_notes_on_the_pod(codes, fields):
    found = [*pod_notes(pod(**fields), ["ours"])]

    assert [each.code for each in found] == codes
    assert all(each.action == NOTES[each.code].action for each in found)


ASKING = {"containers": [{"resources": {"limits": {RESOURCE: 1}}}]}
ASKS = {
    "pod-that-asks": ("", {"spec": ASKING}),
    "init-container-that-asks":
        ("", {"spec": {"initContainers": [{"resources": {"requests": {RESOURCE: 1}}}]}}),
    "pod-that-does-not-ask": ("does_not_ask", {}),
    "pod-opted-out": ("opted_out", {"metadata": {"labels": {OPT_OUT_LABEL: "disabled"}}}),
    "pod-of-a-daemon-set": ("of_daemon_set", {"metadata": {"ownerReferences": [DAEMON_SET]}}),
}  # fmt: skip


@pytest.mark.parametrize(("code", "fields"), ASKS.values(), ids=ASKS)
def test_notes_on_a_pod_that_does_not_ask(code, fields):
    assert [each.code for each in ask_notes(pod(**fields), claims_of())] == [code] * bool(code)


def test_a_pod_without_longhorn_volume_need_not_ask():
    without = claim_reports(pod(spec={"volumes": []}).ref, view_of(node()))

    assert [*ask_notes(pod(), without)] == []


UNJUDGED: dict[str, tuple[list[str], dict[str, Any]]] = {
    "volume-that-may-be-local": ([], {}),
    "volume-that-is-never-local": (["nothing_local"], {"locality": Locality.DISABLED}),
    "volume-that-nodes-share": (["never_local"], {"shared": True}),
}


@pytest.mark.parametrize(("codes", "fields"), UNJUDGED.values(), ids=UNJUDGED)
def test_disks_decide_nothing_if_no_volume_is_local(codes, fields):
    notes = [*unjudged_notes(claims_of(**fields))]

    assert [each.code for each in notes] == codes
    if codes == ["never_local"]:  # no advice on locality
        assert "best-effort" not in notes[0].action


def test_a_strict_local_volume_names_the_node_of_its_replica():
    claims = claims_of(locality=Locality.STRICT_LOCAL)

    [note] = volume_notes(claims, {VolumeName("vol"): "data"})

    told = "data is strict-local, and its replica is on node-1"
    assert (note.code, note.text) == ("strict_local_placed", told)


def test_claims_tell_the_state_of_each_replica():
    replicas = replicas_of("vol@1 vol@2 vol@1/failed vol@ vol@1/evicting vol@1/deleting "
                           "vol@1/new/started")  # fmt: skip
    replicas[2] = replace(replicas[2], rebuild_retries=100)
    view = view_of(node(), node("node-2", ready=False), *bound(volume(replicas=5)), *replicas)

    [claim] = claim_reports(pod().ref, view)

    assert [each.state for each in claim.replicas] == [
        *("usable", "on a node that is not ready", "failed", "not placed yet"),
        *("being moved away", "being deleted", "incomplete"),
    ]


HOLDS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "pod-that-asks": (["open_holds_unknown"], {}),
    "pod-with-a-node": ([], {"spec": {"nodeName": "node-1"}}),
    "pod-with-a-node-in-view": ([], {"status": {"nominatedNodeName": "node-1"}}),
    "pod-that-got-no-node":
        ([], {"status": {"conditions": [{"type": "PodScheduled", "status": "False"}]}}),
    "pod-that-ended": ([], {"status": {"phase": "Succeeded"}}),
    "pod-without-volumes": ([], {"spec": {"volumes": []}}),
    "pod-that-does-not-ask": ([], {"spec": {"containers": []}}),
}  # fmt: skip


@pytest.mark.parametrize(("codes", "fields"), HOLDS.values(), ids=HOLDS)
def test_pods_on_their_way_may_have_holds_that_nothing_shows(codes, fields):
    other = pod(**{**fields, "spec": ASKING | fields.get("spec", {})})

    assert [each.code for each in hold_notes([other])] == codes
