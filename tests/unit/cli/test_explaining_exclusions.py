"""Which nodes kube-scheduler leaves out before it asks the extender."""

from typing import Any

import pytest
from msgspec import structs

from cli.explaining.exclusions import exclusion, exclusions
from cli.kube.pods import Pod
from longhorn import Condition, Node, NodeName
from planner.predicates import Limit, limits_of
from planner.records import KubernetesNode, Wishes
from tests.builders import core_document, read, view_of
from tests.builders import node as longhorn_node
from tests.unit.cli.situations import pod, storage_class

NAME = NodeName("node-1")
EAST = {"metadata": {"labels": {"zone": "east", "cores": "8"}}}
TAINT = {"key": "team", "value": "a", "effect": "NoSchedule"}


def node(fields: dict[str, Any]) -> KubernetesNode:
    found = read(core_document("Node", "node-1", **fields))
    assert isinstance(found, KubernetesNode)
    return found


def wishes(**spec: Any) -> Wishes:
    found = read(core_document("Pod", "web", spec=spec))
    assert isinstance(found, Pod)
    assert found.wishes is not None
    return found.wishes


def term(*expressions: tuple[str, ...]) -> dict[str, Any]:
    """Build a term of node affinity of these expressions: key, operator, and values."""
    keyed = [{"key": key, "operator": how, "values": values} for key, how, *values in expressions]
    return {"matchExpressions": keyed}


def affine(required: dict[str, Any]) -> dict[str, Any]:
    terms = {"nodeSelectorTerms": [required]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def tolerates(**toleration: str) -> dict[str, Any]:
    return {"tolerations": [toleration]}


CORDONED = {"spec": {"unschedulable": True}}
TAINTED = {"spec": {"taints": [TAINT]}}
PREFERS_NOT = {"spec": {"taints": [{**TAINT, "effect": "PreferNoSchedule"}]}}
ANY = tolerates(operator="Exists")
NO_EXECUTE = tolerates(operator="Exists", effect="NoExecute")

# Of node affinity only what kube-scheduler's answers about random pods do not show.
NODES: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "plain": ({}, {}, ""),
    "cordoned": (CORDONED, {}, "node_cordoned"),
    "cordon-tolerated": (CORDONED, ANY, ""),
    "tainted": (TAINTED, {}, "node_tainted"),
    "taint-that-prefers": (PREFERS_NOT, {}, ""),
    "selected": (EAST, {"nodeSelector": {"zone": "east"}}, ""),
    "other-zone-selected": (EAST, {"nodeSelector": {"zone": "west"}}, "node_selector"),
    "no-zone": ({}, {"nodeSelector": {"zone": "west"}}, "node_selector"),
    "taint-tolerated": (TAINTED, tolerates(key="team", value="a", effect="NoSchedule"), ""),
    "taint-of-any-effect": (TAINTED, tolerates(key="team", value="a"), ""),
    "taint-of-other-value": (TAINTED, tolerates(key="team", value="b"), "node_tainted"),
    "taint-of-any-value": (TAINTED, tolerates(key="team", operator="Exists"), ""),
    "taint-of-other-key": (TAINTED, tolerates(key="x", operator="Exists"), "node_tainted"),
    "taint-of-other-effect": (TAINTED, NO_EXECUTE, "node_tainted"),
    "any-taint": (TAINTED, ANY, ""),
    "taint-without-key": (TAINTED, tolerates(value="a"), "node_tainted"),
    "greater": (EAST, affine(term(("cores", "Gt", "4"))), ""),
    "less": (EAST, affine(term(("cores", "Lt", "4"))), "node_affinity"),
    "greater-than-text": (EAST, affine(term(("zone", "Gt", "4"))), "node_affinity"),
    "unknown-operator": (EAST, affine(term(("zone", "Unknown", "east"))), "node_affinity"),
    "empty-term": (EAST, affine({}), "node_affinity"),
}


