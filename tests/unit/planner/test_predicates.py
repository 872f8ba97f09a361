"""Which nodes predicates refuse, by their names in a policy; those made from labels are apart."""

from typing import Any

import pytest
from msgspec import structs

from extender.kubernetes import Claim, NodeTerm, Requirement
from planner.predicates import PREDICATES
from planner.records import CloudDisk, HostPort, PodTerm, Selector, Taint, Toleration
from tests.builders import GIB, claim, persistent_volume
from tests.unit.planner.scheduling import cluster, labelled, node, pod, refused, web

TWO = [node("a"), node("b")]
GCE, EBS = "gcePersistentDisk", "awsElasticBlockStore"
READ_ONLY = CloudDisk(GCE, "d", read_only=True)
HOST, ZONE = "kubernetes.io/hostname", "zone"


PORTS = {
    "same": (HostPort(80), HostPort(80), True),
    "other-port": (HostPort(80), HostPort(81), False),
    "other-protocol": (HostPort(80), HostPort(80, "UDP"), False),
    "one-and-all": (HostPort(80, address="10.0.0.1"), HostPort(80), True),
    "all-and-one": (HostPort(80, address="0.0.0.0"), HostPort(80, address="10.0.0.1"), True),  # noqa: S104
    "other-address": (HostPort(80, address="10.0.0.1"), HostPort(80, address="10.0.0.2"), False),
}


@pytest.mark.parametrize(("taken", "wanted", "is_taken"), PORTS.values(), ids=PORTS)
def test_pod_fits_ports_refuses_a_node_where_a_port_is_taken(taken, wanted, *, is_taken):
    where = cluster(TWO, pod("there", on="a", ports=(taken,)))

    found = refused(PREDICATES["PodFitsPorts"], pod(ports=(HostPort(9), wanted)), where)

    text = f"port {wanted.port}/{wanted.protocol} of the node is taken"
    assert found == ({"a": text} if is_taken else {})


@pytest.mark.parametrize(
    ("requests", "lacking"),
    [
        ({}, ""),
        ({"cpu": 1000, "memory": GIB}, ""),
        ({"cpu": 1001}, "cpu"),
        ({"memory": GIB + 1}, "memory"),
        ({"memory": GIB + 1, "cpu": 1001}, "cpu and memory"),
        ({"example.com/gpu": 1}, "example.com/gpu"),
        ({"example.com/gpu": 0}, ""),
        ({"ours": 1}, ""),
    ],
)
def test_pod_fits_resources_compares_requests_with_what_is_allocatable(requests, lacking):
    where = cluster(
        [node("a")],
        pod("there", on="a", requests={"cpu": 2000, "memory": 4 * GIB}),
        pod("too", on="a", requests={"cpu": 1000, "memory": 3 * GIB}),
        ignored=frozenset({"ours"}),
    )

    found = refused(PREDICATES["PodFitsResources"], pod(requests=requests), where)

    text = f"too little {lacking} is left for what the pod asks"
    assert found == ({"a": text} if lacking else {})


def test_pod_fits_resources_looks_at_what_is_requested_and_not_at_what_is_used():
    busy = pod("busy", on="a", phase="Running")
    idle = pod("idle", on="b", requests={"cpu": 4000}, phase="Pending")

    found = refused(
        PREDICATES["PodFitsResources"], pod(requests={"cpu": 1}), cluster(TWO, busy, idle)
    )

    assert [*found] == ["b"]


def test_pod_fits_resources_counts_pods():
    where = cluster([node("a", {"pods": 2})], pod("one", on="a"), pod("two", on="a"))

    found = refused(PREDICATES["PodFitsResources"], pod(), where)

    assert found == {"a": "it has as many pods as it takes"}


def test_pod_fits_resources_does_not_limit_a_node_that_declares_nothing():
    where = cluster([node("a", {}), node("b", {"pods": 10})])

    assert [*refused(PREDICATES["PodFitsResources"], pod(requests={"cpu": 1}), where)] == ["b"]


def test_pod_fits_resources_sees_a_pod_that_has_gone():
    where = cluster([node("a")], pod("there", on="a", requests={"cpu": 4000}))
    asked = pod(requests={"cpu": 1})
    assert [*refused(PREDICATES["PodFitsResources"], asked, where)] == ["a"]

    where.remove_pod("default/there")

    assert refused(PREDICATES["PodFitsResources"], asked, where) == {}


