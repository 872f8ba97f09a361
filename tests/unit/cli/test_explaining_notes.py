"""What stands outside the disks: notes on pods and their claims."""

from typing import Any

import pytest
from msgspec.structs import replace

from app.config import RESOURCE
from app.serving.admission import OPT_OUT_LABEL
from cli.catalogue import NOTES
from cli.explaining.claims import claim_reports
from cli.explaining.notes import ask_notes, hold_notes, pod_notes, unjudged_notes, volume_notes
from cli.kube.pods import Pod
from longhorn import Locality, VolumeName
from tests.builders import bound, core_document, node, read, replica, replicas_of, view_of, volume

ANTI_AFFINITY = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}
DAEMON_SET = {"kind": "DaemonSet", "controller": True}


def pod(**fields: Any) -> Pod:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "vol"}}]
    spec = {"volumes": volumes, **fields.pop("spec", {})}
    found = read(core_document("Pod", "web", spec=spec, **fields))
    assert isinstance(found, Pod)
    return found


RULE = {"topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule"}]}
PREFERENCE = {"topologySpreadConstraints": [{"whenUnsatisfiable": "ScheduleAnyway"}]}
DELETED = {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}
NOTED: dict[str, tuple[list[str], dict[str, Any]]] = {
    "pod": ([], {}),
    "pod-with-a-node": (["pod_bound"], {"spec": {"nodeName": "node-1"}}),
    "pod-that-ended": (["pod_finished"], {"status": {"phase": "Succeeded"}}),
    "pod-that-ends": (["pod_deleting"], DELETED),
    "pod-of-a-scheduler": (["other_scheduler"], {"spec": {"schedulerName": "volcano"}}),
    **{f"pod-of-{name}": ([], {"spec": {"schedulerName": name}})
        for name in ("default-scheduler", "longhorn-scheduler", "ours")},
    "pod-apart-from-others":
        (["pod_rules_unjudged"], {"spec": {"affinity": {"podAntiAffinity": ANTI_AFFINITY}}}),
    "pods-spread": (["pod_rules_unjudged"], {"spec": RULE}),
    "pods-spread-if-possible": ([], {"spec": PREFERENCE}),
}  # fmt: skip


@pytest.mark.parametrize(("codes", "fields"), NOTED.values(), ids=NOTED)
def test_notes_on_the_pod(codes, fields):
    found = [*pod_notes(pod(**fields), ["ours"])]

    assert [each.code for each in found] == codes
    assert all(each.action == NOTES[each.code].action for each in found)


def asking(how: str = "limits") -> dict[str, Any]:
    return {"resources": {how: {RESOURCE: 1}}}


ASKS = {
    "": {"spec": {"containers": [asking()]}},
    "does_not_ask": {},
    "opted_out": {"metadata": {"labels": {OPT_OUT_LABEL: "disabled"}}},
    "of_daemon_set": {"metadata": {"ownerReferences": [DAEMON_SET]}},
}


@pytest.mark.parametrize(
    ("code", "fields"), [*ASKS.items(), ("", {"spec": {"initContainers": [asking("requests")]}})]
)
def test_notes_on_a_pod_that_does_not_ask(code, fields):
    found = pod(**fields)
    claims = claim_reports(found.ref, view_of(node(), *bound(volume())))

    assert [each.code for each in ask_notes(found, claims)] == [code] * bool(code)


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
    replicas = replicas_of("vol@1 vol@2 vol@1/failed vol@ vol@1/evicting vol@1/deleting "
                           "vol@1/new/started")  # fmt: skip
    replicas[2] = replace(replicas[2], rebuild_retries=100)
    view = view_of(node(), node("node-2", ready=False), *bound(volume(replicas=5)), *replicas)

    [claim] = claim_reports(pod().ref, view)

    assert [each.state for each in claim.replicas] == [
        *("usable", "on a node that is not ready", "failed", "not placed yet"),
        *("being moved away", "being deleted", "incomplete"),
    ]


SHOWN = [
    {"spec": {"nodeName": "node-1"}},
    {"status": {"nominatedNodeName": "node-1"}},
    {"status": {"conditions": [{"type": "PodScheduled", "status": "False"}]}},
    {"status": {"phase": "Succeeded"}},
    {"spec": {"volumes": []}},
    {"spec": {"containers": []}},
]


@pytest.mark.parametrize(
    ("fields", "codes"), [({}, ["open_holds_unknown"]), *((each, []) for each in SHOWN)]
)
def test_pods_on_their_way_may_have_holds_that_nothing_shows(fields, codes):
    spec = {"containers": [asking()], **fields.get("spec", {})}
    other = pod(**{**fields, "spec": spec})

    assert [each.code for each in hold_notes([other])] == codes
