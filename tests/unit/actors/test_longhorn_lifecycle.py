"""Which replica goes once a volume has more than it wants, of which nothing was recorded."""

from typing import Any

import msgspec
import pytest

from tests.actors.longhorn.lifecycle import DeleteReplica, next_steps
from tests.actors.longhorn.records import Replica, Volume


def attached(locality: str = "best-effort", wanted: int = 1) -> Volume:
    """Build a volume that is attached to node-a."""
    return Volume(
        name="data",
        wanted_replicas=wanted,
        locality=locality,
        wished_node="node-a",
        is_for_pods=True,
        state="attached",
        current_node="node-a",
        robustness="healthy",
        scheduled="True",
    )


def replica(name: str, **facts: Any) -> Replica:
    """Build a healthy replica that runs on the node of its name."""
    state = {"is_healthy": True, "is_running": True, "is_evicting": False, "is_leaving": False}
    fields = {"name": name, "node": f"node-{name}", "hard_node": "", **state, **facts}
    return msgspec.convert(fields, Replica)


def at(name: str, disk: str, zone: str, node: str = "") -> Replica:
    return replica(name, disk=disk, zone=zone, node=node or f"node-{name}")


A, B = replica("a"), replica("b")
ZONES = [at("b", "1", "y"), at("c", "2", "x"), at("a", "3", "x"), at("e", "4", "z")]
LOCAL_DISK = [at("a", "1", "x"), at("b", "1", "x", "node-a"), at("c", "2", "y")]


@pytest.mark.parametrize(
    ("volume", "replicas", "goes"),
    [
        pytest.param(attached(), [A, B], "b", id="the-remote-one"),
        pytest.param(attached(), [B, replica("c")], "", id="none-without-a-local-one"),
        pytest.param(attached("disabled"), [A, B], "", id="none-without-locality"),
        pytest.param(attached(wanted=3), ZONES, "c", id="from-the-crowded-zone"),
        pytest.param(attached(), LOCAL_DISK, "", id="none-where-the-local-disk-is-crowded"),
        pytest.param(attached(), [replica("b", is_evicting=True), A], "b", id="the-evicted-one"),
    ],
)
def test_which_replica_goes(volume, replicas, goes):
    deleted = [
        step.replica
        for step in next_steps(volume, replicas, failed=())
        if isinstance(step, DeleteReplica)
    ]

    assert deleted == ([goes] if goes else [])
