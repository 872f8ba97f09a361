"""Bytes count when a volume is attached for a pod, by whether a replica is there."""

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from app.instance.attaching import attached_bytes
from app.kube.mirror import Change
from longhorn import Replica, Unreadable
from tests.builders import GIB, node, replica, view_of, volume

DETACHED = volume(size_bytes=10 * GIB)
HERE = volume(size_bytes=10 * GIB, attached_to="node-1")
THERE = volume(size_bytes=10 * GIB, attached_to="node-2")
ON_NODE_1 = replica(on="node-1")
OTHER = replica("other", on="node-1")
UNREADABLE = Unreadable(kind="Volume", name="vol", why="5 is no string")
LOCAL, REMOTE, NOTHING = {"local": 10 * GIB}, {"remote": 10 * GIB}, dict[str, int]()


def attached(*changes: Change, replicas: tuple[Replica, ...] = (ON_NODE_1,)) -> Mapping[str, int]:
    volumes = [new for _, new in changes if new is not None]
    return attached_bytes(changes, view_of(node("node-1"), node("node-2"), *volumes, *replicas))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(Change(DETACHED, HERE), LOCAL, id="attached-beside-its-replica"),
        pytest.param(Change(DETACHED, THERE), REMOTE, id="attached-elsewhere"),
        pytest.param(Change(THERE, HERE), LOCAL, id="from-another-node"),
        pytest.param(Change(HERE, HERE), NOTHING, id="still-attached"),
        pytest.param(Change(HERE, DETACHED), NOTHING, id="detached"),
        pytest.param(Change(None, HERE), NOTHING, id="seen-for-the-first-time"),
        pytest.param(Change(UNREADABLE, HERE), NOTHING, id="readable-again"),
        pytest.param(Change(HERE, None), NOTHING, id="deleted"),
        pytest.param(Change(OTHER, OTHER), NOTHING, id="no-volume"),
        pytest.param(
            Change(replace(DETACHED, shared=True), replace(HERE, shared=True)),
            NOTHING,
            id="shared",
        ),
        pytest.param(
            Change(DETACHED, replace(HERE, has_frontend=False)), NOTHING, id="without-frontend"
        ),
    ],
)
def test_what_counts(change, expected):
    assert attached(change) == expected


@pytest.mark.parametrize(
    ("replicas", "expected"),
    [
        pytest.param((), REMOTE, id="none"),
        pytest.param((replica(on="node-1", failed=True),), REMOTE, id="failed"),
        pytest.param((replica(on="node-1", evicting=True),), REMOTE, id="evicted"),
        pytest.param((replica("a", on="node-2"), replica("b", on="node-1")), LOCAL, id="one-of-2"),
        pytest.param((replica(of="other", on="node-1"),), REMOTE, id="of-another-volume"),
    ],
)
def test_a_volume_is_local_by_its_usable_replicas(replicas, expected):
    assert attached(Change(DETACHED, HERE), replicas=replicas) == expected


def test_bytes_of_several_volumes_are_added():
    others = [volume(name, size_bytes=GIB) for name in ("a", "b")]
    changes = [Change(each, replace(each, attached_to="node-2")) for each in others]

    assert attached(Change(DETACHED, HERE), *changes) == {**LOCAL, "remote": 2 * GIB}
