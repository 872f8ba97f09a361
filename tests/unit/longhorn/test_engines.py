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


NO_IMAGE = Engines(images=frozenset())
V1_STOPPED, V2_STOPPED = Engines(runs_v1=False), Engines(runs_v2=False)
V2_OFF = Engines(allows_v2=False)
NEITHER = Engines(images=frozenset(), runs_v1=False)
ATTACHED: dict[str, tuple[Engines, bool, Attachment, AttachRefusal | None]] = {
    # What runs, whether the node is ready, what is attached, and why not. Letters are Longhorn's.
    "a-no-driver": (NOTHING_RUNS, False, V1, AttachRefusal.NO_DRIVER),
    "c-not-ready": (ALL_RUNS, False, V1, AttachRefusal.NOT_READY),
    "e": (NEITHER, True, V1, AttachRefusal.NO_IMAGE),
    "e-rwx": (NO_IMAGE, True, SHARED, AttachRefusal.NO_IMAGE),
    "e-is-not-asked-of-v2": (NO_IMAGE, True, V2, None),
    "h-v1": (V1_STOPPED, True, V1, AttachRefusal.NO_MANAGER),
    "h-of-the-other-engine": (V1_STOPPED, True, V2, None),
    "h-v2": (V2_STOPPED, True, V2, AttachRefusal.NO_MANAGER),
    "h-is-not-asked-of-rwx": (V1_STOPPED, True, SHARED, None),
    "i-v2-off": (V2_OFF, True, V2, AttachRefusal.V2_OFF),
    "i-is-not-asked-of-v1": (V2_OFF, True, V1, None),
    "i-is-not-asked-of-rwx": (V2_OFF, True, SHARED_V2, None),
    "c-before-e": (NO_IMAGE, False, V1, AttachRefusal.NOT_READY),
    "h-before-i": (
        Engines(runs_v2=False, allows_v2=False), True, V2, AttachRefusal.NO_MANAGER),
    "all-runs": (ALL_RUNS, True, V1, None),
}  # fmt: skip


@pytest.mark.parametrize(
    ("engines", "is_ready", "asked", "expected"), ATTACHED.values(), ids=ATTACHED
)
def test_volume_attaches_where_all_that_it_needs_runs(engines, asked, expected, *, is_ready):
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


MANAGERS = {
    # The fields of the manager; the image of the setting, whether v2 asks, and whether it serves.
    "runs": ({}, "manager:1", False, True),
    "of-an-older-image": ({}, "manager:2", False, False),
    "of-a-setting-that-is-not-known": ({}, "", False, True),
    "starts-yet": ({"is_running": False}, "", False, False),
    "v1-deleting": ({"is_running": False, "deleting": True}, "", False, True),
    "of-the-other-engine": ({}, "", True, False),
    "v2-of-any-image": ({"is_v2": True}, "manager:2", True, True),
    "v2-deleting": ({"is_v2": True, "is_running": False, "deleting": True}, "", True, False),
    "v2-deleting-yet-runs": ({"is_v2": True, "deleting": True}, "", True, True),
}


@pytest.mark.parametrize(("fields", "image", "is_v2", "expected"), MANAGERS.values(), ids=MANAGERS)
def test_instance_manager_takes_engines(fields, image, *, is_v2, expected):
    assert engines_of([instance_manager(**fields)], image).runs(is_v2=is_v2) is expected


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
        (V1_STOPPED, False, True),
        (V2_STOPPED, True, False),
        (V2_OFF, True, False),
        (Engines(has_driver=False), True, True),
    ],
)
def test_where_new_replicas_start(engines, *, v1, v2):
    assert starts_replicas(engines, Engine(is_v2=False, image="engine:1")) is v1
    assert starts_replicas(engines, Engine(is_v2=True, image="")) is v2
