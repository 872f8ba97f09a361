"""What the provisioner and Longhorn do, and what befalls volumes and replicas.

An event is a function that does something and says what, or "" if there was nothing to do.
"""

from collections.abc import Iterator
from random import Random

from tests.comparing.objects import (
    DRIVER,
    GIB,
    LATER,
    Object,
    other,
    replica,
    volume,
)
from tests.comparing.plan import LOCALITIES, TAGS
from tests.comparing.world import (
    CLAIMS,
    CLASSES,
    NODES,
    REPLICAS,
    VOLUMES,
    World,
    name_of,
)

SELECTED_NODE = "volume.kubernetes.io/selected-node"


def provision(world: World, random: Random) -> str:
    """Make the volume of a claim that has none; mostly bind the claim to it."""
    claims = [each for each in world.all(CLAIMS) if not each["spec"].get("volumeName")]
    claim = random.choice(claims) if claims else None
    if claim is None or not provision_for(world, claim, bind=random.random() < 0.7):
        return ""
    return f"provision {name_of(claim)}"


def provision_for(world: World, claim: Object, *, bind: bool = True) -> bool:
    """Make the volume of a claim and its replicas; say whether Longhorn makes such ones."""
    storage_class = world.get(CLASSES, claim["spec"].get("storageClassName") or "none")
    size = claim["spec"]["resources"]["requests"]["storage"]
    if storage_class is None or storage_class["provisioner"] != DRIVER or not size.isdigit():
        return False
    name = f"pvc-{claim['metadata']['uid']}"
    if world.get(VOLUMES, name) is None:
        access, parameters = claim["spec"]["accessModes"][0], storage_class["parameters"]
        made = world.put(volume(name, int(size), access, parameters))
        node = (claim["metadata"].get("annotations") or {}).get(SELECTED_NODE, "")
        is_local = made["spec"]["dataLocality"] != "disabled"
        for number in range(made["spec"]["numberOfReplicas"]):
            add_replica(world, made, node if is_local and not number else "")
    if bind and not claim["spec"].get("volumeName"):
        source = {"driver": DRIVER, "volumeHandle": name}
        world.put(other("PersistentVolume", name, "", spec={"csi": source}))
        world.change(claim, spec={"volumeName": name})
    return True


def make_volume(world: World, random: Random) -> str:
    """Make a volume that no claim is bound to."""
    name = f"v-{random.randrange(3)}"
    if world.get(VOLUMES, name) is not None:
        return ""
    parameters = random.choice([*world.plan.classes.values()])
    made = world.put(volume(name, random.choice([1, 2, 4]) * GIB, "ReadWriteOnce", parameters))
    for _ in range(made["spec"]["numberOfReplicas"]):
        add_replica(world, made)
    return f"make {name}"


def add_replica(world: World, of: Object, pinned_to: str = "") -> None:
    """Make a replica of a volume, which is not placed yet."""
    name = name_of(of)
    taken = {name_of(each) for each in world.replicas_of(name)}
    names = (f"{name}-r-{number}" for number in range(len(taken) + 1))
    world.put(replica(next(each for each in names if each not in taken), of, pinned_to))


def place(world: World, random: Random) -> str:
    """Place replicas: one, or all that wait."""
    waiting = [each for each in world.all(REPLICAS) if not each["spec"]["nodeID"]]
    random.shuffle(waiting)
    chosen = waiting if random.random() < 0.3 else waiting[:1]
    return ", ".join(f"place {name_of(each)} {place_one(world, each, random)}" for each in chosen)


def place_one(world: World, obj: Object, random: Random) -> str:
    """Give a replica a disk: mostly one with room, as Longhorn would."""
    size, pinned_to = bytes_of(obj["spec"]["volumeSize"]), obj["spec"]["hardNodeAffinity"]
    here = [each["spec"] for each in world.all(REPLICAS)]
    disks = [
        (_left(spec, status, here) >= size, name_of(node), status["diskUUID"])
        for node in world.all(NODES)
        for spec, status in disks_of(node)
        if pinned_to in ("", name_of(node))
    ]
    if not disks:
        return "nowhere"
    with_room = [each for each in disks if each[0]]
    _, node, uuid = random.choice(with_room if with_room and random.random() < 0.9 else disks)
    world.change(obj, spec={"nodeID": node, "diskID": uuid})
    return str(uuid)


def _left(spec: Object, status: Object, replicas: list[Object]) -> int:
    """Return about what is left of a disk, without what *replicas* take there."""
    left = bytes_of(status["storageMaximum"]) - bytes_of(spec["storageReserved"])
    there = [each for each in replicas if each["diskID"] == status["diskUUID"]]
    return left - sum(bytes_of(each["volumeSize"]) for each in there)


def publish(world: World, random: Random) -> str:
    """Have disks list their replicas: of one node, or of all."""
    nodes = world.all(NODES)
    random.shuffle(nodes)
    chosen = nodes if random.random() < 0.4 else nodes[:1]
    for each in chosen:
        publish_on(world, each)
    return f"list {' '.join(map(name_of, chosen))}" if chosen else ""


