"""What to do about a disk that takes nothing, or has too little room."""

from collections.abc import Mapping

from cli.explaining.remedies.remedy import Remedy

DISKS: Mapping[str, Remedy] = {
    "disk_no_uuid": Remedy(
        "",
        "Wait; if it stays, see longhorn-manager's log on that node.",
        "Longhorn has not seen the disk yet.",
    ),
    "disk_disabled": Remedy(
        "", "Allow scheduling on the disk in Longhorn.", "`allowScheduling` of the disk is `false`."
    ),
    "disk_evicting": Remedy(
        "", "End the eviction of the disk.", "`evictionRequested` of the disk is `true`."
    ),
    "disk_not_ready": Remedy(
        "",
        "Mount the disk again, or remove it from the Longhorn Node.",
        "Its condition `Ready` is not `True`. Longhorn's reason and message are shown.",
    ),
    "disk_not_schedulable": Remedy(
        "",
        "Delete what is not needed on the disk (snapshots, replicas, other files), enlarge it, or "
        "change that setting.",
        "Longhorn's reason `DiskPressure`: less is available than "
        "`storage-minimal-available-percentage`, or more is scheduled than "
        "`storage-over-provisioning-percentage` allows.",
    ),
    "disk_no_size": Remedy(
        "",
        "Free the disk, or see its conditions in Longhorn.",
        "Longhorn reports that the disk has no bytes, or none available.",
    ),
}
"""Why a disk takes no new replica."""

SHORTAGES: Mapping[str, Remedy] = {
    "room_reserved": Remedy(
        "",
        "Lower `storageReserved` of the disk, if nothing else writes to it.",
        "`storageReserved` of the disk would be enough; Longhorn schedules nothing in it. On "
        "the default disk of a node it is 30 % at first.",
    ),
    "room_written": Remedy(
        "",
        "Delete snapshots of the volume that are not needed, or other files on the disk; or lower "
        "`storage-minimal-available-percentage`.",
        "Too little is available for what volumes hold already, snapshots included: a new "
        "replica gets all of it.",
    ),
}
"""What else is known of a disk that is short of room."""
