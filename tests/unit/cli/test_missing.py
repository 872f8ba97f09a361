"""What files of a cluster lack is named, with what that means; what they need not have is not."""

from collections.abc import Sequence

import pytest

from app.kube.resource import AnyRecord
from cli.kube.cluster_objects import ClusterObjects
from cli.kube.decoding import read_object
from cli.kube.pods import Pod
from cli.missing import ANSWERED_FROM, ASKED_FROM, missing, unresolvable
from extender import PodRef, UnresolvableClaimError
from extender.errors import ClaimProblem, UnseenObjectError
from extender.kubernetes import ClaimKey, PodStatus
from longhorn import NodeName, Unreadable
from planner.records import KubernetesNode
from tests.builders import (
    backing_image,
    bare_class,
    claim,
    disk,
    node,
    objects_of,
    persistent_volume,
    replica,
    runner_documents,
    setting,
    setting_documents,
    volume,
)

Record = AnyRecord | Unreadable


def pod(*claims: str, namespace: str = "default") -> Pod:
    keys = tuple(ClaimKey(f"{namespace}/{each}") for each in claims)
    return Pod(ref=PodRef(namespace=namespace, name="p", uid="", claims=keys), status=PodStatus())


SETTINGS = [record for each in setting_documents() if (record := read_object(each)) is not None]
RUNNERS = [record for each in runner_documents("node-1") if (record := read_object(each))]
ALWAYS: list[Record] = [
    node(),
    KubernetesNode(name=NodeName("node-1")),
    pod(),
    *SETTINGS,
    *RUNNERS,
]
"""What every cluster has."""


def without(*types: type[Record]) -> list[Record]:
    return [each for each in ALWAYS if not isinstance(each, types)]


def lines(*records: Record, bundled: Sequence[str] = ()) -> list[str]:
    return list(missing(objects_of(*records), "c.json", ASKED_FROM, bundled))


def test_a_cluster_without_volumes_lacks_nothing() -> None:
    assert lines(*ALWAYS) == []


LISTING = node("node-2", disk(listed={"vol-r-1": 1}))


@pytest.mark.parametrize(
    ("records", "kind", "sign"),
    [
        pytest.param(without(type(node())), "nodes.longhorn.io", "every cluster has", id="nodes"),
        pytest.param(without(Pod), "pods", "every cluster has some", id="pods"),
        pytest.param(without(KubernetesNode), "nodes", "every cluster has", id="kubernetes-nodes"),
        pytest.param(
            [*ALWAYS, persistent_volume("pv")],
            "volumes.longhorn.io",
            "PersistentVolume pv is Longhorn's",
            id="volumes-of-pv",
        ),
        pytest.param(
            [*ALWAYS, replica("vol-r-1")],
            "volumes.longhorn.io",
            "Replica vol-r-1 is of one",
            id="volumes-of-replica",
        ),
        pytest.param(
            [*ALWAYS, LISTING],
            "replicas.longhorn.io",
            "vol-r-1 is on disk-1 of node-2",
            id="replicas-on-disk",
        ),
        pytest.param(
            [*ALWAYS, volume(attached_to="node-1")],
            "replicas.longhorn.io",
            "Volume vol is attached",
            id="replicas-of-attached",
        ),
        pytest.param(
            [*ALWAYS, volume(backing_image="image")],
            "backingimages.longhorn.io",
            "Volume vol has image",
            id="backing-images",
        ),
        pytest.param(
            [*ALWAYS, claim(persistent_volume="pv")],
            "persistentvolumes",
            "PersistentVolumeClaim default/data is bound to pv",
            id="pvs",
        ),
        pytest.param(
            [*ALWAYS, claim()],
            "storageclasses.storage.k8s.io",
            "PersistentVolumeClaim default/data is of class local",
            id="classes",
        ),
        pytest.param(
            [*without(Pod), pod("data")],
            "persistentvolumeclaims",
            "Pod default/p has default/data",
            id="claims",
        ),
    ],
)
def test_a_kind_that_is_missing_is_named_with_its_sign_and_how_to_add_it(
    records: list[Record], kind: str, sign: str
) -> None:
    [line, how] = lines(*records)

    assert line.startswith(f"c.json: no {kind}, though {sign}")
    assert f" -o json {kind} > more.json" in how


@pytest.mark.parametrize(
    "records",
    [
        pytest.param([persistent_volume(driver="other")], id="pv-of-others"),
        pytest.param([volume()], id="detached-volume"),
        pytest.param([LISTING, replica("vol-r-1"), volume()], id="replica"),
        pytest.param([volume(backing_image="image"), backing_image()], id="backing-image"),
        pytest.param([claim(storage_class=None)], id="claim-without-class"),
        pytest.param([claim(), bare_class()], id="class"),
        pytest.param(
            [LISTING, Unreadable(kind="Replica", name="r", why="")], id="unreadable-replica"
        ),
    ],
)
def test_a_kind_is_not_missing_that_is_there_or_that_nothing_leads_to(
    records: list[Record],
) -> None:
    assert lines(*ALWAYS, *records) == []


