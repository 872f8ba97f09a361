"""How long Longhorn takes for what it does.

Facts are from Longhorn's and external-provisioner's sources. Where these only say what must happen
before, and not how long it takes, the numbers are chosen from what clusters show.
"""

import msgspec

Span = tuple[float, float]
"""Least and most seconds; every delay is drawn from between."""


class Delays(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds; the defaults are those of a cluster that is well."""

    create_poll: float = 2.0
    """CreateVolume looks whether the volume is detached (csi/controller_server.go: every 2 s, and
    the first time after 2 s)."""
    delete_poll: float = 2.0
    """DeleteVolume looks whether the volume has gone, as often."""
    volume_sync: Span = (0.05, 0.3)
    """From one state of a new volume to the next: creation seen, detaching, detached. So that the
    traces' volumes are detached as long after their creation."""
    attach_wish: Span = (0.3, 1.5)
    """From the pod's node to Volume.spec.nodeID: attach-detach controller, CSI attacher, Longhorn's
    VolumeAttachment. Chosen."""
    write: Span = (0.0, 0.1)
    """From one write of a pass to the next: each waits until the own cache shows it, looking every
    0.1 s (datastore/longhorn.go verifyUpdate)."""
    process: Span = (0.1, 0.5)
    """The process of a replica starts or stops. Chosen."""
    attach: Span = (1.0, 4.0)
    """The engine starts, all replicas running to attached. Chosen."""
    detach_wish: Span = (0.3, 1.5)
    """From the pod's end to an empty Volume.spec.nodeID, by the same way back. Chosen."""
    detach: Span = (0.5, 2.0)
    """The engine stops, before the replicas do. Chosen."""
    rebuild: Span = (5.0, 20.0)
    """A replica is filled from another one. Depends on what is written; chosen for little data."""
    replica_cleanup: Span = (0.5, 3.0)
    """From the wish to delete a replica to its object being gone: process stop and removal of its
    data. Chosen."""
    node_status: Span = (0.2, 3.0)
    """From a replica's change to the node's status that counts it (controller/node_controller.go:
    by events; sub-second to a few seconds)."""
    disk_poll: Span = (0.0, 30.0)
    """From an instance manager that comes or goes until a node's block disks show it: they are read
    through one of data engine v2 (controller/monitor/disk_monitor.go: every 30 s)."""
    cache: Span = (0.0, 0.5)
    """From a change of a DiskSchedule or node to a manager's own cache, if caches lag. Chosen."""
    image_copy: Span = (1.0, 5.0)
    """A copy of a backing image is made. Chosen for little data."""
    eviction: Span = (0.2, 2.0)
    """From a node's change to replicas asked to leave, and to detached volumes attached for that.
    Chosen."""
    scheduling_retry: float = 30.0
    """A replica that found no place is tried again (controller/volume_controller.go)."""
    capacity_poll: float = 60.0
    """external-provisioner asks for capacities anew (its --capacity-poll-interval by default;
    Longhorn leaves it)."""


FAST = Delays(
    create_poll=0.1,
    delete_poll=0.1,
    volume_sync=(0.0, 0.02),
    attach_wish=(0.0, 0.1),
    write=(0.0, 0.01),
    process=(0.01, 0.05),
    attach=(0.05, 0.2),
    detach_wish=(0.0, 0.1),
    detach=(0.05, 0.1),
    rebuild=(0.1, 0.5),
    replica_cleanup=(0.0, 0.1),
    node_status=(0.05, 0.3),
    disk_poll=(0.0, 1.0),
    cache=(0.0, 0.05),
    image_copy=(0.1, 0.5),
    eviction=(0.0, 0.1),
    scheduling_retry=1.0,
    capacity_poll=2.0,
)
"""The same order of things within a tenth of the time, for tests in real time."""
