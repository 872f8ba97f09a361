"""Which engines keep a node, and which leave with their pods."""

from typing import Any

import pytest

from tests.unit.cli.drained import (
    Document,
    attachment,
    budget,
    engines,
    host,
    in_the_way,
    judged,
    manager,
    node,
    pod,
    replica,
    settings,
    volume,
)


def attached(**nodes: str) -> list[Document]:
    """Build a node with an engine, and who wants it there."""
    return [*node(instanceEngines=engines("vol-e-0")), volume(claim="data"), attachment(**nodes)]


def test_the_engine_of_a_pod_leaves_with_it() -> None:
    there = attached(csi_attacher="node-1")

    assert in_the_way(*there, pod(claims=["data"])) == []
    assert judged(*there, pod(claims=["data"])).cautions == ()


@pytest.mark.parametrize(
    ("type_", "expected"),
    [
        ("longhorn_api", "attached_by_hand"),
        ("backup_controller", "attached_by_longhorn"),
        ("volume_eviction_controller", "attached_by_longhorn"),
        ("share_manager_controller", None),
    ],
)
def test_a_ticket_keeps_an_engine(type_: str, expected: str | None) -> None:
    there = attached(**{type_: "node-1"})

    assert in_the_way(*there) == ([(expected, "Volume vol (default/data)")] if expected else [])


def test_a_ticket_for_another_node_keeps_nothing() -> None:
    verdict = judged(*attached(longhorn_api="node-2"))

    assert verdict.obstacles == ()
    assert [str(each.code) for each in verdict.cautions] == ["detaching"]


def test_a_cordon_detaches_by_hand_if_the_setting_says_so() -> None:
    there = attached(longhorn_api="node-1")
    more = settings(detach_manually_attached_volumes_when_cordoned="true")

    assert in_the_way(*there, *more) == []


@pytest.mark.parametrize(
    ("user", "spec", "expected"),
    [
        (pod(owner="DaemonSet", claims=["data"]), {}, ["attached_for_staying_pod"]),
        (pod(annotations={"kubernetes.io/config.mirror": "x"}, claims=["data"]), {},
         ["attached_for_staying_pod"]),
        (pod(owner="DaemonSet", claims=["other"]), {}, []),
        (pod(owner="DaemonSet", claims=["data"]), {"accessMode": "rwx"}, []),
        (pod(owner="DaemonSet", claims=["data"]), {"accessMode": "rwx", "migratable": True},
         ["attached_for_staying_pod"]),
        (pod(owner="DaemonSet", claims=["data"], node="node-2"), {}, []),
    ],
    ids=["daemon-set", "static", "other-claim", "shared", "migratable", "elsewhere"],
)  # fmt: skip
def test_a_pod_that_stays_keeps_its_volume(
    user: Document, spec: dict[str, Any], expected: list[str]
) -> None:
    there = [*node(instanceEngines=engines("vol-e-0")), volume(claim="data", **spec)]

    found = in_the_way(*there, attachment(csi_attacher="node-1"), user)

    assert [code for code, _ in found] == expected


def test_engines_of_an_old_manager_keep_the_new_one() -> None:
    for state in ("running", "error"):
        there = [*node(), volume(), attachment(longhorn_api="node-1")]
        status: dict[str, Any] = {"currentState": state, "instanceEngines": engines("vol-e-0")}
        there.append(manager(name="old", type="engine", **status))

        assert in_the_way(*there) == [("attached_by_hand", "Volume vol")]


def test_an_engine_without_a_volume_is_an_orphan() -> None:
    there = node(instanceEngines=engines("gone-e-0"))

    assert in_the_way(*there) == [("orphaned_engine", "Engine gone-e-0")]


@pytest.mark.parametrize("field", ["instanceEngines", "instanceEngineFrontends", "instances"])
def test_engines_of_any_manager_of_the_node_count(field: str) -> None:
    """Also of one that does not run, and in every field that versions of Longhorn have."""
    status: dict[str, Any] = {"currentState": "error", field: engines("vol-e-0")}
    second = manager(engine="v2", **status)

    assert in_the_way(*node(), second, volume(), attachment(longhorn_api="node-1")) == [
        ("attached_by_hand", "Volume vol")
    ]


def test_engines_are_asked_about_before_replicas() -> None:
    there = attached(longhorn_api="node-1")

    assert [code for code, _ in in_the_way(*there, replica())] == [
        "attached_by_hand",
        "last_replica",
    ]


def test_a_manager_for_engines_alone_asks_about_its_own() -> None:
    there = [host(), manager(type="engine", instanceEngines=engines("vol-e-0"))]
    there += [budget("im-v1-node-1"), volume(), replica(), attachment(longhorn_api="node-1")]

    assert in_the_way(*there) == [("attached_by_hand", "Volume vol")]
