"""Where all replicas of a pod's volumes would go."""

from typing import Any

import msgspec
import pytest

from app.kube.resource import AnyRecord
from extender.demand.requests import resolve
from extender.explaining import Hindrance, Spread, spreads
from longhorn import NodeName, VolumeName
from tests.builders import (
    ask,
    bound,
    disk,
    hold,
    node,
    nodes_of,
    pod,
    replicas_of,
    setting,
    view_of,
    volumes_of,
)

ONE, TWO, THREE = (NodeName(f"node-{number}") for number in (1, 2, 3))
APART = setting("replica-zone-soft-anti-affinity", "false")
CLOSED = [node("node-1", disk(schedulable=False)), node("node-2", allow_scheduling=False)]


def spread(wanted: int = 1, **found: Any) -> Spread:
    return Spread(**{"volume": VolumeName("vol"), "wanted": wanted, "placed": (), **found})


def of(text: str, **more: Any) -> list[AnyRecord]:
    return bound(*volumes_of(text, **more))


ROWS: dict[str, tuple[list[AnyRecord], NodeName | None, Spread]] = {
    # The cluster, the node of the pod, and where the replicas go.
    "replica-beside-the-pod-and-others-on-other-nodes": ([*nodes_of("1 2 3"), *of("vol*3")], TWO,
        spread(3, local=TWO, others=(ONE, THREE))),
    "replicas-that-exist-stay": ([*nodes_of("1 2"), *of("vol"), *replicas_of("vol@1")], ONE,
        spread(placed=(ONE,))),
    "nodes-too-few": ([*nodes_of("1 2"), *of("vol*3")], ONE,
        spread(3, local=ONE, others=(TWO,), missing=1, hindrance=Hindrance.NODES,
            roomy=(ONE, TWO))),
    "zones-too-few": ([*nodes_of("1@east 2@east"), APART, *of("vol*2")], ONE,
        spread(2, local=ONE, missing=1, hindrance=Hindrance.ZONES, roomy=(ONE, TWO))),
    "disks-full": ([*nodes_of("1 2:5"), *of("vol:200")], None,
        spread(missing=1, hindrance=Hindrance.ROOM)),
    "disks-that-take-nothing-whatever-their-tags": ([*CLOSED, *of("vol", disk_selector=["ssd"])],
        None, spread(missing=1, hindrance=Hindrance.USABLE_DISKS)),
    "disks-without-the-tag": ([node(), *of("vol~", disk_selector=["ssd"])], None,
        spread(missing=1, hindrance=Hindrance.DISKS)),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_replicas_of_a_volume_are_spread(name):
    records, on, expected = ROWS[name]

    assert spreads(ask(view_of(*records)), on) == [expected]


def test_room_held_for_other_pods_is_not_taken():
    view = view_of(*nodes_of("1 2"), *of("vol*2 other:95"))
    held = hold("another", volumes=(), nodes=["node-2"], only_candidate=True)
    volumes = resolve(pod("other", name="another"), view).volumes

    answer = ask(view, holds=[msgspec.structs.replace(held, volumes=volumes)])
    [found] = spreads(answer, ONE)

    assert (found.local, found.others, found.missing) == (ONE, (), 1)