@pytest.mark.parametrize(("fields", "asked", "code"), NODES.values(), ids=NODES)
def test_node_is_excluded_as_by_kubernetes(fields, asked, code):
    found = exclusion(node(fields), wishes(**asked))

    assert (found.code if found else "") == code


def claimed(*objects: dict[str, Any], **claim: str) -> list[Limit]:
    """Return the limits of a pod with one claim, in a cluster of these objects."""
    asking = read(pod(claims=["data"]))
    assert isinstance(asking, Pod)
    documents = (*objects, core_document("PersistentVolumeClaim", "data", spec=claim))
    return limits_of(asking.ref, view_of(*map(read, documents)))


def of_volume(*terms: dict[str, Any]) -> list[Limit]:
    """Return the limits of a pod whose PersistentVolume has these terms."""
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": list(terms)}}}
    return claimed(core_document("PersistentVolume", "pv", spec=affinity), volumeName="pv")


def class_of(*zones: str) -> dict[str, Any]:
    """Build a class that makes volumes for these zones; for all, if there is none."""
    zoned = [{"matchLabelExpressions": [{"key": "zone", "values": [zone]}]} for zone in zones]
    return storage_class() | {"allowedTopologies": zoned}


def of_class(*zones: str) -> list[Limit]:
    return claimed(class_of(*zones), storageClassName="fast")


WEST, IN_EAST = term(("zone", "In", "west")), term(("zone", "In", "east"))
EXISTING = (class_of("west"), core_document("PersistentVolume", "pv"))
BOUND = {"storageClassName": "fast", "volumeName": "pv"}
LIMITS = {
    "one-term-met": (of_volume(WEST, IN_EAST), ""),
    "no-term-met": (of_volume(WEST), "volume_node_affinity"),
    "no-term": (of_volume(), "volume_node_affinity"),
    "class-for-all-zones": (of_class(), ""),
    "class-for-two-zones": (of_class("west", "east"), ""),
    "class-for-another-zone": (of_class("west"), "allowed_topologies"),
    "class-of-an-existing-volume": (claimed(*EXISTING, **BOUND), ""),
}


@pytest.mark.parametrize(("limits", "code"), LIMITS.values(), ids=LIMITS)
def test_node_is_excluded_by_what_limits_a_claim(limits, code):
    found = exclusion(node(EAST), Wishes(), limits)

    assert (found.code if found else "") == code


def test_exclusion_names_the_volume_the_claim_and_the_labels():
    both = term(("zone", "In", "a", "b"), ("rack", "Exists"))

    [limit] = of_volume(both, term(("cores", "Gt", "8")))

    assert limit.refusal.text == (
        "PersistentVolume pv of claim default/data is limited to nodes with zone In a,b and rack "
        "Exists, or cores Gt 8"
    )


SAYS_CORDONED = longhorn_node(NAME, schedulable=False)
SAYS_NO_MOUNT = structs.replace(longhorn_node(NAME), schedulable=Condition("False", "NoMount"))
SAID: dict[str, tuple[list[str], Node, dict[str, Any], dict[NodeName, KubernetesNode]]] = {
    "cordoned": (["node_cordoned"], SAYS_CORDONED, {}, {}),
    "cordon-tolerated": ([], SAYS_CORDONED, ANY, {}),
    "other-condition": ([], SAYS_NO_MOUNT, {}, {}),
    "kubernetes-node-counts-first": ([], SAYS_CORDONED, {}, {NAME: node({})}),
}


@pytest.mark.parametrize(("codes", "said", "asked", "known"), SAID.values(), ids=SAID)
def test_longhorn_tells_of_a_cordon_if_the_kubernetes_node_is_not_known(codes, said, asked, known):
    found = exclusions([NAME, NodeName("other")], known, {NAME: said}, wishes(**asked), [])

    assert [each.code for each in found.values()] == codes
