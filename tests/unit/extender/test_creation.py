"""Which volumes are said to be made: held against a plain second writing of Longhorn's rules."""

from collections import Counter
from random import Random
from typing import Any

from msgspec.structs import replace

from extender import UnresolvableClaimError
from extender.demand import estimate_volume
from extender.kubernetes import Claim
from tests.builders import (
    DRIVER,
    GIB,
    MIB,
    backing_image,
    bare_class,
    claim,
    disk,
    node,
    persistent_volume,
    setting,
    view_of,
    volume,
)
from tests.unit.extender.plain_creation import Facts, is_made

CLAIMS = 20_000
SIZES = (
    1,
    12 * MIB,
    16 * MIB,
    16 * MIB + 1,
    200 * MIB,
    298 * MIB,
    299 * MIB,
    5 * GIB,
    8 * GIB,
    20 * GIB,
)
PARAMETERS = {
    "numberOfReplicas": ("0", "1", "1", "1", "3", "21", "-1", "two"),
    "dataLocality": ("disabled", "best-effort", "strict-local", "strict-local", ""),
    "dataEngine": ("v1", "v2", "v2", "v3"),
    "nodeSelector": ("storage", "storage,gpu", "none", ""),
    "diskSelector": ("ssd", "none"),
    "backingImage": ("", "golden", "of-v2", "not-ready", "none"),
    "backingImageDataSourceType": ("", "download", "upload"),
    "encrypted": ("true", "true", "false", "yes"),
    "fsType": ("xfs", "xfs", "ext4"),
    "csi.storage.k8s.io/fstype": ("xfs",),
    "migratable": ("true", "false", "maybe"),
    "cloneMode": ("", "full-copy", "linked-clone"),
    "staleReplicaTimeout": ("30", "-1", "x"),
    "replicaAutoBalance": ("ignored", "best-effort", "best"),
    "replicaZoneSoftAntiAffinity": ("enabled", "disabled", "true"),
    "unmapMarkSnapChainRemoved": ("enabled", "true"),
    "freezeFilesystemForSnapshot": ("ignored", ""),
    "disableRevisionCounter": ("T", "no"),
    "recurringJobSelector": ("[]", "null", '[{"name":"a"}]', '[{"isGroup":"a"}]', "[a]", '"a"'),
    "volumeTopology": ("any", "zone"),
    "dataLayout.type": ("", "replicated", "raid"),
}
SHARDS = {
    "dataLayout.type": ("sharded",),
    "dataLayout.dataChunks": ("4", "2", "31", "0"),
    "dataLayout.parityChunks": ("1", "2"),
    "dataLayout.stripSizeKB": ("64", "5"),
    "dataEngine": ("v2", "v2", "v1"),
}
SETTINGS = {
    "default-replica-count": ('{"v1":"1","v2":"2"}', '{"v1":"3","v2":"3"}'),
    "default-data-locality": ("disabled", "best-effort", "strict-local"),
    "v1-data-engine": ("true", "true", "true", "false"),
    "v2-data-engine": ("true", "true", "false"),
}
SOURCES: dict[str, dict[str, Any]] = {
    "v1": {"bytes": 20 * GIB, "engine": "v1", "replicas": 3},
    "small": {"bytes": 200 * MIB, "engine": "v1", "replicas": 1},
    "v2": {"bytes": 5 * GIB, "engine": "v2", "replicas": 1},
}
BOUND: dict[str, dict[str, Any]] = {
    "v1": {"volume": "v1", "driver": DRIVER, "deleting": False},
    "small": {"volume": "small", "driver": DRIVER, "deleting": False},
    "v2": {"volume": "v2", "driver": DRIVER, "deleting": False},
    "going": {"volume": "v1", "driver": DRIVER, "deleting": True},
    "nfs": {"volume": "v1", "driver": "nfs.csi.k8s.io", "deleting": False},
    "waiting": {"volume": None, "driver": "", "deleting": False},
}
IMAGES: dict[str, dict[str, Any]] = {
    "golden": {"virtual": 8 * GIB, "engine": "v1"},
    "of-v2": {"virtual": 300 * MIB, "engine": "v2"},
    "not-ready": {"virtual": 0, "engine": "v1"},
}


def known() -> list[Any]:
    """Return the objects of the cluster but for its settings."""
    records: list[Any] = [node("n", disk(tags=["ssd"]), tags=["storage", "gpu"])]
    for name, of in SOURCES.items():
        type_ = "block" if of["engine"] == "v2" else "filesystem"
        size, replicas = of["bytes"], of["replicas"]
        records.append(volume(name, size_bytes=size, disk_type=type_, replicas=replicas))
    for name, each in BOUND.items():
        pv = name if each["volume"] else None
        records.append(claim(name, persistent_volume=pv, deleting=each["deleting"]))
        if pv:
            records.append(persistent_volume(pv, handle=each["volume"], driver=each["driver"]))
    for name, image in IMAGES.items():
        virtual, engine = image["virtual"], image["engine"]
        records.append(backing_image(name, virtual_bytes=virtual, engine=engine))
    return records


def some(table: dict[str, tuple[str, ...]], share: float, random: Random) -> dict[str, str]:
    return {name: random.choice(of) for name, of in table.items() if random.random() < share}


def asked(random: Random) -> tuple[dict[str, Any], Claim]:
    """Return a claim, once as a plain mapping and once as a record."""
    modes = random.choice(
        [["ReadWriteOnce"]] * 4 + [["ReadWriteMany"], ["ReadWriteOnce", "ReadWriteMany"]] * 2
        + [["ReadOnlyMany"]]
    )  # fmt: skip
    source = random.choice([None] * 12 + [*BOUND, "none"])
    size, block = random.choice(SIZES), random.random() < 0.2
    record = replace(
        claim(size_bytes=size, copy_of=source, read_write_many="ReadWriteMany" in modes),
        is_block=block,
        read_only_many="ReadOnlyMany" in modes,
    )
    return {"bytes": size, "modes": modes, "source": source, "block": block}, record


def test_what_is_said_to_be_made_is_what_longhorn_makes():
    random, objects = Random(53), known()
    answers = Counter[bool]()
    for number in range(CLAIMS):
        if number % 500 == 0:
            settings = some(SETTINGS, 0.8, random)
            view = view_of(*objects, *(setting(name, text) for name, text in settings.items()))
            facts = Facts(BOUND, SOURCES, IMAGES, settings, ["storage", "gpu"], ["ssd"])
        parameters = some(PARAMETERS, 0.05, random)
        parameters |= some(SHARDS, 0.95, random) if random.random() < 0.1 else {}
        plain, record = asked(random)
        try:
            found = bool(estimate_volume(record, bare_class(parameters=parameters), view))
        except UnresolvableClaimError:
            found = False
        expected = is_made(parameters, plain, facts)
        assert found == expected, f"{number} {parameters} {plain} {settings}"
        answers[found] += 1

    assert min(answers.values()) > CLAIMS / 5
