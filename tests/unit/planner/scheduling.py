"""Small clusters for tests of scheduling: nodes of 4 cores and 8 GiB, pods that ask for nothing."""

from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any

from extender import PodRef
from extender.kubernetes import ClaimKey
from longhorn import NodeName
from planner.cluster import Cluster, Record, fill
from planner.engine import Decision, Scheduler
from planner.policy import Policy
from planner.policy_file import read_policy
from planner.predicates import Predicate
from planner.priorities import Priority
from planner.records import KubernetesNode, Pod, Service, Wishes
from tests.builders import GENEROUS, GIB

ALLOCATABLE = {"cpu": 4000, "memory": 8 * GIB, "pods": 110}


def node(name: str, allocatable: Mapping[str, int] | None = None, **fields: Any) -> KubernetesNode:
    """Build a node."""
    has = ALLOCATABLE if allocatable is None else allocatable
    return KubernetesNode(name=NodeName(name), allocatable=has, **fields)


def labelled(**nodes: Mapping[str, str]) -> list[KubernetesNode]:
    """Build nodes by name, with their labels."""
    return [node(name, labels=labels) for name, labels in nodes.items()]


def pod(
    name: str = "pod",
    *,
    on: str | None = None,
    claims: Sequence[str] = (),
    namespace: str = "default",
    **wishes: Any,
) -> Pod:
    """Build a pod with what it wishes, on a node if one is given."""
    keys = tuple(ClaimKey(f"{namespace}/{each}") for each in claims)
    ref = PodRef(namespace=namespace, name=name, uid=f"uid-{namespace}-{name}", claims=keys)
    return Pod(ref=ref, wishes=Wishes(**wishes), node=None if on is None else NodeName(on))


def service(name: str = "web", namespace: str = "default", **selector: str) -> Service:
    """Build a service; without labels its selector is `app: web`."""
    return Service(namespace=namespace, name=name, selector=selector or {"app": "web"})


def web(name: str, *, on: str | None = None, **fields: Any) -> Pod:
    """Build a pod of the service."""
    return pod(name, on=on, **{"labels": {"app": "web"}, **fields})


def cluster(
    nodes: Iterable[KubernetesNode],
    *pods: Pod,
    services: Iterable[Service] = (),
    records: Iterable[Record] = (),
    ignored: frozenset[str] = frozenset(),
) -> Cluster:
    """Build a cluster."""
    return fill(
        Cluster(GENEROUS, ignored=ignored),
        nodes=nodes,
        pods=pods,
        services=services,
        records=records,
    )


def refused(predicate: Predicate, asked: Pod, where: Cluster) -> dict[str, str]:
    """Return the texts of the refused nodes."""
    return {name: why.text for name, why in predicate(asked, [*where.nodes], where).items()}


def scores(priority: Priority, asked: Pod, where: Cluster) -> dict[str, float]:
    """Return the scores of all nodes."""
    found = priority(asked, [*where.nodes], where) or dict.fromkeys(where.nodes, 0.0)
    return {str(name): each for name, each in found.items()}


def policy(predicates: Sequence[object] = (), priorities: Sequence[object] = ()) -> Policy:
    """Read a policy from the entries of its lists; a text stands for a name, with weight 1."""
    return read_policy(
        {
            "kind": "Policy",
            "version": "v1",
            "predicates": [_entry(each) for each in predicates],
            "priorities": [_entry(each, weight=1) for each in priorities],
        }
    )


def schedule(by: Policy, asked: Pod, where: Cluster, seed: int = 0) -> Decision:
    """Ask for one decision."""
    return Scheduler(by, Random(seed)).schedule(asked, where)


def _entry(given: object, **more: object) -> object:
    return {"name": given, **more} if isinstance(given, str) else given
