"""What to do about a disk that takes nothing, or has too little room."""

from collections.abc import Mapping

from cli.explaining.remedies.remedy import Remedy

DISKS: Mapping[str, Remedy] = {
    "disk_no_uuid": Remedy(
        "",
        "Longhorn has not seen the disk yet.",
        "Wait; if it stays, see longhorn-manager's log on that node.",
    ),
    "disk_disabled": Remedy(
        "", "`allowScheduling` of the disk is `false`.", "Allow scheduling on the disk in Longhorn."
    ),
    "disk_evicting": Remedy(
        "", "`evictionRequested` of the disk is `true`.", "End the eviction of the disk."
    ),
    "disk_not_ready": Remedy(
        "",
        "Its condition `Ready` is not `True`. Longhorn's reason and message are shown.",
        "Mount the disk again, or remove it from the Longhorn Node.",
    ),
    "disk_not_schedulable": Remedy(
        "",
        "Longhorn's reason `DiskPressure`: less is available than "
        "`storage-minimal-available-percentage`, or more is scheduled than "
        "`storage-over-provisioning-percentage` allows.",
        "Delete what is not needed on the disk (snapshots, replicas, other files), enlarge it, or "
        "change that setting.",
    ),
    "disk_no_size": Remedy(
        "",
        "Longhorn reports that the disk has no bytes, or none available.",
        "Free the disk, or see its conditions in Longhorn.",
    ),
}
"""Why a disk takes no new replica."""

SHORTAGES: Mapping[str, Remedy] = {
    "room_reserved": Remedy(
        "",
        "`storageReserved` of the disk would be enough; Longhorn schedules nothing in it. On "
        "the default disk of a node it is 30 % at first.",
        "Lower `storageReserved` of the disk, if nothing else writes to it.",
    ),
    "room_written": Remedy(
        "",
        "Too little is available for what volumes hold already, snapshots included: a new "
        "replica gets all of it.",
        "Delete snapshots of the volume that are not needed, or other files on the disk; or lower "
        "`storage-minimal-available-percentage`.",
    ),
}
"""What else is known of a disk that is short of room."""
