"""What stands outside the disks: notes on pods and their claims."""

from typing import Any

import pytest

from app.config import RESOURCE
from app.serving.admission import OPT_OUT_LABEL
from cli.catalogue import NOTES
from cli.explaining.claims import claim_reports
from cli.explaining.notes import ask_notes, hold_notes, pod_notes, unjudged_notes, volume_notes
from cli.kube.pods import Pod
from longhorn import Locality, VolumeName
from tests.builders import bound, core_document, node, read, replica, view_of, volume

ANTI_AFFINITY = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}
DAEMON_SET = {"kind": "DaemonSet", "controller": True}


def pod(**fields: Any) -> Pod:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "vol"}}]
    spec = {"volumes": volumes, **fields.pop("spec", {})}
    found = read(core_document("Pod", "web", spec=spec, **fields))
    assert isinstance(found, Pod)
    return found


@pytest.mark.parametrize(
    ("fields", "codes"),
    [
        ({}, []),
        ({"spec": {"nodeName": "node-1"}}, ["pod_bound"]),
        ({"status": {"phase": "Succeeded"}}, ["pod_finished"]),
        ({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}, ["pod_deleting"]),
        ({"spec": {"schedulerName": "default-scheduler"}}, []),
        ({"spec": {"schedulerName": "longhorn-scheduler"}}, []),
        ({"spec": {"schedulerName": "ours"}}, []),
        ({"spec": {"schedulerName": "volcano"}}, ["other_scheduler"]),
        ({"spec": {"affinity": {"podAntiAffinity": ANTI_AFFINITY}}}, ["pod_rules_unjudged"]),
        ({"spec": {"topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule"}]}},
            ["pod_rules_unjudged"]),
        ({"spec": {"topologySpreadConstraints": [{"whenUnsatisfiable": "ScheduleAnyway"}]}}, []),
    ],
)  # fmt: skip
def test_notes_on_the_pod(fields, codes):
    found = [*pod_notes(pod(**fields), ["ours"])]

    assert [each.code for each in found] == codes
    assert all(each.action == NOTES[each.code].action for each in found)


@pytest.mark.parametrize(
    ("fields", "codes"),
    [
        ({}, ["does_not_ask"]),
        ({"metadata": {"labels": {OPT_OUT_LABEL: "disabled"}}}, ["opted_out"]),
        ({"metadata": {"ownerReferences": [DAEMON_SET]}}, ["of_daemon_set"]),
        ({"spec": {"containers": [{"resources": {"limits": {RESOURCE: 1}}}]}}, []),
        ({"spec": {"initContainers": [{"resources": {"requests": {RESOURCE: "1"}}}]}}, []),
    ],
)
def test_notes_on_a_pod_that_does_not_ask(fields, codes):
    asking = pod(**fields)
    claims = claim_reports(asking.ref, view_of(node(), *bound(volume())))

    assert [each.code for each in ask_notes(asking, claims)] == codes


def test_a_pod_without_longhorn_volume_need_not_ask():
    view = view_of(node())

    assert [*ask_notes(pod(), claim_reports(pod(spec={"volumes": []}).ref, view))] == []


@pytest.mark.parametrize(
    ("locality", "codes"),
    [(Locality.BEST_EFFORT, []), (Locality.DISABLED, ["nothing_local"])],
)
def test_disks_decide_nothing_if_no_volume_is_local(locality, codes):
    claims = claim_reports(pod().ref, view_of(node(), *bound(volume(locality=locality))))

    assert [each.code for each in unjudged_notes(claims)] == codes


def test_no_advice_on_locality_is_given_for_volumes_that_nodes_share():
    of = volume(locality=Locality.BEST_EFFORT, shared=True)
    claims = claim_reports(pod().ref, view_of(node(), *bound(of)))

    [note] = unjudged_notes(claims)

    assert note.code == "never_local"
    assert "best-effort" not in note.action


def test_a_strict_local_volume_names_the_node_of_its_replica():
    strict = volume(locality=Locality.STRICT_LOCAL)
    claims = claim_reports(pod().ref, view_of(node(), *bound(strict), replica()))

    [note] = volume_notes(claims, {VolumeName("vol"): "data"})

    assert (note.code, note.text) == (
        "strict_local_placed",
        "data is strict-local, and its replica is on node-1",
    )


def test_claims_tell_the_state_of_each_replica():
    view = view_of(
        node(),
        node("node-2", ready=False),
        *bound(volume(replicas=5)),
        replica("vol-r-1"),
        replica("vol-r-2", on="node-2"),
        replica("vol-r-3", failed=True, rebuild_retries=100),
        replica("vol-r-4", on=""),
        replica("vol-r-5", evicting=True),
        replica("vol-r-6", deleting=True),
        replica("vol-r-7", healthy_once=False, started=True),
    )

    [claim] = claim_reports(pod().ref, view)

    assert {each.name: each.state for each in claim.replicas} == {
        "vol-r-1": "usable",
        "vol-r-2": "on a node that is not ready",
        "vol-r-3": "failed",
        "vol-r-4": "not placed yet",
        "vol-r-5": "being moved away",
        "vol-r-6": "being deleted",
        "vol-r-7": "incomplete",
    }


@pytest.mark.parametrize(
    ("fields", "codes"),
    [
        ({}, ["open_holds_unknown"]),
        ({"spec": {"nodeName": "node-1"}}, []),
        ({"status": {"nominatedNodeName": "node-1"}}, []),
        ({"status": {"conditions": [{"type": "PodScheduled", "status": "False"}]}}, []),
        ({"status": {"phase": "Succeeded"}}, []),
        ({"spec": {"volumes": []}}, []),
        ({"spec": {"containers": []}}, []),
    ],
)
def test_pods_on_their_way_may_have_holds_that_nothing_shows(fields, codes):
    containers = [{"resources": {"limits": {RESOURCE: 1}}}]
    other = pod(**{**fields, "spec": {"containers": containers, **fields.get("spec", {})}})

    assert [each.code for each in hold_notes([other])] == codes