DISKS = {
    "gce": (CloudDisk(GCE, "d"), CloudDisk(GCE, "d"), True),
    "other-disk": (CloudDisk(GCE, "d"), CloudDisk(GCE, "e"), False),
    "gce-read-only": (READ_ONLY, READ_ONLY, False),
    "gce-one-writes": (READ_ONLY, CloudDisk(GCE, "d"), True),
    "ebs": (CloudDisk(EBS, "d"), CloudDisk(EBS, "d"), True),
    "ebs-read-only": (*[CloudDisk(EBS, "d", read_only=True)] * 2, True),
    "other-kind": (CloudDisk(EBS, "d"), CloudDisk(GCE, "d"), False),
}


@pytest.mark.parametrize(("there", "wanted", "conflict"), DISKS.values(), ids=DISKS)
@pytest.mark.parametrize("name", ["NoDiskConflict", "VolumeRestrictions"])
def test_no_disk_conflict_refuses_a_node_where_the_disk_is_mounted(
    name, there, wanted, *, conflict
):
    where = cluster(TWO, pod("there", on="a", cloud_disks=(there,)))

    found = refused(PREDICATES[name], pod(cloud_disks=(wanted,)), where)

    text = f"another pod there mounts {wanted.kind} {wanted.name}"
    assert found == ({"a": text} if conflict else {})


def test_no_disk_conflict_does_not_look_at_claims():
    where = cluster(TWO, pod("there", on="a", claims=["data"]), records=[claim("data")])

    assert refused(PREDICATES["NoDiskConflict"], pod(claims=["data"]), where) == {}


@pytest.mark.parametrize("name", ["MatchNodeSelector", "NodeAffinity"])
def test_match_node_selector_wants_all_labels_with_their_values(name):
    where = cluster(
        labelled(a={"zone": "x", "disk": "ssd"}, b={"zone": "x"}, c={"zone": "y"}, d={})
    )

    found = refused(PREDICATES[name], pod(node_selector={"zone": "x", "disk": "ssd"}), where)

    assert found == {
        "b": "it lacks label disk=ssd of nodeSelector",
        "c": "it lacks label zone=x of nodeSelector",
        "d": "it lacks label zone=x of nodeSelector",
    }


def test_host_name_wants_the_node_of_that_name():
    found = refused(PREDICATES["HostName"], pod(node_name="b"), cluster(TWO))

    assert found == {"a": "the pod asks for another node by name"}


def test_host_name_lets_a_pod_without_a_name_go_anywhere():
    assert refused(PREDICATES["HostName"], pod(), cluster(TWO)) == {}


def test_cordoned_nodes_are_refused_unless_that_is_tolerated():
    where = cluster([node("a", cordoned=True), node("b")])
    judge = PREDICATES["CheckNodeUnschedulable"]

    assert refused(judge, pod(), where) == {"a": "Kubernetes node is cordoned"}
    assert refused(judge, pod(tolerations=(Toleration(operator="Exists"),)), where) == {}


def test_taints_are_refused_unless_they_are_tolerated():
    taints = {effect: Taint("team", "a", effect) for effect in ("NoSchedule", "PreferNoSchedule")}
    where = cluster([node(name, taints=(taint,)) for name, taint in taints.items()])
    judge = PREDICATES["PodToleratesNodeTaints"]

    assert refused(judge, pod(), where) == {
        "NoSchedule": "the pod does not tolerate taint team=a:NoSchedule"
    }
    assert refused(judge, pod(tolerations=(Toleration(key="team", value="a"),)), where) == {}


def test_node_affinity_wants_one_of_its_terms():
    where = cluster(labelled(a={"zone": "x"}, b={"zone": "y"}, c={}))
    terms = (
        NodeTerm(labels=(Requirement(key="zone", operator="In", values=("x",)),)),
        NodeTerm(fields=(Requirement(key="metadata.name", operator="In", values=("c",)),)),
    )

    found = refused(PREDICATES["NodeAffinity"], pod(terms=terms), where)

    text = "it does not meet the pod's node affinity: zone In x, or metadata.name In c"
    assert found == {"b": text}


def test_a_claim_for_one_pod_keeps_all_others_away():
    once = _claim("data", read_write_once_pod=True)
    where = cluster(TWO, pod("there", on="a", claims=["data"]), records=[once])

    found = refused(PREDICATES["VolumeRestrictions"], pod(claims=["data"]), where)

    text = "another pod uses claim default/data, which only one pod may use at a time"
    assert found == {"a": text, "b": text}


