"""Which volumes get no replica while a node gets a new instance manager of data engine v2."""

from typing import Any

import pytest
from msgspec.structs import replace

from longhorn import InstanceManagerUpgrade, is_paused, paused_by
from tests.builders import read, upgrade_document, volume


def paused(state: str, **how: Any) -> set[str]:
    upgrade = read(upgrade_document(state, **how))
    assert isinstance(upgrade, InstanceManagerUpgrade)
    return {*paused_by(upgrade)}


@pytest.mark.parametrize(
    ("state", "none_moves", "one_moves"),
    [
        pytest.param("pending", {"a", "b"}, set(), id="only-if-no-engine-goes-first"),
        pytest.param("relocating-engines", set(), {"a"}, id="only-those-whose-engine-goes"),
        pytest.param("waiting-for-source-im", {"a", "b"}, {"a", "b"}, id="all"),
        pytest.param("restoring-engines", {"a", "b"}, {"a", "b"}, id="and-on-the-way-back"),
        pytest.param("waiting-for-healthy-volumes", set(), set(), id="then-they-are-rebuilt"),
        pytest.param("completed", set(), set(), id="completed"),
        pytest.param("failed", set(), set(), id="failed"),
        pytest.param("", set(), set(), id="not-begun"),
        pytest.param("of-a-later-longhorn", set(), set(), id="unknown"),
    ],
)
def test_how_far_an_upgrade_is_says_which_volumes_are_paused(state, none_moves, one_moves):
    assert paused(state, detaching="ab") == none_moves
    assert paused(state, detaching="ab", moving="ac") == one_moves


@pytest.mark.parametrize(
    "status",
    [
        None,
        {},
        {"plannedDetachedReplicas": None, "engines": None},
        {"plannedDetachedReplicas": {"a": None, "b": []}},
    ],
)
def test_an_upgrade_without_a_plan_pauses_nothing(status):
    found = {"state": "restoring-engines", **(status or {})} if status is not None else None
    upgrade = read({**upgrade_document(""), "status": found})

    assert isinstance(upgrade, InstanceManagerUpgrade)
    assert not paused_by(upgrade)


def test_only_an_attached_volume_of_v2_is_paused():
    attached = volume(disk_type="block", node="node-1", attached_to="node-1")

    assert is_paused(attached, [attached.name])
    assert not is_paused(attached, [])
    assert not is_paused(replace(attached, attached_to=None), [attached.name])
    assert not is_paused(replace(attached, disk_type="filesystem"), [attached.name])
