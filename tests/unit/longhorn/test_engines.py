"""What runs on a node, and what can be done there because of it."""

import pytest

from longhorn import (
    ALL_RUNS,
    Attachment,
    AttachRefusal,
    Engines,
    Locality,
    NodeName,
    attach_refusal,
    attachment_of,
    engines_of,
    images_on,
    starts_replicas,
)
from longhorn.needs import Engine, need_of
from tests.builders import engine_image, instance_manager, volume

V1 = Attachment(is_v2=False, images=("engine:1",), is_shared=False)
V2 = Attachment(is_v2=True, images=(), is_shared=False)
SHARED = Attachment(is_v2=False, images=("engine:1",), is_shared=True)
SHARED_V2 = Attachment(is_v2=True, images=(), is_shared=True)
NOTHING_RUNS = Engines(
    has_driver=False, runs_v1=False, runs_v2=False, allows_v2=False, images=frozenset()
)


@pytest.mark.parametrize(
    ("engines", "is_ready", "asked", "expected"),
    [
        pytest.param(NOTHING_RUNS, False, V1, AttachRefusal.NO_DRIVER, id="a-no-driver"),
        pytest.param(ALL_RUNS, False, V1, AttachRefusal.NOT_READY, id="c-not-ready"),
        pytest.param(
            Engines(images=frozenset(), runs_v1=False), True, V1, AttachRefusal.NO_IMAGE, id="e"
        ),
        pytest.param(Engines(images=frozenset()), True, SHARED, AttachRefusal.NO_IMAGE, id="e-rwx"),
        pytest.param(Engines(images=frozenset()), True, V2, None, id="e-is-not-asked-of-v2"),
        pytest.param(Engines(runs_v1=False), True, V1, AttachRefusal.NO_MANAGER, id="h-v1"),
        pytest.param(Engines(runs_v1=False), True, V2, None, id="h-of-the-other-engine"),
        pytest.param(Engines(runs_v2=False), True, V2, AttachRefusal.NO_MANAGER, id="h-v2"),
        pytest.param(Engines(runs_v1=False), True, SHARED, None, id="h-is-not-asked-of-rwx"),
        pytest.param(Engines(allows_v2=False), True, V2, AttachRefusal.V2_OFF, id="i-v2-off"),
        pytest.param(Engines(allows_v2=False), True, V1, None, id="i-is-not-asked-of-v1"),
        pytest.param(Engines(allows_v2=False), True, SHARED_V2, None, id="i-is-not-asked-of-rwx"),
        pytest.param(
            Engines(images=frozenset()), False, V1, AttachRefusal.NOT_READY, id="c-before-e"
        ),
        pytest.param(
            Engines(runs_v2=False, allows_v2=False),
            True,
            V2,
            AttachRefusal.NO_MANAGER,
            id="h-before-i",
        ),
        pytest.param(ALL_RUNS, True, V1, None, id="all-runs"),
    ],
)
def test_where_a_volume_attaches(engines, asked, expected, *, is_ready):
    assert attach_refusal(engines, asked, is_ready=is_ready) == expected


@pytest.mark.parametrize(
    ("locality", "images"),
    [
        pytest.param(Locality.DISABLED, ("new",), id="replicas-may-be-elsewhere"),
        pytest.param(Locality.BEST_EFFORT, ("new", "old"), id="a-local-replica-runs-the-old-one"),
    ],
)
def test_both_images_are_needed_while_the_engine_is_upgraded(locality, images):
    upgraded = volume(locality=locality, engine_image="new", current_image="old")

    assert attachment_of(upgraded).images == images


def test_new_replicas_need_the_image_of_the_others():
    """Longhorn takes status.currentImage for them, and spec.image to attach."""
    upgraded = volume(engine_image="new", current_image="old")

    assert need_of(upgraded, None).engine == Engine(is_v2=False, image="old")


@pytest.mark.parametrize(
    ("manager", "image", "is_v2", "expected"),
    [
        pytest.param(instance_manager(), "manager:1", False, True, id="runs"),
        pytest.param(instance_manager(), "manager:2", False, False, id="of-an-older-image"),
        pytest.param(instance_manager(), "", False, True, id="the-setting-is-not-known"),
        pytest.param(instance_manager(is_running=False), "", False, False, id="starts-yet"),
        pytest.param(
            instance_manager(is_running=False, deleting=True), "", False, True, id="v1-deleting"
        ),
        pytest.param(instance_manager(), "", True, False, id="of-the-other-engine"),
        pytest.param(instance_manager(is_v2=True), "manager:2", True, True, id="v2-of-any-image"),
        pytest.param(
            instance_manager(is_v2=True, is_running=False, deleting=True),
            "",
            True,
            False,
            id="v2-deleting",
        ),
        pytest.param(
            instance_manager(is_v2=True, deleting=True), "", True, True, id="v2-deleting-yet-runs"
        ),
    ],
)
def test_whether_an_instance_manager_takes_engines(manager, image, *, is_v2, expected):
    assert engines_of([manager], image).runs(is_v2=is_v2) is expected


def test_images_are_ready_where_their_map_says_so():
    images = [engine_image("node-1"), engine_image("node-1", "node-2", image="engine:2")]

    assert images_on(NodeName("node-1"), images) == frozenset({"engine:1", "engine:2"})
    assert images_on(NodeName("node-2"), images) == frozenset({"engine:2"})
    assert images_on(NodeName("node-3"), images) == frozenset()
    assert images_on(NodeName("node-3"), []) is None


@pytest.mark.parametrize(
    ("engines", "v1", "v2"),
    [
        (ALL_RUNS, True, True),
        (Engines(images=frozenset({"engine:2"})), False, True),
        (Engines(runs_v1=False), False, True),
        (Engines(runs_v2=False), True, False),
        (Engines(allows_v2=False), True, False),
        (Engines(has_driver=False), True, True),
    ],
)
def test_where_new_replicas_start(engines, *, v1, v2):
    assert starts_replicas(engines, Engine(is_v2=False, image="engine:1")) is v1
    assert starts_replicas(engines, Engine(is_v2=True, image="")) is v2