OTHERS = {
    "read-write-once": (pod("there", on="a", claims=["data"]), False),
    "other-pod-waits": (pod("there", claims=["data"]), True),
    "other-claim": (pod("there", on="a", claims=["logs"]), True),
    "namespace": (pod("there", on="a", claims=["data"], namespace="x"), True),
    "itself": (pod("pod", claims=["data"]), True),
}


@pytest.mark.parametrize(("other", "once"), OTHERS.values(), ids=OTHERS)
def test_claim_keeps_no_pod_away_if(other, *, once):
    where = cluster(TWO, other, records=[_claim("data", read_write_once_pod=once)])

    assert refused(PREDICATES["VolumeRestrictions"], pod(claims=["data"]), where) == {}


def test_a_bound_volume_is_used_where_its_topology_says():
    in_x = NodeTerm(labels=(Requirement(key="zone", operator="In", values=("x",)),))
    limited = structs.replace(persistent_volume("pv"), terms=(in_x,))
    where = cluster(
        labelled(a={"zone": "x"}, b={"zone": "y"}),
        records=[_claim("data", persistent_volume="pv"), limited],
    )

    found = refused(PREDICATES["VolumeTopology"], pod(claims=["data", "unknown"]), where)

    text = "PersistentVolume pv of claim default/data is limited to nodes with zone In x"
    assert found == {"b": text}


@pytest.mark.parametrize(("volume", "nodes"), [(None, ["b"]), ("pv", [])])
def test_an_unbound_claim_keeps_to_the_node_that_was_selected_for_it(volume, nodes):
    where = cluster(TWO, records=[_claim("data", persistent_volume=volume, selected_node="a")])

    found = refused(PREDICATES["VolumeTopology"], pod(claims=["data"]), where)

    assert found == dict.fromkeys(nodes, "claim default/data is to be made on another node")


NEAR_WEB = PodTerm(Selector(labels={"app": "web"}), ZONE, ("default",))
ZONES = labelled(a={ZONE: "x"}, b={ZONE: "x"}, c={ZONE: "y"}, d={})
NOT_NEAR = "the pods that the pod must be near are not there"
KEEPS_AWAY = "a pod is there that the pod must not be near"
KEPT_AWAY = "a pod is there that must not be near the pod"


def test_pod_affinity_wants_the_domain_of_a_selected_pod():
    where = cluster(ZONES, web("there", on="a"))

    found = refused(PREDICATES["InterPodAffinity"], pod(affinity=(NEAR_WEB,)), where)

    assert found == {"c": NOT_NEAR, "d": NOT_NEAR}


def test_pod_affinity_wants_pods_that_all_terms_select():
    fast = PodTerm(Selector(labels={"fast": "yes"}), HOST, ("default",))
    nodes = labelled(a={ZONE: "x", HOST: "a"}, b={ZONE: "x", HOST: "b"})
    both = pod("both", on="b", labels={"app": "web", "fast": "yes"})
    where = cluster(nodes, web("slow", on="a"), both)

    found = refused(PREDICATES["InterPodAffinity"], pod(affinity=(NEAR_WEB, fast)), where)

    assert found == {"a": NOT_NEAR}


def test_pod_anti_affinity_leaves_the_domains_of_selected_pods():
    where = cluster(ZONES, web("there", on="a"), pod("other", on="c"))

    found = refused(PREDICATES["InterPodAffinity"], pod(anti_affinity=(NEAR_WEB,)), where)

    assert found == {"a": KEEPS_AWAY, "b": KEEPS_AWAY}


def test_pods_that_are_there_keep_others_away():
    where = cluster(ZONES, pod("there", on="a", anti_affinity=(NEAR_WEB,)))
    judge = PREDICATES["InterPodAffinity"]

    assert refused(judge, web("new"), where) == {"a": KEPT_AWAY, "b": KEPT_AWAY}
    assert refused(judge, pod("other"), where) == {}
    assert refused(judge, pod("x", labels={"app": "web"}, namespace="x"), where) == {}

    where.remove_pod("default/there")

    assert refused(judge, web("new"), where) == {}


def _claim(name: str, **fields: Any) -> Claim:
    return structs.replace(claim(name), **fields)
