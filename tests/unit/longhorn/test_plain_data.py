"""The oracle for the judgement of a volume's data: shown right by cases of Longhorn's sources.

Names of Go functions say where a case is from; all are of longhorn-manager
controller/volume_controller.go and datastore/longhorn.go unless a file is given.
"""

from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from msgspec import structs

from longhorn import Condition, Node, NodeName, Replica
from tests.builders import disk, engine_image, instance_manager, node, replica, shard, volume
from tests.unit.longhorn.data_clusters import NOW, data_cluster, data_clusters
from tests.unit.longhorn.plain_data import PlainData, plain_data

V1 = volume(engine_image="engine:1")
V2 = volume(disk_type="block")
NAMES = ("node-1", "node-2", "node-3")


def judged(*replicas: Replica, **given: Any) -> PlainData:
    """Judge a v1 volume on three nodes on which all runs; arguments are those of `plain_data`."""
    around: dict[str, Any] = {
        "volume": V1,
        "nodes": named(*(node(name) for name in NAMES)),
        "managers": [instance_manager(name) for name in NAMES],
        "images": [engine_image(*NAMES)],
        "v2_off": (),
        "manager_image": "manager:1",
        "auto_salvage": True,
        "unreadable_nodes": (),
    }
    return plain_data(replicas=replicas, **(around | given))


def named(*nodes: Node) -> Mapping[NodeName, Node]:
    """Return nodes by name."""
    return {each.name: each for each in nodes}


def on(number: int, **given: Any) -> Replica:
    """Build the replica of a node, which has the node's number."""
    return replica(f"r-{number}", on=f"node-{number}", **given)


def failed(number: int, seconds_ago: float | None = 0, **given: Any) -> Replica:
    """Build one that failed some time ago, None being a time that cannot be read."""
    moment = None if seconds_ago is None else NOW - timedelta(seconds=seconds_ago)
    return structs.replace(on(number, failed=True, **given), failed_at=moment)


def not_ready(name: str, status: str, reason: str) -> Node:
    """Build a node whose condition Ready has a status and reason."""
    return structs.replace(node(name), ready=Condition(status, reason))


def test_a_volume_is_new_until_one_of_its_replicas_was_healthy_whatever_became_of_it():
    # isFirstAttachment asks all for healthyAt. ReconcileVolumeState takes none without it for data.
    never = on(1, healthy_once=False)

    assert judged().state == "new"
    assert judged(never) == PlainData(
        states={"r-1": "usable"},
        awaits={},
        state="new",
        salvaged=frozenset(),
        last_on=frozenset(),
        attaches=True,
    )
    assert judged(never, failed(2, deleting=True)) == PlainData(
        states={"r-1": "never-healthy", "r-2": "deleting"},
        awaits={},
        state="lost",
        salvaged=frozenset(),
        last_on=frozenset(),
        attaches=False,
    )


def test_a_node_is_down_only_if_kubernetes_is_sure_that_it_lost_it():
    # IsNodeDownOrDeleted
    def awaited(status: str, reason: str) -> dict[str, tuple[str, str, str]]:
        return judged(on(1), nodes=named(not_ready("node-1", status, reason))).awaits

    down = {"r-1": ("node", "node-1", "")}
    assert awaited("False", "KubernetesNodeGone") == down
    assert awaited("False", "KubernetesNodeNotReady") == down
    assert awaited("False", "ManagerPodMissing") == {}
    assert awaited("Unknown", "KubernetesNodeNotReady") == {}
    assert judged(on(1), nodes={}).states == {"r-1": "gone"}
    assert judged(on(1), nodes={}, unreadable_nodes=["node-1"]).state == "unknown"


def test_those_are_salvaged_that_failed_less_than_a_minute_before_the_last_one():
    # ReconcileVolumeState with util/util.go TimestampWithinLimit: one at the limit is too old, one
    # whose time cannot be parsed is left out.
    replicas = (failed(1, 0), failed(2, 59), failed(3, 60))

    assert judged(*replicas).salvaged == {"r-1", "r-2"}
    assert judged(*replicas, auto_salvage=False).salvaged == set()
    assert judged(failed(1, None), failed(2, 3600)).salvaged == {"r-2"}
    assert judged(failed(1, 0, healthy_once=False), failed(2, 3600)).salvaged == {"r-2"}
    assert judged(*replicas, on(1)).salvaged == set()


def test_the_last_moment_is_that_of_one_that_can_be_salvaged():
    # ReconcileVolumeState passes over nodes that are down and disks that are not schedulable before
    # it looks at the time. It does not ask whether the disk is ready.
    nodes = named(
        not_ready("node-1", "False", "KubernetesNodeNotReady"),
        node("node-2", disk(schedulable=False)),
        node("node-3", disk(ready=False)),
    )

    found = judged(failed(1, 0), failed(2, 5), failed(3, 3600), nodes=nodes)

    assert found == PlainData(
        states=dict.fromkeys(("r-1", "r-2", "r-3"), "salvageable"),
        awaits={"r-1": ("node", "node-1", ""), "r-2": ("disk", "node-2", "disk-1")},
        state="faulted",
        salvaged=frozenset({"r-3"}),
        last_on=frozenset(),
        attaches=False,
    )


