"""What can be done about a volume, or anywhere, so that its next replica is placed."""

from collections.abc import Iterator

from msgspec import structs

from cli.data import data_in
from cli.remedies.of_disks import Wanted, empty_disk
from cli.remedies.of_nodes import running
from cli.remedies.remedy import Edit, Remedy, setting_edit
from extender import ClusterView, ViewBuilder
from longhorn import (
    Condition,
    Disk,
    Node,
    NodeName,
    Replica,
    Usability,
    Volume,
    may_share_disk,
    may_share_node,
    may_share_zone,
)
from planner.sizes import amount, most_amount, short_amount

_TRUE = Condition(status="True")
_NEW = NodeName("a-new-node")


def of_volume(volume: Volume, placed: int, view: ClusterView) -> Iterator[Remedy]:
    """Yield what can be done about a volume of which *placed* replicas have a disk."""
    if 0 < placed < volume.wanted_replicas:
        yield _of(volume, "fewer_replicas", {"count": str(placed)}, wanted_replicas=placed)
    data = data_in(view, volume.name)
    for each in data.those(Usability.GONE) if data.usable else ():
        edit = Edit(Replica, each.replica.name, lambda _: None)
        figures = {"replica": each.replica.name, "node": str(each.replica.node)}
        yield Remedy(code="delete_gone_replica", figures=figures, edits=[edit])
    settings = view.settings
    for what, may, field in (
        ("disks", may_share_disk, "disk_soft_anti_affinity"),
        ("zones", may_share_zone, "zone_soft_anti_affinity"),
        ("nodes", may_share_node, "soft_anti_affinity"),
    ):
        if may(volume, settings):
            continue
        if getattr(volume, field) is False:
            yield _of(volume, f"share_{what}_of_volume", {}, **{field: True})
        else:
            yield Remedy(code=f"share_{what}", edits=[setting_edit(_SETTINGS[what], "true")])


_SETTINGS = {
    "disks": "replica-disk-soft-anti-affinity",
    "zones": "replica-zone-soft-anti-affinity",
    "nodes": "replica-soft-anti-affinity",
}


def _of(volume: Volume, code: str, figures: dict[str, str], **fields: object) -> Remedy:
    edit = Edit(Volume, volume.name, lambda each: structs.replace(each, **fields))
    return Remedy(code=code, figures={"volume": volume.name, **figures}, edits=[edit])


def with_less_data(volume: Volume, view: ClusterView) -> Iterator[Remedy]:
    """Offer to delete snapshots of a volume: a new replica gets all that they hold."""
    rooms = (d.physical_headroom_bytes for space in view.spaces.values() for d in space.disks)
    most = max(rooms, default=-1)
    if volume.actual_bytes > volume.size_bytes and 0 <= most < volume.actual_bytes:
        figures = {"now": amount(volume.actual_bytes), "then": most_amount(most)}
        yield _of(volume, "delete_snapshots", figures, actual_bytes=most)


def new_disk(node: NodeName, wanted: Wanted, view: ClusterView) -> Remedy:
    """Offer one more disk of a node."""
    disk = empty_disk(wanted, view)
    size = short_amount(disk.maximum_bytes)
    edit = Edit(Node, node, lambda each: structs.replace(each, disks=(*each.disks, disk)))
    figures = {"node": node, "type": _type(disk), "size": size}
    figures["tags"] = _with_tags(wanted.disk_tags)
    return Remedy(code="add_disk", figures=figures, edits=[edit])


def new_node(wanted: Wanted, builder: ViewBuilder, *, other_zone: bool) -> Iterator[Remedy]:
    """Offer one more node, in another zone if that matters; nothing if there is none to go by."""
    nodes = builder.of(Node)
    if not nodes:
        return
    disk = empty_disk(wanted, builder.view)
    size = short_amount(disk.maximum_bytes)
    like = nodes[min(nodes)]
    terms = [term for need in wanted.needs for term in need.topology]
    node = structs.replace(
        like,
        name=_NEW,
        zone=terms[0].zone if terms else f"{like.zone}-new" if other_zone else like.zone,
        region=terms[0].region if terms else like.region,
        tags=wanted.node_tags,
        allow_scheduling=True,
        evicting=False,
        deleting=False,
        ready=_TRUE,
        schedulable=_TRUE,
        disks=(disk,),
    )
    yield Remedy(
        code="add_node",
        figures={
            "type": _type(disk),
            "size": size,
            "zone": " in another zone" if other_zone else "",
            "node_tags": _with_tags(wanted.node_tags),
            "tags": _with_tags(wanted.disk_tags),
        },
        edits=[Edit(Node, _NEW, lambda _: node), *running(_NEW, builder)],
    )


def _type(disk: Disk) -> str:
    """Return the type of a disk as it is told, which is not that of most."""
    return f"{disk.type} " * (disk.type == "block")


def _with_tags(tags: frozenset[str]) -> str:
    return f" with the tags {', '.join(sorted(tags))}" if tags else ""
