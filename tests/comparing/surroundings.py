"""What becomes of nodes and disks, settings, StorageClasses and backing images."""

from random import Random

from tests.comparing.longhorn import disks_of, publish_on
from tests.comparing.objects import (
    GIB,
    LATER,
    NAMESPACE,
    Object,
    conditions,
    other,
    storage_class,
    thing,
)
from tests.comparing.plan import IMAGES, NAME, SETTINGS, TAGS, TIMEOUTS
from tests.comparing.world import NODES, World


def change_node(world: World, random: Random) -> str:
    """Change how a node or one of its disks is, or lose it; as often, mend one."""
    name = random.choice([*world.plan.nodes])
    found = world.get(NODES, name)
    if found is None or random.random() < 0.45:
        publish_on(world, world.put(world.plan.nodes[name]))
        return f"mend {name}"
    if random.random() < 0.05:
        world.drop(NODES, name)
        return f"gone {name}"
    if random.random() < 0.3:
        part, fields = random.choice(NODE_TROUBLES)
        world.change(found, **{part: fields})
        return f"{fields} {name}"
    spec, status = random.choice([*disks_of(found)])
    of_spec, of_status = random.choice(DISK_TROUBLES)
    uuid = status["diskUUID"]
    spec.update(of_spec)
    status.update(of_status)
    world.put(found)
    return f"{of_spec or ''}{of_status or ''} {uuid}"


NODE_TROUBLES: list[tuple[str, Object]] = [
    ("metadata", {"deletionTimestamp": LATER}),
    ("spec", {"allowScheduling": False}),
    ("spec", {"evictionRequested": True}),
    ("spec", {"tags": []}),
    ("spec", {"tags": TAGS}),
    ("status", {"zone": "a"}),
    ("status", {"zone": "b"}),
    ("status", {"conditions": conditions("KubernetesNodeNotReady", Ready="False")}),
    (
        "status",
        {"conditions": conditions("KubernetesNodeCordoned", Ready="True", Schedulable="False")},
    ),
]
"""What may be written of a node; parts and fields."""
DISK_TROUBLES: list[tuple[Object, Object]] = [
    ({"allowScheduling": False}, {}),
    ({"evictionRequested": True}, {}),
    ({"storageReserved": 3 * GIB}, {}),
    ({"tags": []}, {}),
    ({"tags": TAGS[:1]}, {}),
    ({}, {"conditions": conditions(Ready="False", Schedulable="True")}),
    ({}, {"conditions": conditions("DiskPressure", Ready="True", Schedulable="False")}),
    ({}, {"diskUUID": ""}),
    ({}, {"storageMaximum": "?"}),
    ({}, {"storageMaximum": 0}),
    ({}, {"storageMaximum": 24 * GIB, "storageAvailable": 24 * GIB}),
    ({}, {"storageAvailable": GIB // 2}),
    ({}, {"storageAvailable": 3 * GIB}),
    ({}, {"scheduledBackingImage": {IMAGES[0]: GIB}}),
    ({}, {"scheduledBackingImage": {IMAGES[1]: GIB}}),
]
"""The same of a disk; fields of its spec and of its status."""


def change_setting(world: World, random: Random) -> str:
    """Change a setting of Longhorn's or of ours; what cannot be read is soon corrected."""
    for name in SETTINGS:
        found = world.get("settings.longhorn.io", name)
        if found is not None and found["value"] == "?" and random.random() < 0.8:
            world.put({**found, "value": SETTINGS[name][0]})
            return f"correct {name}"
    if random.random() < 0.15:
        timeout = random.choice(["pod-scheduling-timeout", "node-reservation-timeout"])
        data = {
            **TIMEOUTS,
            f"scheduler-extender-{timeout}": random.choice(["0", "1", "5", "20", "?"]),
        }
        world.put(other("ConfigMap", NAME, NAMESPACE, data=data))
        return f"{data}"
    name = random.choice([*SETTINGS])
    value = "?" if random.random() < 0.1 else random.choice(SETTINGS[name])
    world.put(thing("Setting", name, value=value))
    return f"{name} {value}"


def change_class(world: World, random: Random) -> str:
    """Spoil a StorageClass, or bring it back."""
    name = random.choice([*world.plan.classes])
    spoilt = {"dataLocality": "everywhere"} if random.random() < 0.3 else {}
    world.put(storage_class(name, {**world.plan.classes[name], **spoilt}))
    return f"{name} {spoilt}"


def change_image(world: World, random: Random) -> str:
    """Change a backing image, or take it away."""
    name, tags = random.choice(IMAGES), random.choice([[], [], [random.choice(TAGS)]])
    if random.random() < 0.3:
        world.drop("backingimages.longhorn.io", name)
        return f"gone {name}"
    size = random.choice([0, GIB, 2 * GIB, "?"])
    spec = {"diskSelector": tags, "nodeSelector": random.choice([[], tags])}
    world.put(thing("BackingImage", name, spec=spec, status={"realSize": size}))
    return f"{name} {tags} {size}"
