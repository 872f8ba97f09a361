"""Longhorn's arithmetic on sizes, in bytes."""

_MIB = 2**20
_SMALLEST_VOLUME_BYTES = 10 * _MIB
_SIZE_STEP_BYTES = 2 * _MIB


def limit_bytes(maximum_bytes: int, reserved_bytes: int, over_provisioning_percent: int) -> int:
    """Return the most Longhorn schedules on a disk; negative if more is reserved than there is.

    Products go through float64 and are truncated toward zero, as in longhorn-manager
    scheduler/replica_scheduler.go IsSchedulableToDisk: 709688309550471 B at 252 % give one byte
    more than exact integers would.
    """
    return int(float(maximum_bytes - reserved_bytes) * float(over_provisioning_percent) / 100.0)


def minimal_available_bytes(maximum_bytes: int, minimal_available_percent: int) -> int:
    """Return what must stay free on the disk; same arithmetic and source as `limit_bytes`."""
    return int(float(maximum_bytes) * float(minimal_available_percent) / 100.0)


def volume_size_bytes(requested_bytes: int) -> int:
    """Return the size a volume gets for a claim: at least 10 MiB, rounded up to whole 2 MiB.

    Source: longhorn-manager csi/controller_server.go CreateVolume.
    """
    return -(-max(requested_bytes, _SMALLEST_VOLUME_BYTES) // _SIZE_STEP_BYTES) * _SIZE_STEP_BYTES
