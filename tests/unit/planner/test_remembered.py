"""What is remembered between pods is what one would find in a new cluster."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from planner.cluster import Cluster
from planner.engine import Decision
from planner.policy import SEED_POLICY, TODAY_POLICY
from planner.records import HostPort, Pod, PodTerm, Selector, Service, Taint
from tests.unit.planner.scheduling import cluster, node, pod, policy, schedule, service

NAMES = ("a", "b", "c", "d")
POLICIES = (
    SEED_POLICY,
    TODAY_POLICY,
    policy(
        [{"name": "Zone", "argument": {"serviceAffinity": {"labels": ["zone"]}}}],
        [{"name": "Rack", "weight": 1, "argument": {"serviceAntiAffinity": {"label": "rack"}}}],
    ),
)
SERVICES = [service(), Service(namespace="default", name="db", selector={"tier": "db"})]
AWAY = PodTerm(Selector(labels={"app": "web"}), "rack", ("default",))

labels = st.fixed_dictionaries({}, optional={"app": st.just("web"), "tier": st.just("db")})
nodes = st.builds(
    lambda name, zone, cpu, cordoned, tainted: node(
        name,
        {"cpu": cpu, "memory": 1000, "pods": 3},
        labels={
            "zone": zone,
            "rack": name,
            "kubernetes.io/hostname": name,
            "topology.kubernetes.io/zone": zone,
        },
        cordoned=cordoned,
        taints=(Taint("old", "", "PreferNoSchedule"),) if tainted else (),
    ),
    st.sampled_from(NAMES),
    st.sampled_from("xy"),
    st.sampled_from([500, 1000]),
    st.booleans(),
    st.booleans(),
)
pods = st.builds(
    lambda number, on, labels, cpu, port, away, owner: pod(
        f"pod-{number}",
        on=on,
        labels=labels,
        requests={"cpu": cpu} if cpu else {},
        ports=(HostPort(80),) if port else (),
        anti_affinity=(AWAY,) if away else (),
        owner=("StatefulSet", "db") if owner else None,
    ),
    st.integers(0, 5),
    st.sampled_from([*NAMES, None]),
    labels,
    st.sampled_from([0, 100, 400]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
removals = st.sampled_from([*NAMES, *(f"default/pod-{number}" for number in range(6))])


@given(st.lists(nodes | pods | removals, max_size=12), pods, st.sampled_from(POLICIES))
def test_a_cluster_that_was_changed_decides_as_a_new_one(changes, asked, by):
    where, asked = cluster([], services=SERVICES), replace(asked, node=None)
    asked = replace(asked, ref=pod("asked").ref)

    for change in changes:
        _apply(where, change)
        new = cluster(where.nodes.values(), *where.pods.values(), services=SERVICES)
        assert _said(schedule(by, asked, where)) == _said(schedule(by, asked, new))


def test_old_questions_are_forgotten():
    where = cluster([node("a")])

    for cpu in range(200):
        schedule(SEED_POLICY, pod(requests={"cpu": cpu}), where)

    assert schedule(SEED_POLICY, pod(requests={"cpu": 1}), where).node == "a"


def _apply(where: Cluster, change: object) -> None:
    if isinstance(change, Pod):
        if change.node is None or change.node in where.nodes:
            where.put_pod(change)
    elif isinstance(change, str):
        if change in where.pods:
            where.remove_pod(change)
        for name in [each for each in where.nodes if each == change]:
            for key in [*where.pods_on(name)]:
                where.remove_pod(key)
            where.remove_node(name)
    else:
        assert not isinstance(change, Pod | str)
        where.put_node(change)  # type: ignore[arg-type]


def _said(decision: Decision) -> object:
    return decision.node, dict(decision.refusals), dict(decision.scores)