def test_an_unreadable_longhorn_node_is_no_kubernetes_node() -> None:
    broken = Unreadable(kind="Node", name="node-1", why="")

    [line, _] = lines(*without(KubernetesNode), broken)

    assert line.startswith("c.json: no nodes, ")


def test_pods_and_nodes_of_kubernetes_are_not_needed_to_answer_kube_scheduler() -> None:
    cluster = objects_of(*without(Pod, KubernetesNode))

    assert list(missing(cluster, "c.json", ANSWERED_FROM, ())) == []


def test_without_settings_every_default_is_said_and_where_it_is_from() -> None:
    [line, how] = lines(*without(type(setting("", ""))))

    assert line.startswith("c.json: no settings.longhorn.io; Longhorn's defaults count (its types/")
    assert "storage-over-provisioning-percentage 100, " in line
    assert "replica-soft-anti-affinity false, " in line
    assert "current-longhorn-version (not known: v1.10 or newer), " in line
    assert line.endswith("default-data-locality disabled, default-replica-count 3")
    assert " settings.longhorn.io > more.json" in how


def test_settings_that_are_missing_among_others_are_named_alone() -> None:
    lacking = {"replica-soft-anti-affinity", "default-replica-count"}
    kept = [each for each in ALWAYS if getattr(each, "name", "") not in lacking]

    [line, _] = lines(*kept)

    assert line.startswith("c.json: 2 of the 17 settings that answers rest on are missing; ")
    assert line.endswith(": replica-soft-anti-affinity false, default-replica-count 3")


def test_a_setting_that_cannot_be_read_is_not_missing() -> None:
    name = "replica-soft-anti-affinity"
    kept = [each for each in ALWAYS if getattr(each, "name", "") != name]

    assert lines(*kept, Unreadable(kind="Setting", name=name, why="")) == []


def test_a_bundle_has_pods_and_claims_of_some_namespaces_only() -> None:
    [line, how] = lines(*ALWAYS, bundled=["longhorn-system", "default"])

    assert line == (
        "c.json: a support bundle has the pods and claims of some namespaces only, here default, "
        "longhorn-system; no other pod is known"
    )
    assert how == (
        "to add what is missing: kubectl get --all-namespaces -o json persistentvolumeclaims,pods "
        "> more.json, then add --also more.json"
    )


def test_a_bundle_with_a_pod_of_another_namespace_was_added_to() -> None:
    assert lines(*without(Pod), pod(namespace="shop"), bundled=["default"]) == []


def test_an_empty_cluster_has_one_line_on_how_to_add_everything() -> None:
    found = list(missing(ClusterObjects(), "c.json", ASKED_FROM, ()))

    assert [line for line in found if "more.json" in line] == [found[-1]]
    kinds = (
        "csinodes.storage.k8s.io,nodes.longhorn.io,settings.longhorn.io,engineimages.longhorn.io,"
        "instancemanagers.longhorn.io,pods,nodes"
    )
    assert f" -o json {kinds} > " in found[-1]


def test_what_runs_on_nodes_is_said_to_be_missing_once() -> None:
    bare = [each for each in ALWAYS if each not in RUNNERS]

    found = lines(*bare)

    assert found == [
        "c.json: no engineimages.longhorn.io, instancemanagers.longhorn.io, "
        "csinodes.storage.k8s.io, though every cluster has some; nodes where volumes cannot be "
        "attached for lack of what they show are accepted",
        "to add what is missing: kubectl get --all-namespaces -o json csinodes.storage.k8s.io,"
        "engineimages.longhorn.io,instancemanagers.longhorn.io > more.json, then add --also "
        "more.json",
    ]


@pytest.mark.parametrize(
    ("kind", "plural"),
    [
        ("PersistentVolumeClaim", "persistentvolumeclaims"),
        ("PersistentVolume", "persistentvolumes"),
        ("StorageClass", "storageclasses.storage.k8s.io"),
        ("Volume", "volumes.longhorn.io"),
        ("BackingImage", "backingimages.longhorn.io"),
    ],
)
def test_an_object_that_a_claim_leads_to_can_be_added(kind: str, plural: str) -> None:
    error = UnseenObjectError(
        ClaimProblem.NOT_FOUND, kind, "x", "is not in the cluster", "create it"
    )

    assert unresolvable(error, "a.zip, b.json") == (
        f"{kind} x is not in a.zip, b.json; create it, or if the cluster has it: kubectl get "
        f"--all-namespaces -o json {plural} > more.json, then add --also more.json"
    )


def test_another_error_of_a_claim_stays_as_it_is() -> None:
    error = UnresolvableClaimError(
        ClaimProblem.DELETING, "Volume", "x", "is being deleted", "restore it"
    )

    assert unresolvable(error, "a.zip") == "Volume x is being deleted; restore it"
