"""Replicas that name their node and wait until their volume is attached."""

from app.kube.resource import AnyRecord
from longhorn import Locality
from tests.builders import (
    GIB,
    accepted,
    ask,
    bound,
    disk,
    hold,
    node,
    replica,
    setting,
    view_of,
    volume,
)

ONE_FITS = node("node-1", disk(maximum_bytes=58 * GIB, available_bytes=58 * GIB))
EVERY_BYTE = setting("storage-minimal-available-percentage", "0")


def strict(name: str, *, node: str | None = None) -> list[AnyRecord]:
    """Build a strict-local volume with a replica that is to be placed on node-1."""
    of = volume(name, locality=Locality.STRICT_LOCAL, size_bytes=48 * GIB, node=node)
    waiting = replica(
        f"{name}-r-1",
        of=name,
        on="",
        pinned_to="node-1",
        size_bytes=48 * GIB,
        healthy_once=False,
    )
    return [*bound(of), waiting]


def test_volumes_that_are_not_attached_do_not_lock_each_other_out():
    view = view_of(ONE_FITS, EVERY_BYTE, *strict("a"), *strict("b"))

    assert accepted(view, "a") == ["node-1"]
    assert accepted(view, "b") == ["node-1"]


def test_volume_that_is_about_to_be_attached_is_in_the_way():
    held = hold("of-b", volumes=["b"], nodes=["node-1"])
    detached = view_of(ONE_FITS, EVERY_BYTE, *strict("a"), *strict("b"))
    attached = view_of(ONE_FITS, EVERY_BYTE, *strict("a"), *strict("b", node="node-1"))

    assert accepted(attached, "a") == []
    assert ask(detached, "a", candidates=["node-1"], holds=[held]).accepted == []