def test_a_replica_awaits_a_manager_that_runs_and_of_v1_one_of_the_default_image():
    # canInstanceManagerLaunchReplica and listInstanceManagers; CheckInstanceManagersReadiness lets
    # one of v1 pass that is being deleted.
    def awaits(of: Any, **given: Any) -> bool:
        manager = instance_manager(**given)
        found = judged(on(1), volume=of, managers=[manager]).awaits
        return found == {"r-1": ("manager", "node-1", "")}

    assert awaits(V1, is_running=False)
    assert awaits(V1, image="manager:2")
    assert awaits(V1, is_v2=True)
    assert not awaits(V1, is_running=False, deleting=True)
    assert not awaits(V2, is_v2=True, image="manager:2")
    assert awaits(V2, is_v2=True, is_running=False, deleting=True)
    assert not judged(on(1), managers=None).awaits


def test_a_replica_awaits_its_engine_image_and_of_v2_the_label():
    # CheckDataEngineImageReadiness and IsV2DataEngineDisabledForNode
    elsewhere = [engine_image("node-2")]
    managers = [instance_manager(is_v2=True), instance_manager()]

    def awaits(of: Any) -> Any:
        given = {"images": elsewhere, "managers": managers, "v2_off": ["node-1"]}
        return judged(on(1), volume=of, **given).awaits.get("r-1")

    assert awaits(V1) == ("image", "node-1", "")
    assert awaits(volume()) is None
    assert awaits(volume(engine_image="engine:2", current_image="engine:1")) == awaits(V1)
    assert awaits(V2) == ("engine", "node-1", "")
    assert not judged(on(1), images=()).awaits


def test_a_replica_that_has_not_failed_awaits_that_its_disk_is_ready():
    # IsReplicaUnavailable
    def found(**given: Any) -> PlainData:
        return judged(on(1), nodes=named(node("node-1", disk(**given))))

    assert found(ready=None).awaits == {"r-1": ("disk", "node-1", "disk-1")}
    assert found(ready=None).state == "awaited"
    assert found(schedulable=False).state == "readable"
    assert found(uuid="").states == {"r-1": "unknown"}


def test_no_volume_attaches_while_a_node_of_its_replicas_has_no_manager_at_all():
    # openVolumeDependentResources gives up at an error of canInstanceManagerLaunchReplica, which
    # asks nothing of a node that is down, and takes a manager that does not run for an answer.
    def attaches(*others: Replica, **given: Any) -> bool:
        managers = [instance_manager("node-1"), instance_manager("node-2", is_running=False)]
        found = judged(on(1), *others, **({"managers": managers} | given))
        assert found.state == "readable"
        return found.attaches

    assert attaches(on(2))
    assert not attaches(on(3))
    assert not attaches(failed(3))
    assert not attaches(on(3, deleting=True))
    assert not attaches(on(3, active=False))
    assert attaches(replica("r-3", on=""))
    down = not_ready("node-3", "False", "KubernetesNodeGone")
    assert attaches(on(3), nodes=named(node("node-1"), down))
    assert attaches(on(3), managers=None)


def test_the_data_is_last_on_the_nodes_without_which_too_little_is_left():
    shards = [shard(f"vol-{number}", on=f"node-{number}") for number in (1, 2, 3)]
    managers = [instance_manager(name, is_v2=True) for name in NAMES]
    sharded = {"volume": volume(disk_type="block", data_chunks=2), "managers": managers}
    with_two = {"nodes": named(node("node-1"), node("node-2"))}

    assert judged(on(1)).last_on == {"node-1"}
    assert judged(on(1), on(2)).last_on == set()
    assert judged(on(1), failed(2)).last_on == {"node-1"}
    assert judged(failed(2)).last_on == {"node-2"}
    assert judged(*shards, **sharded).last_on == set()
    assert judged(*shards, **sharded, **with_two).last_on == {"node-1", "node-2"}
    assert judged(shards[0], **sharded).last_on == set()


def test_the_same_seed_makes_the_same_cluster():
    assert data_cluster(7) == data_cluster(7)
    assert data_cluster(7) != data_cluster(8)


def test_random_clusters_reach_all_that_there_is():
    found = Counter[str]()
    for cluster in data_clusters(5_000):
        found.update(seen_in(plain_data(**structs.asdict(cluster))))

    assert {each: found[each] for each in REACHED if found[each] < 50} == {}


REACHED = (
    *("deleting", "inactive", "unplaced", "never-healthy", "unknown", "gone", "usable"),
    *("salvageable, awaits nothing", "salvageable, awaits node", "salvageable, awaits disk"),
    *(f"awaited, awaits {what}" for what in ("node", "manager", "engine", "image", "disk")),
    *("is new, attaches", "is readable, attaches", "is unknown, attaches"),
    *("is new, stays", "is readable, stays"),
    *("is awaited, stays", "is faulted, stays", "is lost, stays"),
    *("all are salvaged", "none is salvaged", "some are salvaged"),
    *("last on none", "last on one", "last on several"),
)
"""What is to be seen in random clusters again and again."""


def seen_in(found: PlainData) -> list[str]:
    """List what a judgement shows, in words of `REACHED`."""
    seen = [f"is {found.state}, {'attaches' if found.attaches else 'stays'}"]
    for name, state in found.states.items():
        awaits = f", awaits {found.awaits[name][0] if name in found.awaits else 'nothing'}"
        seen.append(state + (awaits if state in ("salvageable", "awaited") else ""))
    ready = seen.count("salvageable, awaits nothing")
    if found.state == "faulted" and ready:
        taken = len(found.salvaged)
        share = "all are" if taken == ready else "some are" if taken else "none is"
        seen.append(f"{share} salvaged")
    seen.append(f"last on {('none', 'one', 'several')[min(len(found.last_on), 2)]}")
    return seen
