"""What is asked of DiskSchedules, and what they grant."""

from random import Random

from tests.comparing.longhorn import bytes_of
from tests.comparing.objects import GIB, conditions, thing
from tests.comparing.plan import IMAGES
from tests.comparing.world import DISK_SCHEDULES, NODES, REPLICAS, World, name_of


def ask_for_room(world: World, random: Random) -> str:
    """Ask the DiskSchedule of a disk for what is placed there, or for anything."""
    node = world.one(NODES, random) if world.is_served else None
    if node is None:
        return ""
    disk = random.choice([*node["spec"]["disks"]])
    uuid = f"uuid-{name_of(node)}-{disk}"
    here = [each for each in world.all(REPLICAS) if each["spec"]["diskID"] == uuid]
    asked = {name_of(each): bytes_of(each["spec"]["volumeSize"]) for each in here}
    asked |= random.choice([{}, {}, {}, {"other-r-0": GIB}])
    images = random.choice([{}, {}, {IMAGES[0]: GIB}])
    spec = {"name": disk, "nodeID": name_of(node), "replicas": asked, "backingImages": images}
    new = thing("DiskSchedule", uuid, status={"conditions": conditions(Ready="True")})
    world.put({**(world.get(DISK_SCHEDULES, uuid) or new), "spec": spec})
    return f"ask {uuid} for {' '.join([*asked, *images])}"


def decide(world: World, random: Random) -> str:
    """Let the DiskSchedule of a disk grant, refuse, release, or decide nothing."""
    found = world.one(DISK_SCHEDULES, random) if world.is_served else None
    if found is None:
        return ""
    way = random.choice(
        [*["grant"] * 5, "refuse", "refuse one", "forget", "unready", "unready", "gone"]
    )
    if way == "gone":
        world.drop(DISK_SCHEDULES, name_of(found))
        return f"gone {name_of(found)}"
    held = {}
    for kind in ("replicas", "backingImages"):
        asked = found["spec"][kind]
        refused = random.choice([*asked, ""]) if way == "refuse one" else ""
        held[kind] = {
            name: {"state": "rejected", "scheduledSize": 0}
            if way == "refuse" or name == refused
            else {"state": "scheduled", "scheduledSize": size}
            for name, size in asked.items()
            if way != "forget" or random.random() < 0.5
        }
    ready = conditions(Ready=random.choice(["False", "Unknown"]) if way == "unready" else "True")
    world.put({**found, "status": {**held, "conditions": ready}})
    return f"{way} {name_of(found)}"


def serve_schedules(world: World, random: Random) -> str:
    """Begin or cease to serve DiskSchedules."""
    if random.random() < 0.5:
        return ""
    world.serve_schedules(not world.is_served)
    return f"DiskSchedules are served: {world.is_served}"
