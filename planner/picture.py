"""What Longhorn's disks have on them, after each step of a plan or now, and what happened.

Sizes are bytes. CPU is in thousandths of a core. All lists have an order that the input decides.

Of some records a picture has tens of thousands. The garbage collector does not follow these, and
need not, as no record leads back to itself. Else so many would have it look through all that a
service knows of its cluster, and nobody is answered meanwhile.
"""

from enum import StrEnum

import msgspec


class Kind(StrEnum):
    """What happened."""

    PLACED = "placed"
    """A pod got a node."""
    PENDING = "pending"
    """A pod got no node; of a step that counts how many fit, also one that could not start on its
    node."""
    NOT_CREATED = "not_created"
    """A pod that its controller makes only once an earlier one runs."""
    MOVED = "moved"
    """A pod came back on another node."""
    LOST = "lost"
    """A pod is gone, and nothing makes it again."""
    REPLICA_PLACED = "replica_placed"
    """Longhorn placed a replica of a volume that was there before."""
    REPLICA_REMOVED = "replica_removed"
    REPLICA_MOVED = "replica_moved"
    """A replica that is to be moved, by commands."""
    VOLUME_LOST = "volume_lost"
    """No replica of a volume is left."""
    CHANGED = "changed"
    """An object was changed as the step says."""
    REFUSED = "refused"
    """The step, or a part of it, cannot be done."""
    HELD = "held"
    """A live service holds room for a pod whose replicas are not placed yet."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a replica is to be; without a node Longhorn finds none."""

    node: str | None = None
    disk: str | None = None
    is_new: bool = True


class PlannedVolume(msgspec.Struct, frozen=True, kw_only=True):
    """A volume of a pod."""

    name: str
    """The claim's namespace and name."""
    size_bytes: int
    locality: str
    replicas: tuple[Place, ...] = ()
    """As many as the volume wants."""


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """Why nodes were left out."""

    code: str
    text: str
    nodes: tuple[str, ...]
    remedy: str = ""


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that happened in a step."""

    kind: Kind
    object: str
    """The pod by namespace and name, or another object with its kind."""
    node: str | None = None
    before: str | None = None
    """The node where a pod was, or a replica that is to be moved."""
    score: float | None = None
    """Of the chosen node, by the policy."""
    volumes: tuple[PlannedVolume, ...] = ()
    text: str = ""
    copied_bytes: int = 0
    """Of a replica that is to be moved: what it copies to its node."""
    commands: tuple[str, ...] = ()
    """That move it, each to be run once the one before has ended."""
    reasons: tuple[Reason, ...] = ()
    """The commonest first."""


class PlanWarning(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is wrong after a step."""

    code: str
    object: str
    text: str


class ReplicaReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A replica on a disk."""

    volume: str
    """The claim's namespace and name; the volume's name if no claim is known."""
    size_bytes: int
    is_new: bool = False
    """Placed in this plan."""
    is_failed: bool = False


class DiskReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A disk after a step."""

    name: str
    maximum_bytes: int
    reserved_bytes: int
    available_bytes: int
    limit_bytes: int
    """Most that Longhorn schedules on it."""
    scheduled_bytes: int
    """With all that this plan has placed."""
    held_bytes: int = 0
    """Held for pods whose replicas are not placed yet; only in the picture of a live service."""
    replicas: tuple[ReplicaReport, ...] = ()
    problem: str = ""
    """Why it takes no replicas."""


class NodeReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A node after a step."""

    name: str
    zone: str = ""
    problem: str = ""
    """Why it gets no pods or no replicas."""
    pods: tuple[str, ...] = ()
    """By namespace and name, those that this plan placed first."""
    requested_millicores: int = 0
    allocatable_millicores: int = 0
    requested_memory_bytes: int = 0
    allocatable_memory_bytes: int = 0
    held_bytes: int = 0
    """Held here for pods on disks that are not known yet; only in the picture of a live service."""
    disks: tuple[DiskReport, ...] = ()


class StepReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One step, and the cluster after it."""

    title: str
    """Such as "place StatefulSet shop/db, 3 pods"; of the first one "now"."""
    events: tuple[Event, ...] = ()
    warnings: tuple[PlanWarning, ...] = ()
    """Those that were not there before the step."""
    nodes: tuple[NodeReport, ...] = ()
    """Of the first step all nodes; else those that are not as after the step before."""
    removed_nodes: tuple[str, ...] = ()


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """What the page draws: a plan, or what there is now."""

    is_plan: bool = False
    origin: str
    """The files, or the address of the cluster; of a plan also its policy and its seed."""
    works: bool | None = None
    """Whether all of a plan works; None if that is not the question."""
    summary: str = ""
    """The answer in one line."""
    notes: tuple[str, ...] = ()
    """What is not known, or passed over."""
    steps: tuple[StepReport, ...]
    """The first one is the cluster as it is now."""
