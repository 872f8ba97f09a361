"""Add a disk to a node, or take one away."""

import msgspec
from msgspec import structs

from longhorn import Condition, Disk, DiskId, DiskName, Node, Replica, Volume
from planner.errors import PlanError
from planner.naming import first_of, natural
from planner.picture import Event, Kind
from planner.plan import Plan
from planner.steps.finding import disk_of, longhorn_node, put_disk

_SHOWN = 5


class AddDisk(msgspec.Struct, frozen=True, kw_only=True):
    """Add an empty disk to a node, of the kind of its first one."""

    node: str
    disk: str
    size_bytes: int
    reserved_bytes: int = 0
    tags: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What is done."""
        return f"add disk {self.disk} to {self.node}"

    def take(self, plan: Plan) -> list[Event]:
        """Do it, and return what happened."""
        node = longhorn_node(plan, self.node)
        if any(each.name == self.disk for each in node.disks):
            raise PlanError(f"node {self.node} has a disk {self.disk} already; choose another name")
        if self.size_bytes <= 0:
            raise PlanError(f"disk {self.disk} has no size; give one such as 1Ti")
        if not 0 <= self.reserved_bytes < self.size_bytes:
            raise PlanError(f"what is reserved on disk {self.disk} is not less than its size")
        first = node.disks[0] if node.disks else None
        ready = Condition("True")
        added = Disk(
            name=DiskName(self.disk),
            id=DiskId(f"{self.node}-{self.disk}"),
            type=first.type if first else "filesystem",
            filesystem=first.filesystem if first else "ext4",
            tags=frozenset(self.tags),
            allow_scheduling=True,
            evicting=False,
            ready=ready,
            schedulable=ready,
            maximum_bytes=self.size_bytes,
            reserved_bytes=self.reserved_bytes,
            available_bytes=self.size_bytes,
            scheduled_bytes=0,
            listed={},
        )
        plan.cluster.put(structs.replace(node, disks=(*node.disks, added)))
        return plan.settle()


class RemoveDisk(msgspec.Struct, frozen=True, kw_only=True):
    """Take a disk away: Longhorn moves its replicas first, and refuses while some are left."""

    node: str
    disk: str

    @property
    def title(self) -> str:
        """What is done."""
        return f"remove disk {self.disk} of {self.node}"

    def take(self, plan: Plan) -> list[Event]:
        """Do it, and return what happened."""
        node = longhorn_node(plan, self.node)
        disk = disk_of(node, self.disk)
        put_disk(plan, node, structs.replace(disk, allow_scheduling=False, evicting=True))

        events = plan.settle()
        here = _replicas_on(plan, node, disk)
        left = {each.volume for each in here if not _is_expendable(plan, each)}
        if left:
            names = plan.names()
            claims = sorted((str(names.get(name, name)) for name in left), key=natural)
            shown = first_of(claims, _SHOWN)
            text = f"stays: the replicas of {shown} cannot be moved elsewhere"
            refused = Event(
                kind=Kind.REFUSED, object=f"Disk {self.disk}", node=self.node, text=text
            )
            return [*events, refused]
        plan.volumes.drop(here)
        after = longhorn_node(plan, self.node)
        kept = tuple(each for each in after.disks if each.name != disk.name)
        plan.cluster.put(structs.replace(after, disks=kept))
        removed = Event(
            kind=Kind.CHANGED, object=f"Disk {self.disk}", node=self.node, text="is removed"
        )
        return [*events, removed, *plan.settle()]


def _replicas_on(plan: Plan, node: Node, disk: Disk) -> list[Replica]:
    replicas = (each for of in plan.cluster.view.replicas.values() for each in of)
    return [each for each in replicas if (each.node, each.disk) == (node.name, disk.id)]


def _is_expendable(plan: Plan, replica: Replica) -> bool:
    """Whether nothing is lost with a replica: it failed, and its volume lives on elsewhere."""
    volume = plan.cluster.get(Volume, replica.volume)
    return volume is None or (replica.failed and not plan.volumes.replicas.is_broken(volume))
