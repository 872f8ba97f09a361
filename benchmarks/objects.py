"""The objects of a large, well-filled cluster, byte for byte as an API server writes them.

Nothing is kept but a template a kind: an object is made when it is asked for, and is the same
whenever it is made.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from app.config import OWN_NAMESPACE
from benchmarks import runners, templates
from benchmarks.clusters import GIB, node_name
from benchmarks.templates import DISKS, LONGHORN, NAMESPACE

NODES, VOLUMES, COPIES, SETTINGS = 5_000, 50_000, 3, 100
REPLICAS = VOLUMES * COPIES
ENGINE_IMAGES = 2
"""One that is used, and the next one while Longhorn is upgraded."""
DOUBLE_PERCENT = 200
"""Over-provisioning, once the setting has changed."""
_TEAMS = 200
_DISK_BYTES = 400 * GIB
_STEP_BYTES = 100 * 2**20

Values = dict[bytes, object]
Make = Callable[[int, int], bytes]
"""Makes an object from its number, and its *edition*: another one differs in what we use."""


class Kind(NamedTuple):
    """The objects of one kind, and where they are."""

    path: str
    name: str
    api_version: str
    total: int
    make: Make


class Place(NamedTuple):
    """A disk of a node. Each has as many replicas as a volume has, no two of one volume."""

    node: int
    disk: int


def kinds() -> list[Kind]:
    """Return every kind that the service follows."""
    longhorn = f"/apis/{LONGHORN}/namespaces/{NAMESPACE}"
    classes = "/apis/storage.k8s.io/v1/storageclasses"
    config_maps = f"/api/v1/namespaces/{OWN_NAMESPACE}/configmaps"
    return [
        Kind("/api/v1/persistentvolumeclaims", "PersistentVolumeClaim", "v1", VOLUMES, claim),
        Kind("/api/v1/persistentvolumes", "PersistentVolume", "v1", VOLUMES, persistent_volume),
        Kind(classes, "StorageClass", "storage.k8s.io/v1", 1, storage_class),
        Kind(config_maps, "ConfigMap", "v1", 0, setting),
        Kind(f"{longhorn}/nodes", "Node", LONGHORN, NODES, node),
        Kind(f"{longhorn}/volumes", "Volume", LONGHORN, VOLUMES, volume),
        Kind(f"{longhorn}/replicas", "Replica", LONGHORN, REPLICAS, replica),
        Kind(f"{longhorn}/backingimages", "BackingImage", LONGHORN, 0, setting),
        Kind(f"{longhorn}/settings", "Setting", LONGHORN, SETTINGS, setting),
        Kind(f"{longhorn}/engineimages", "EngineImage", LONGHORN, ENGINE_IMAGES, engine_image),
        Kind(f"{longhorn}/instancemanagers", "InstanceManager", LONGHORN, NODES, instance_manager),
        Kind("/apis/storage.k8s.io/v1/csinodes", "CSINode", "storage.k8s.io/v1", NODES, csi_node),
        Kind("/api/v1/nodes", "Node", "v1", NODES, runners.labelled_node),
    ]


def claim(number: int, edition: int) -> bytes:
    """Return a PersistentVolumeClaim, bound to the volume of its number."""
    values = _common(0, number, edition) | _claimed(number)
    values[b"node"] = node_name(_place(number * COPIES).node).encode()
    return templates.CLAIM % values


def persistent_volume(number: int, edition: int) -> bytes:
    """Return a PersistentVolume."""
    values = _common(1, number, edition) | _claimed(number)
    values[b"claim_uid"] = _uuid(0, number)
    return templates.PERSISTENT_VOLUME % values


def volume(number: int, edition: int) -> bytes:
    """Return a Volume; another edition holds more data."""
    values = _common(2, number, edition) | _claimed(number)
    values[b"node"] = node_name(_place(number * COPIES).node).encode()
    values[b"size"] = _size_bytes(number)
    values[b"actual"] = _size_bytes(number) // 3 + edition * 4096
    return templates.VOLUME % values


def replica(number: int, edition: int) -> bytes:
    """Return a Replica; another edition is larger."""
    place = _place(number)
    values = _common(3, number, edition)
    values[b"replica"] = _replica_name(number)
    values[b"volume"] = _volume_name(number // COPIES)
    values[b"node"] = node_name(place.node).encode()
    values[b"disk"] = _disk_uuid(place)
    values[b"disk_number"] = place.disk
    values[b"size"] = _size_bytes(number // COPIES) + edition * 2 * 2**20
    values[b"suffix"] = b"%08x" % (number * 0x85EBCA6B % 2**32)
    values[b"host"] = b"%d.%d" % (number // 250 % 250, number % 250)
    return templates.REPLICA % values


def node(number: int, edition: int) -> bytes:
    """Return a Longhorn Node; another edition has less available on each disk."""
    values = _common(4, number, edition)
    values[b"node"] = node_name(number).encode()
    values[b"zone"] = number % 3
    values[b"maximum"] = _DISK_BYTES
    for disk in range(DISKS):
        place = Place(number, disk)
        listed = {_replica_name(n): _size_bytes(n // COPIES) for n in _replicas_on(place)}
        available = _DISK_BYTES - sum(listed.values()) // 3
        sizes = b",".join(b'"%b":%d' % entry for entry in listed.items())
        fields = b",".join(b'"f:%b":{}' % name for name in listed)
        values[b"uuid_%d" % disk] = _disk_uuid(place)
        values[b"available_%d" % disk] = (available // _STEP_BYTES - edition) * _STEP_BYTES
        values[b"scheduled_%d" % disk] = sum(listed.values())
        values[b"listed_%d" % disk] = b"{%b}" % sizes
        values[b"fields_%d" % disk] = b'{".":{},%b}' % fields
    return templates.NODE % values


def unchanged_node(number: int, edition: int) -> bytes:
    """Return a Longhorn Node as it was but for a time that we do not use."""
    return node(number, 0).replace(b'"lastProbeTime":""', b'"lastProbeTime":"%d"' % edition, 1)


def setting(number: int, edition: int) -> bytes:
    """Return a Setting; another edition of the first has disks take twice as much."""
    name, value = [*_SETTINGS.items(), (f"some-other-setting-{number}", "true")][
        min(number, len(_SETTINGS))
    ]
    if edition and not number:
        value = str(DOUBLE_PERCENT)
    values = _common(5, number, edition) | {b"name": name.encode(), b"value": value.encode()}
    return templates.SETTING % values


def storage_class(number: int, edition: int) -> bytes:
    """Return the StorageClass."""
    return templates.STORAGE_CLASS % _common(6, number, edition)


def engine_image(number: int, edition: int) -> bytes:
    """Return an EngineImage; of another edition one node has none, each time another one."""
    return runners.engine_image(_common(9, number, edition), number, edition, NODES)


def instance_manager(number: int, edition: int) -> bytes:
    """Return the InstanceManager of a node; another edition does not run."""
    return runners.instance_manager(_common(10, number, edition), number, edition)


def csi_node(number: int, edition: int) -> bytes:
    """Return a CSINode; another edition does not know Longhorn's driver."""
    return runners.csi_node(_common(11, number, edition), number, edition)


