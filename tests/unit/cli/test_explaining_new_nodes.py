"""`filter` says of a pod that no node takes, when no new node would take it either."""

from collections.abc import Sequence

import pytest

from app.kube.resource import AnyRecord
from cli.explaining.new_nodes import new_node_notes
from cli.kube.storage_capacity import StorageCapacity
from cli.kube.view import build_view
from cli.scheduler_config.autoscaler import TEMPLATE_LABEL
from planner.records import Selector
from tests.builders import GIB, bound, claim, objects_of, pod, storage_class, volume
from tests.unit.cli.plans import EXAMPLES

FAST, SLOW = storage_class("fast"), storage_class("slow")
SHARED = storage_class("shared", dataLocality="disabled")
NODES = "new nodes with pool=storage"


def told(
    *disks: int, of: str = "fast", pool: str = "storage", total: bool = True
) -> StorageCapacity:
    """Build what cluster-autoscaler was told of the disks of a new node, in GiB."""
    sizes, labels = [each * GIB for each in disks], {"pool": pool} if pool else {}
    return StorageCapacity(
        key=f"longhorn-system/{of}-{pool}",
        storage_class=of,
        size_bytes=max(sizes),
        total_bytes=sum(sizes) if total else None,
        nodes=Selector({TEMPLATE_LABEL: "true", **labels}),
    )


def of_a_node(gib: int) -> StorageCapacity:
    labels = {"kubernetes.io/hostname": "node-1"}
    return StorageCapacity(
        key="it", storage_class="fast", size_bytes=gib * GIB, nodes=Selector(labels)
    )


def said(
    records: Sequence[AnyRecord], *sizes: int, class_: str = "fast", others: Sequence[str] = ()
) -> list[str]:
    """Return what is said of a pod with new claims of as many GiB, and with *others*."""
    names = [f"data-{number}" for number in range(len(sizes))]
    claims = [
        claim(name, storage_class=class_, size_bytes=size * GIB)
        for name, size in zip(names, sizes, strict=True)
    ]
    cluster = objects_of(FAST, SLOW, SHARED, *claims, *records)
    notes = new_node_notes(pod(*names, *others), cluster, build_view(cluster))
    return [each.text for each in notes]


NO_DISK = f"cluster-autoscaler was told of no disk of {NODES} that takes claim "
NOT_TOGETHER = (
    f"claims default/data-0, default/data-1 do not fit together on the disks of {NODES}, by what "
    "cluster-autoscaler was told of these: it looks at each claim alone, and may add nodes in vain"
)
TOO_LARGE = f"{NO_DISK}default/data-0: it adds none for the pod"
ROWS: dict[str, tuple[list[str], list[StorageCapacity], list[int]]] = {
    "new-nodes-not-told-of": ([], [], [500]),
    "new-nodes-not-told-of-but-others": ([], [of_a_node(1)], [500]),
    "claim-that-fits": ([], [told(100)], [100]),
    "claims-on-two-disks": ([], [told(100, 100)], [100, 100]),
    "disks-not-known": ([], [told(100, 100)], [60, 60, 60]),
    "disks-and-their-sum-not-known": ([], [told(100, total=False)], [70, 70]),
    "claim-too-large": ([TOO_LARGE], [told(100)], [101]),
    "class-not-told-of": ([TOO_LARGE], [told(100, of="slow")], [1]),
    "claims-not-together": ([NOT_TOGETHER], [told(100)], [70, 70]),
    "all-groups-told-of": ([], [told(100), told(200, pool="")], [101]),
    "group-that-takes-it": ([], [told(100), told(140, pool="large")], [70, 70]),
}


@pytest.mark.parametrize(("expected", "records", "sizes"), ROWS.values(), ids=ROWS)
def test_new_nodes_are_judged_by_what_is_told(expected, records, sizes):
    assert said(records, *sizes) == expected


def test_volumes_that_may_be_elsewhere_need_no_room_together():
    records = [told(100, of="shared")]

    assert said(records, 70, 70, class_="shared") == []


def test_each_group_is_told_of_and_claims_that_have_a_volume_are_not():
    small, made = told(50, pool="small"), bound(volume("made", size_bytes=500 * GIB))

    found = said([told(100), small, *made], 70, 70, others=["made"])

    assert found == [
        "cluster-autoscaler was told of no disk of new nodes with pool=small that takes claim "
        "default/data-0, default/data-1: it adds none for the pod",
        NOT_TOGETHER,
    ]


def test_the_command_reads_what_another_has_printed_for_the_autoscaler(called, tmp_path):
    _, printed, _ = called(
        *("scheduler-config", "--for", "cluster-autoscaler", "--storage-class", "longhorn-local"),
        *("--template-node-disk", "100Gi", "--template-node-label", "pool=storage"),
    )
    also = tmp_path / "told.yaml"
    also.write_text(printed, encoding="utf-8")
    quad = ["default/quad", f"--cluster-file={EXAMPLES / 'goal2'}", f"--also={also}"]

    for nodes, is_said in (("node-1", True), ("node-4", False)):
        _, out, _ = called("filter", *quad, "--nodes", nodes)
        assert (f"together on the disks of {NODES}" in " ".join(out.split())) is is_said
