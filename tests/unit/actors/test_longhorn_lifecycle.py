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


GOES: dict[str, tuple[Volume, list[Replica], str]] = {
    "the remote one": (attached(), [A, B], "b"),
    "none without a local one": (attached(), [B, replica("c")], ""),
    "none without locality": (attached("disabled"), [A, B], ""),
    "from the crowded zone": (attached(wanted=3), ZONES, "c"),
    "none where the local disk is crowded": (attached(), LOCAL_DISK, ""),
    "the evicted one": (attached(), [replica("b", is_evicting=True), A], "b"),
}


@pytest.mark.parametrize(("volume", "replicas", "goes"), GOES.values(), ids=GOES)
def test_which_replica_goes(volume, replicas, goes):
    deleted = [
        step.replica
        for step in next_steps(volume, replicas, failed=())
        if isinstance(step, DeleteReplica)
    ]

    assert deleted == ([goes] if goes else [])
