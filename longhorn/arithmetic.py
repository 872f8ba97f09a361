"""Longhorn's arithmetic on sizes, in bytes."""

_KIB, _MIB = 2**10, 2**20
_SMALLEST_VOLUME_BYTES, _STEP_BYTES = 10 * _MIB, 2 * _MIB
_CLUSTER_BYTES, _PAGE_BYTES = 4 * _MIB, 4 * _KIB
_PAGES_OF_METADATA = 10
"""For each cluster, so that the volume can grow to ten times its first size."""


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
    return _divided(max(requested_bytes, _SMALLEST_VOLUME_BYTES), _STEP_BYTES) * _STEP_BYTES


def shard_size_bytes(volume_bytes: int, *, data_chunks: int, strip_kib: int) -> int:
    """Return the size of each shard of an erasure-coded volume, data or parity.

    Source: go-spdk-helper pkg/spdk/types/ec_geometry.go ComputeShardSize.

    Args:
        data_chunks: Over so many shards its data are spread, at least 1.
        strip_kib: How much goes to one shard before the next, a power of two from 4 to 1,024.
    """
    kept = volume_bytes + _metadata_bytes(volume_bytes)
    each = _divided(kept, data_chunks) + front_bytes(strip_kib)
    return _divided(each, _STEP_BYTES) * _STEP_BYTES


def front_bytes(strip_kib: int) -> int:
    """Return what is reserved at the front of each shard.

    Two copies of a map of all stripes, and two strips each for intents to write and for the record
    of what is written.
    """
    strip_bytes = strip_kib * _KIB
    most_stripes = (strip_bytes - 28) // 8 * 64 * 1024
    map_bytes = 44 + _divided(most_stripes, 64) * 8
    return (2 * _divided(map_bytes, strip_bytes) + 4) * strip_bytes


def _metadata_bytes(data_bytes: int) -> int:
    """Return what the file of clusters keeps beside the data, itself included."""
    found, more = 0, _clusters_of_metadata(data_bytes)
    while more > found:
        found, more = more, _clusters_of_metadata(data_bytes + more * _CLUSTER_BYTES)
    return (found + 1) * _CLUSTER_BYTES


def _clusters_of_metadata(device_bytes: int) -> int:
    clusters = _divided(device_bytes, _CLUSTER_BYTES)
    pages = _PAGES_OF_METADATA * clusters
    # Masks of used pages, clusters and blobs; the first is the largest.
    masks = 3 * _divided(8 + _divided(pages, 8), _PAGE_BYTES)
    return _divided(1 + masks + pages, _CLUSTER_BYTES // _PAGE_BYTES)


def _divided(number: int, by: int) -> int:
    """Divide, rounded up."""
    return -(-number // by)
