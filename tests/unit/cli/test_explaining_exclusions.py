"""Which nodes kube-scheduler leaves out before it asks the extender."""

from typing import Any

import pytest
from msgspec import structs

from cli.explaining.exclusions import exclusion, exclusions
from cli.kube.pods import Pod
from longhorn import Condition, NodeName
from planner.predicates import Limit, limits_of
from planner.records import KubernetesNode, Wishes
from tests.builders import core_document, read, view_of
from tests.builders import node as longhorn_node

NAME = NodeName("node-1")
EAST = {"metadata": {"labels": {"zone": "east", "cores": "8"}}}
TAINT = {"key": "team", "value": "a", "effect": "NoSchedule"}


def node(**fields: Any) -> KubernetesNode:
    found = read(core_document("Node", "node-1", **fields))
    assert isinstance(found, KubernetesNode)
    return found


def wishes(**spec: Any) -> Wishes:
    found = read(core_document("Pod", "web", spec=spec))
    assert isinstance(found, Pod)
    assert found.wishes is not None
    return found.wishes


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("fields", "asked", "code"),
    [
        ({}, {}, None),
        ({"spec": {"unschedulable": True}}, {}, "node_cordoned"),
        ({"spec": {"unschedulable": True}}, {"tolerations": [{"operator": "Exists"}]}, None),
        ({"spec": {"taints": [TAINT]}}, {}, "node_tainted"),
        ({"spec": {"taints": [{**TAINT, "effect": "PreferNoSchedule"}]}}, {}, None),
        (EAST, {"nodeSelector": {"zone": "east"}}, None),
        (EAST, {"nodeSelector": {"zone": "west"}}, "node_selector"),
        ({}, {"nodeSelector": {"zone": "west"}}, "node_selector"),
    ],
)
def test_cordon_taint_and_selector(
    fields: dict[str, Any], asked: dict[str, Any], code: str | None
) -> None:
    found = exclusion(node(**fields), wishes(**asked))

    assert (found.code if found else None) == code


@pytest.mark.parametrize(
    ("toleration", "passes"),
    [
        ({"key": "team", "value": "a", "effect": "NoSchedule"}, True),
        ({"key": "team", "value": "a"}, True),
        ({"key": "team", "value": "b"}, False),
        ({"key": "team", "operator": "Exists"}, True),
        ({"key": "other", "operator": "Exists"}, False),
        ({"operator": "Exists", "effect": "NoExecute"}, False),
        ({"operator": "Exists"}, True),
        ({"value": "a"}, False),
    ],
)
def test_a_taint_is_tolerated_as_by_kubernetes(toleration: dict[str, Any], *, passes: bool) -> None:
    found = exclusion(node(spec={"taints": [TAINT]}), wishes(tolerations=[toleration]))

    assert (found is None) is passes


@pytest.mark.parametrize(
    ("term", "passes"),
    [
        (expression("cores", "Gt", "4"), True),
        (expression("cores", "Lt", "4"), False),
        (expression("zone", "Gt", "4"), False),
        (expression("zone", "Unknown", "east"), False),
        ({}, False),
    ],
)
def test_a_term_of_node_affinity_is_met_as_by_kubernetes(
    term: dict[str, Any], *, passes: bool
) -> None:
    """What kube-scheduler's answers about random pods do not show."""
    required = {"nodeSelectorTerms": [term]}
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": required}

    found = exclusion(node(**EAST), wishes(affinity={"nodeAffinity": affinity}))

    assert (found is None) is passes


def claimed(*objects: dict[str, Any], claim: dict[str, Any]) -> list[Limit]:
    """Return the limits of a pod with one claim, in a cluster of these objects."""
    pod = read(
        core_document(
            "Pod",
            "web",
            spec={"volumes": [{"name": "a", "persistentVolumeClaim": {"claimName": "data"}}]},
        )
    )
    assert isinstance(pod, Pod)
    documents = (*objects, core_document("PersistentVolumeClaim", "data", spec=claim))
    return limits_of(pod.ref, view_of(*map(read, documents)))


def persistent_volume(*terms: dict[str, Any]) -> dict[str, Any]:
    required = {"required": {"nodeSelectorTerms": list(terms)}}
    return core_document("PersistentVolume", "pv", spec={"nodeAffinity": required})


def storage_class(*zones: str) -> dict[str, Any]:
    """Build a class that makes volumes for these zones; for all, if there is none."""
    expressions = [{"key": "zone", "values": [zone]} for zone in zones]
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "fast"},
        "allowedTopologies": [{"matchLabelExpressions": [each]} for each in expressions],
    }


@pytest.mark.parametrize(
    ("terms", "code"),
    [
        ([expression("zone", "In", "west"), expression("zone", "In", "east")], None),
        ([expression("zone", "In", "west")], "volume_node_affinity"),
        ([], "volume_node_affinity"),
    ],
)
def test_a_volume_is_used_only_on_nodes_that_meet_a_term_of_it(
    terms: list[dict[str, Any]], code: str | None
) -> None:
    limits = claimed(persistent_volume(*terms), claim={"volumeName": "pv"})

    found = exclusion(node(**EAST), Wishes(), limits)

    assert (found.code if found else None) == code


@pytest.mark.parametrize(
    ("zones", "code"),
    [([], None), (["west", "east"], None), (["west"], "allowed_topologies")],
)
def test_a_class_makes_volumes_only_for_its_topologies(zones: list[str], code: str | None) -> None:
    limits = claimed(storage_class(*zones), claim={"storageClassName": "fast"})

    found = exclusion(node(**EAST), Wishes(), limits)

    assert (found.code if found else None) == code


def test_topologies_of_a_class_do_not_limit_a_volume_that_exists() -> None:
    claim = {"storageClassName": "fast", "volumeName": "pv"}

    assert (
        claimed(storage_class("west"), core_document("PersistentVolume", "pv"), claim=claim) == []
    )


def test_the_text_names_the_volume_the_claim_and_the_labels() -> None:
    [limit] = claimed(
        persistent_volume(
            {
                "matchExpressions": [
                    {"key": "zone", "operator": "In", "values": ["a", "b"]},
                    {"key": "rack", "operator": "Exists"},
                ]
            },
            expression("cores", "Gt", "8"),
        ),
        claim={"volumeName": "pv"},
    )

    assert limit.refusal.text == (
        "PersistentVolume pv of claim default/data is limited to nodes with zone In a,b and rack "
        "Exists, or cores Gt 8"
    )


@pytest.mark.parametrize(
    ("tolerations", "codes"), [([], ["node_cordoned"]), ([{"operator": "Exists"}], [])]
)
def test_longhorn_tells_of_a_cordon_if_the_kubernetes_node_is_not_known(
    tolerations: list[dict[str, Any]], codes: list[str]
) -> None:
    said = longhorn_node(NAME, schedulable=False)

    found = exclusions([NAME], {}, {NAME: said}, wishes(tolerations=tolerations), [])

    assert [each.code for each in found.values()] == codes


def test_what_longhorn_says_besides_excludes_no_node() -> None:
    said = structs.replace(longhorn_node(NAME), schedulable=Condition("False", "NoMount"))

    assert exclusions([NAME, NodeName("other")], {}, {NAME: said}, wishes(), []) == {}


def test_the_kubernetes_node_counts_before_what_longhorn_says() -> None:
    said = longhorn_node(NAME, schedulable=False)

    assert exclusions([NAME], {NAME: node()}, {NAME: said}, wishes(), []) == {}