def publish_on(world: World, node: Object) -> None:
    """Have a node's disks list what is placed on them, as its manager does after a while."""
    there = [each for each in world.all(REPLICAS) if each["spec"]["nodeID"] == name_of(node)]
    for _, status in disks_of(node):
        status["scheduledReplica"] = {
            name_of(each): bytes_of(each["spec"]["volumeSize"])
            for each in there
            if each["spec"]["diskID"] == status["diskUUID"]
        }
        images = status.get("scheduledBackingImage") or {}
        counted = [*status["scheduledReplica"].values(), *images.values()]
        status["storageScheduled"] = sum(counted)
    world.put(node)


def attach(world: World, random: Random) -> str:
    """Attach a volume, detach it, or say how well it is."""
    found, on = world.one(VOLUMES, random), world.one(NODES, random)
    if found is None or on is None:
        return ""
    node = name_of(on)
    state = random.choice(["attaching", "attached", "attached", "detached"])
    robustness = random.choice(["healthy", "healthy", "degraded"]) if state == "attached" else ""
    world.change(
        found,
        spec={"nodeID": "" if state == "detached" else node},
        status={
            "state": state,
            "currentNodeID": node if state == "attached" else "",
            "robustness": robustness,
            "lastDegradedAt": _moment(random) if robustness == "degraded" else "",
            "actualSize": random.choice([0, GIB // 2, GIB]),
        },
    )
    return f"{state} {robustness} {name_of(found)} {node}"


def change_replica(world: World, random: Random) -> str:
    """Let a replica run, fail, be evicted, be deleted, or let another one be made."""
    found = world.one(REPLICAS, random)
    if found is None:
        return ""
    way = random.choice([*_STATES, *_STATES, "gone", "gone", "one more", "one more here"])
    of = world.get(VOLUMES, found["spec"]["volumeName"])
    if way == "gone":
        world.drop(REPLICAS, name_of(found))
    elif way in _STATES:
        world.change(found, **_STATES[way])
    elif of is not None:
        on = world.one(NODES, random) if way.endswith("here") else None
        add_replica(world, of, "" if on is None else name_of(on))
    return f"{way} {name_of(found)}"


def fill(world: World, random: Random) -> str:
    """Say of a placed replica that it has data."""
    placed = [each for each in world.all(REPLICAS) if each["spec"]["nodeID"]]
    if not placed:
        return ""
    found = random.choice(placed)
    world.change(found, **_STATES["healthy"])
    return f"healthy {name_of(found)}"


_FAILED = {"started": False, "currentState": "stopped"}
_STATES: dict[str, dict[str, Object]] = {
    "healthy": {
        "spec": {"healthyAt": LATER, "failedAt": "", "desireState": "running"},
        "status": {"started": True, "currentState": "running"},
    },
    "starts": {"status": {"started": True, "currentState": "running"}},
    "fails": {"spec": {"failedAt": LATER}, "status": _FAILED},
    "fails for good": {"spec": {"failedAt": LATER, "rebuildRetryCount": 5}, "status": _FAILED},
    "is evicted": {"spec": {"evictionRequested": True}},
    "is deleted": {"metadata": {"deletionTimestamp": LATER}},
    "is inactive": {"spec": {"active": False}},
}
"""What may be written of a replica."""


def change_volume(world: World, random: Random) -> str:
    """Change what a volume wants, or break it."""
    found = world.one(VOLUMES, random)
    if found is None:
        return ""
    fields: list[Object] = [
        {"numberOfReplicas": random.choice([1, 2, 2, 3, 4])},
        {"numberOfReplicas": random.choice([1, 2, 2, 3, 4])},
        {"dataLocality": random.choice(LOCALITIES)},
        {"size": str(random.choice([1, 2, 5, 8]) * GIB)},
        {"size": random.choice(["?", "0"])},
        {"Standby": random.random() < 0.5},
        {"nodeSelector": random.choice([[], [random.choice(TAGS)]])},
        {"diskSelector": random.choice([[], [random.choice(TAGS)]])},
        {"topologyRequirement": random.choice([None, [{"zone": "a"}], [{"zone": "b"}]])},
        {"dataSource": random.choice(["", "vol://v-0"])},
        {"replicaAutoBalance": random.choice(["ignored", "best-effort"])},
        {},
    ]
    chosen = random.choice(fields)
    metadata = {} if chosen else {"deletionTimestamp": LATER}
    world.change(found, spec=chosen, metadata=metadata)
    return f"{chosen or 'is deleted'} {name_of(found)}"


def disks_of(node: Object) -> Iterator[tuple[Object, Object]]:
    """Return spec and status of each disk of a node."""
    for name, spec in node["spec"]["disks"].items():
        yield spec, node["status"]["diskStatus"][name]


def bytes_of(size: int | str) -> int:
    """Read a size; one that cannot be read is none."""
    return int(size) if str(size).isdigit() else 0


def _moment(random: Random) -> str:
    return f"2026-01-01T00:{random.randrange(20):02}:00Z"
