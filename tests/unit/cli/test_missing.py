"""What files of a cluster lack is named, with what that means; what they need not have is not."""

from collections.abc import Sequence

import pytest

from app.kube.resource import AnyRecord
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
HOST = KubernetesNode(name=NodeName("node-1"))
ALWAYS: list[Record] = [node(), HOST, pod(), *SETTINGS, *RUNNERS]
"""What every cluster has."""


def without(*types: type[Record]) -> list[Record]:
    return [each for each in ALWAYS if not isinstance(each, types)]


def lines(*records: Record, bundled: Sequence[str] = ()) -> list[str]:
    return list(missing(objects_of(*records), "c.json", ASKED_FROM, bundled))


def among_settings(*lacking: str) -> list[Record]:
    """Return what every cluster has, without some settings."""
    return [each for each in ALWAYS if getattr(each, "name", "") not in lacking]


LISTING = node("node-2", disk(listed={"vol-r-1": 1}))
ANTI_AFFINITY = "replica-soft-anti-affinity"
BUNDLE = ("longhorn-system", "default")
ROWS: dict[str, tuple[str, list[Record], Sequence[str]]] = {
    "nothing": ("", ALWAYS, ()),
    "nodes": ("no nodes.longhorn.io, though every cluster has", without(type(node())), ()),
    "pods": ("no pods, though every cluster has some", without(Pod), ()),
    "nodes-of-kubernetes": ("no nodes, though every cluster has", without(KubernetesNode), ()),
    "nodes-of-kubernetes-beside-an-unreadable-one": ("no nodes, ",
        [*without(KubernetesNode), Unreadable(kind="Node", name="node-1", why="")], ()),
    "volume-of-a-pv": ("no volumes.longhorn.io, though PersistentVolume pv is Longhorn's",
        [*ALWAYS, persistent_volume("pv")], ()),
    "volume-of-a-replica": ("no volumes.longhorn.io, though Replica vol-r-1 is of one",
        [*ALWAYS, replica("vol-r-1")], ()),
    "replica-on-a-disk": ("no replicas.longhorn.io, though vol-r-1 is on disk-1 of node-2",
        [*ALWAYS, LISTING], ()),
    "replica-of-what-is-attached": ("no replicas.longhorn.io, though Volume vol is attached",
        [*ALWAYS, volume(attached_to="node-1")], ()),
    "backing-image": ("no backingimages.longhorn.io, though Volume vol has image",
        [*ALWAYS, volume(backing_image="image")], ()),
    "pv": ("no persistentvolumes, though PersistentVolumeClaim default/data is bound to pv",
        [*ALWAYS, claim(persistent_volume="pv")], ()),
    "class": ("no storageclasses.storage.k8s.io, though PersistentVolumeClaim default/data is of "
        "class local", [*ALWAYS, claim()], ()),
    "claim": ("no persistentvolumeclaims, though Pod default/p has default/data",
        [*without(Pod), pod("data")], ()),
    "pv-of-others": ("", [*ALWAYS, persistent_volume(driver="other")], ()),
    "volume-detached": ("", [*ALWAYS, volume()], ()),
    "replica-there": ("", [*ALWAYS, LISTING, replica("vol-r-1"), volume()], ()),
    "backing-image-there":
        ("", [*ALWAYS, volume(backing_image="image"), backing_image()], ()),
    "class-of-none": ("", [*ALWAYS, claim(storage_class=None)], ()),
    "class-there": ("", [*ALWAYS, claim(), bare_class()], ()),
    "replica-unreadable":
        ("", [*ALWAYS, LISTING, Unreadable(kind="Replica", name="r", why="")], ()),
    "settings": ("; Longhorn's defaults count (its types/", without(type(setting("", ""))), ()),
    "settings-among-others": ("2 of the 17 settings that answers rest on are missing; ",
        among_settings(ANTI_AFFINITY, "default-replica-count"), ()),
    "setting-unreadable": ("", [*among_settings(ANTI_AFFINITY),
        Unreadable(kind="Setting", name=ANTI_AFFINITY, why="")], ()),
    "bundle": ("of some namespaces only, here default, longhorn-system; no other pod is known",
        ALWAYS, BUNDLE),
    "bundle-with-a-pod-of-another-namespace":
        ("", [*without(Pod), pod(namespace="shop")], BUNDLE[1:]),
    "runners": ("no engineimages.longhorn.io, instancemanagers.longhorn.io, csinodes.",
        [each for each in ALWAYS if each not in RUNNERS], ()),
    "all": ("no nodes.longhorn.io, though every cluster has some", [], ()),
}  # fmt: skip
"""What is said to be missing, or nothing, of which records, and of which namespaces of a bundle."""


def test_a_kind_that_is_missing_is_named_and_how_to_add_it(golden):
    text = ""
    for name, (fact, records, bundled) in ROWS.items():
        found = lines(*records, bundled=bundled)
        assert bool(found) == bool(fact), name
        assert fact in "".join(found), name
        assert [line for line in found if "more.json" in line] == found[-1:], name
        text += "".join(f"{line}\n" for line in [f"# {name}", *found])

    golden("missing", text)


def test_pods_and_nodes_of_kubernetes_are_not_needed_to_answer_kube_scheduler():
    cluster = objects_of(*without(Pod, KubernetesNode))

    assert list(missing(cluster, "c.json", ANSWERED_FROM, ())) == []


PLURALS = {
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "PersistentVolume": "persistentvolumes",
    "StorageClass": "storageclasses.storage.k8s.io",
    "Volume": "volumes.longhorn.io",
    "BackingImage": "backingimages.longhorn.io",
}


@pytest.mark.parametrize(("kind", "plural"), PLURALS.items())
def test_an_object_that_a_claim_leads_to_can_be_added(kind, plural):
    error = UnseenObjectError(
        ClaimProblem.NOT_FOUND, kind, "x", "is not in the cluster", "create it"
    )

    assert unresolvable(error, "a.zip, b.json") == (
        f"{kind} x is not in a.zip, b.json; create it, or if the cluster has it: kubectl get "
        f"--all-namespaces -o json {plural} > more.json, then add --also more.json"
    )


def test_another_error_of_a_claim_stays_as_it_is():
    error = UnresolvableClaimError(
        ClaimProblem.DELETING, "Volume", "x", "is being deleted", "restore it"
    )

    assert unresolvable(error, "a.zip") == "Volume x is being deleted; restore it"