_SETTINGS = {
    "storage-over-provisioning-percentage": "100",
    "default-instance-manager-image": "longhornio/longhorn-instance-manager:v1.12.1",
    "storage-minimal-available-percentage": "25",
    "replica-soft-anti-affinity": "false",
    "replica-zone-soft-anti-affinity": "true",
    "replica-disk-soft-anti-affinity": "true",
}


def _common(kind: int, number: int, edition: int) -> Values:
    version = 1_500_000_000 + kind * 10_000_000 + number * 17 + edition
    return {b"number": number, b"uid": _uuid(kind, number), b"version": version}


def _claimed(number: int) -> Values:
    return {
        b"volume": _volume_name(number),
        b"namespace": number % _TEAMS,
        b"gib": _size_bytes(number) // GIB,
    }


def _place(replica: int) -> Place:
    volume, copy = divmod(replica, COPIES)
    return Place((volume + copy * (NODES // COPIES)) % NODES, volume // NODES)


def _replicas_on(place: Place) -> list[int]:
    return [
        (place.disk * NODES + (place.node - copy * (NODES // COPIES)) % NODES) * COPIES + copy
        for copy in range(COPIES)
    ]


def _size_bytes(volume: int) -> int:
    return (1 + volume * 7 % 50) * GIB


@cache
def _volume_name(volume: int) -> bytes:
    return b"pvc-" + _uuid(7, volume)


def _replica_name(replica: int) -> bytes:
    return b"%b-r-%08x" % (_volume_name(replica // COPIES), replica * 0x9E3779B1 % 2**32)


@cache
def _disk_uuid(place: Place) -> bytes:
    return _uuid(8, place.node * DISKS + place.disk)


def _uuid(use: int, number: int) -> bytes:
    """Return the UUID of a number, another one for each use."""
    digits = f"{(number * 16 + use + 1) * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128:032x}"
    text = f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
    return text.encode()
