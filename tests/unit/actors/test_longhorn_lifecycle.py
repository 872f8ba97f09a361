"""What is to be done next about a volume, and where it shall be attached."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from tests.actors.longhorn.lifecycle import (
    PRECHECK,
    Become,
    CreateReplica,
    DeleteReplica,
    DeleteVolume,
    FinishRebuild,
    Judge,
    PlaceReplica,
    RunReplica,
    Step,
    StopReplicas,
    next_steps,
)
from tests.actors.longhorn.records import Replica, Volume
from tests.actors.longhorn.wishes import Wish, next_wish


def volume(**changes: Any) -> Volume:
    """Build a detached volume with one best-effort replica."""
    fields = {
        "name": "data",
        "wanted_replicas": 1,
        "locality": "best-effort",
        "wished_node": "",
        "is_for_pods": True,
        "state": "detached",
        "current_node": "",
        "robustness": "",
        "scheduled": "True",
    }
    return msgspec.convert({**fields, **changes}, Volume)


def attached(node: str, **changes: Any) -> Volume:
    fields = {"state": "attached", "wished_node": node, "current_node": node}
    return volume(**{**fields, "robustness": "healthy", **changes})


def replica(name: str, node: str = "", **changes: Any) -> Replica:
    """Build a healthy replica that runs, or one that has no place yet."""
    fields = {
        "name": name,
        "node": node,
        "hard_node": "",
        "is_healthy": bool(node),
        "is_evicting": False,
        "is_running": bool(node),
        "is_leaving": False,
    }
    return msgspec.convert({**fields, **changes}, Replica)


ON_A, ON_B, NOWHERE = replica("a", "node-a"), replica("b", "node-b"), replica("c")
LOCAL = replica("c", hard_node="node-a")
EVICTING = replica("e", "node-b", is_evicting=True)
REBUILDING = replica("r", "node-a", is_healthy=False)


def at(disk: str, zone: str, name: str, node: str) -> Replica:
    return replica(name, node, disk=disk, zone=zone)


def stopped(found: Replica) -> Replica:
    return msgspec.structs.replace(found, is_running=False)


def starting(found: Replica) -> Replica:
    return msgspec.structs.replace(found, is_running=False, shall_run=True)


@pytest.mark.parametrize(
    ("volume", "replicas", "expected"),
    [
        pytest.param(volume(state=""), [], [CreateReplica(""), Become("creating")], id="new"),
        pytest.param(volume(state="creating"), [NOWHERE], [Become("detaching")], id="creating"),
        pytest.param(volume(), [NOWHERE], [], id="waits-for-a-node"),
        pytest.param(
            volume(locality="disabled"), [NOWHERE], [PlaceReplica("c", "")], id="waits-for-no-node"
        ),
        pytest.param(
            volume(wished_node="node-a"), [NOWHERE], [PlaceReplica("c", "")], id="wished-somewhere"
        ),
        pytest.param(
            volume(wished_node="node-a", wanted_replicas=2),
            [stopped(ON_B), NOWHERE],
            [PlaceReplica("c", ""), RunReplica("b"), Become("attaching")],
            id="one-is-enough-to-attach",
        ),
        pytest.param(
            volume(wished_node="node-a", locality="strict-local", state="attaching"),
            [NOWHERE],
            [PlaceReplica("c", "node-a")],
            id="strict-local",
        ),
        pytest.param(
            volume(wished_node="node-a", state="attaching"),
            [ON_B],
            [Become("attached")],
            id="attaching-over-the-network",
        ),
        pytest.param(
            volume(wished_node="node-a", state="attaching"),
            [ON_A, starting(ON_B)],
            [],
            id="attaching-with-a-replica-that-does-not-run-yet",
        ),
        pytest.param(volume(state="attaching"), [ON_B], [Become("detaching")], id="wish-withdrawn"),
        pytest.param(attached("node-a"), [ON_A], [], id="at-rest"),
        pytest.param(attached("node-a"), [ON_B], [CreateReplica("node-a")], id="no-local-replica"),
        pytest.param(
            attached("node-a", is_for_pods=False), [ON_B], [], id="attached-for-an-eviction"
        ),
        pytest.param(attached("node-a", locality="disabled"), [ON_B], [], id="no-locality"),
        pytest.param(
            attached("node-a"), [ON_B, LOCAL], [PlaceReplica("c", "node-a")], id="local-pending"
        ),
        pytest.param(
            attached("node-a"),
            [ON_B, stopped(REBUILDING)],
            [RunReplica("r")],
            id="local-placed",
        ),
        pytest.param(attached("node-a"), [ON_B, starting(REBUILDING)], [], id="local-starting"),
        pytest.param(
            attached("node-a"), [ON_B, REBUILDING], [FinishRebuild("r")], id="local-filling"
        ),
        pytest.param(
            attached("node-c", wanted_replicas=3, robustness="degraded"),
            [ON_B, REBUILDING],
            [FinishRebuild("r")],
            id="one-rebuild-after-the-other",
        ),
        pytest.param(attached("node-a"), [ON_A, ON_B], [DeleteReplica("b")], id="surplus"),
        pytest.param(
            attached("node-a", locality="disabled"), [ON_A, ON_B], [], id="surplus-that-stays"
        ),
        pytest.param(
            attached("node-a", wanted_replicas=3),
            [
                at("1", "zone-b", "b", "node-b"),
                at("2", "zone-a", "c", "node-c"),
                at("3", "zone-a", "d", "node-a"),
                at("4", "zone-c", "e", "node-e"),
            ],
            [DeleteReplica("c")],
            id="surplus-in-the-crowded-zone",
        ),
        pytest.param(
            attached("node-a"),
            [
                at("1", "zone-a", "a", "node-a"),
                at("1", "zone-a", "b", "node-a"),
                at("2", "zone-b", "c", "node-b"),
            ],
            [],
            id="surplus-with-a-crowded-local-disk",
        ),
        pytest.param(volume(), [ON_A, ON_B], [], id="surplus-while-detached"),
        pytest.param(volume(), [ON_B, LOCAL], [DeleteReplica("c")], id="local-no-longer-needed"),
        pytest.param(
            attached("node-b", locality="disabled"), [EVICTING], [CreateReplica("")], id="evicting"
        ),
        pytest.param(
            attached("node-a"), [EVICTING, ON_A], [DeleteReplica("e")], id="eviction-done"
        ),
        pytest.param(
            attached("node-a", wanted_replicas=2),
            [ON_A, NOWHERE],
            [PlaceReplica("c", ""), Judge("degraded")],
            id="degraded",
        ),
        pytest.param(
            attached("node-a", wished_node=""), [ON_A], [Become("detaching")], id="no-longer-wished"
        ),
        pytest.param(
            volume(state="detaching"),
            [msgspec.structs.replace(ON_A, shall_run=True)],
            [StopReplicas()],
            id="detaching",
        ),
        pytest.param(volume(state="detaching"), [ON_A], [], id="stopping"),
        pytest.param(
            volume(state="detaching"), [stopped(ON_A)], [Become("detached")], id="stopped"
        ),
        pytest.param(
            volume(),
            [ON_A, msgspec.structs.replace(NOWHERE, is_failed=True, is_given_up=True)],
            [DeleteReplica("c")],
            id="given-up",
        ),
        pytest.param(volume(robustness="faulted"), [], [CreateReplica("")], id="without-replicas"),
        pytest.param(
            volume(robustness="faulted"), [NOWHERE], [Judge("unknown")], id="no-longer-faulted"
        ),
        pytest.param(volume(state="deleting"), [ON_A], [DeleteReplica("a")], id="deleting"),
        pytest.param(
            volume(state="deleting"),
            [replica("a", "node-a", is_leaving=True)],
            [],
            id="deleting-with-a-replica-on-its-way",
        ),
        pytest.param(volume(state="deleting"), [], [DeleteVolume()], id="deleted"),
    ],
)
def test_next_steps(volume: Volume, replicas: Sequence[Replica], expected: list[Step]) -> None:
    assert [*next_steps(volume, replicas, failed=())] == expected


def test_what_just_failed_waits_for_another_time() -> None:
    assert next_steps(attached("node-a"), [ON_B, LOCAL], failed=["c"]) == ()
    assert next_steps(volume(robustness="faulted"), [], failed=[PRECHECK]) == ()


def test_a_volume_without_any_replica_is_faulted() -> None:
    assert next_steps(volume(), [], failed=[PRECHECK]) == (Judge("faulted"),)


def test_what_an_attached_volume_just_got_runs_a_pass_later() -> None:
    placed = stopped(REBUILDING)

    assert next_steps(attached("node-a"), [ON_B, placed], failed=(), placed=["r"]) == ()


WISHED_A = volume(wished_node="node-a", state="attached", current_node="node-a")
FOR_EVICTION = msgspec.structs.replace(WISHED_A, is_for_pods=False)
FAILED = volume(scheduled="False")


@pytest.mark.parametrize(
    ("volume", "replicas", "pods", "eviction", "expected"),
    [
        pytest.param(volume(), [NOWHERE], [], "", None, id="nobody-wants-it"),
        pytest.param(volume(), [NOWHERE], ["node-a", "node-b"], "", Wish("node-a"), id="first-pod"),
        pytest.param(volume(state="creating"), [], ["node-a"], "", None, id="not-there-yet"),
        pytest.param(volume(state="detaching"), [], ["node-a"], "", None, id="not-detached-yet"),
        pytest.param(WISHED_A, [ON_A], ["node-b", "node-a"], "", None, id="still-wanted"),
        pytest.param(WISHED_A, [ON_A], ["node-b"], "", Wish(""), id="wanted-elsewhere"),
        pytest.param(FAILED, [NOWHERE], ["node-a"], "", None, id="not-scheduled"),
        pytest.param(FAILED, [], ["node-a"], "", None, id="not-even-written"),
        pytest.param(volume(robustness="faulted"), [ON_A], ["node-a"], "", None, id="faulted"),
        pytest.param(FAILED, [ON_A], ["node-a"], "", Wish("node-a"), id="all-placed-after-all"),
        pytest.param(
            volume(locality="strict-local"),
            [ON_A],
            ["node-b"],
            "",
            None,
            id="strict-local-elsewhere",
        ),
        pytest.param(
            volume(locality="strict-local"),
            [ON_A],
            ["node-a"],
            "",
            Wish("node-a"),
            id="strict-local",
        ),
        pytest.param(
            volume(), [ON_A], [], "node-a", Wish("node-a", is_for_pods=False), id="eviction"
        ),
        pytest.param(volume(), [ON_A], ["node-b"], "node-a", Wish("node-b"), id="pods-come-first"),
        pytest.param(FOR_EVICTION, [ON_A], ["node-b"], "node-a", None, id="eviction-goes-on"),
        pytest.param(FOR_EVICTION, [ON_A], ["node-a"], "", Wish(""), id="eviction-done"),
    ],
)
def test_next_wish(
    volume: Volume,
    replicas: Sequence[Replica],
    pods: list[str],
    eviction: str,
    expected: Wish | None,
) -> None:
    assert next_wish(volume, replicas, pods, eviction) == expected
