"""What happens: each event draws from its own chance, so others stay the same without it."""

from collections.abc import Callable
from random import Random

from tests.comparing.longhorn import (
    SELECTED_NODE,
    attach,
    change_replica,
    change_volume,
    fill,
    make_volume,
    place,
    place_one,
    provision,
    provision_for,
    publish,
)
from tests.comparing.objects import (
    LATER,
    Object,
    conditions,
)
from tests.comparing.schedules import ask_for_room, decide, serve_schedules
from tests.comparing.surroundings import change_class, change_image, change_node, change_setting
from tests.comparing.world import CLAIMS, PODS, World, name_of

Event = Callable[[World, Random], str]
"""Does something, and says what; "" if there was nothing to do."""


def choose(world: World, random: Random) -> str:
    """Name the node of a pod, one way or another, as kube-scheduler does after an answer."""
    waiting = [
        pod
        for pod in world.all(PODS)
        if world.accepted.get(name_of(pod)) and not pod["spec"].get("nodeName")
    ]
    if not waiting:
        return ""
    pod = random.choice(waiting)
    node = random.choice(world.accepted[name_of(pod)])
    way = random.choice(["nominate", "select", "select", "bind", "bind", "all"])
    if way in ("nominate", "all"):
        pod = world.change(pod, status={"nominatedNodeName": node})
    if way in ("select", "all"):
        _select(world, pod, node)
    if way == "all":
        for claim in world.claims_of(pod):
            provision_for(world, claim)
            for each in world.replicas_of(f"pvc-{claim['metadata']['uid']}"):
                if not each["spec"]["nodeID"] and random.random() < 0.8:
                    place_one(world, each, random)
    if way == "bind" or (way == "all" and random.random() < 0.7):
        bound = {"nominatedNodeName": "", "conditions": conditions(PodScheduled="True")}
        world.change(pod, spec={"nodeName": node}, status=bound)
    return f"{way} {name_of(pod)} {node}"


def give_up(world: World, random: Random) -> str:
    """Say that an attempt came to nothing, or take a node back."""
    pod = world.one(PODS, random)
    if pod is None or pod["spec"].get("nodeName"):
        return ""
    way = random.choice(["refuse", "refuse", "take back", "unselect"])
    if way == "unselect":
        _select(world, pod, "")
    else:
        moment = f"2026-01-01T00:00:{random.randrange(60):02}Z"
        refused = [
            {**each, "lastTransitionTime": moment} for each in conditions(PodScheduled="False")
        ]
        written = refused if way == "refuse" else []
        world.change(pod, status={"nominatedNodeName": "", "conditions": written})
    return f"{way} {name_of(pod)}"


def _select(world: World, pod: Object, node: str) -> None:
    """Say where the unbound claims of a pod are to be provisioned, or take that back."""
    for claim in world.claims_of(pod):
        if not claim["spec"].get("volumeName"):
            world.change(claim, metadata={"annotations": {SELECTED_NODE: node}})


def end_pod(world: World, random: Random) -> str:
    """Delete a pod, mostly with all that is its own, or let it run or end."""
    pod = world.one(PODS, random)
    if pod is None:
        return ""
    way = random.choice(["delete", "mark deleted", "run", "finish", "remove", "remove", "remove"])
    if way in ("delete", "remove"):
        world.drop(PODS, name_of(pod))
    if way == "remove":
        for claim in world.plan.pods[name_of(pod)]:
            world.remove_claim(claim)
    if way == "mark deleted":
        world.change(pod, metadata={"deletionTimestamp": LATER})
    if way in ("run", "finish"):
        world.change(pod, status={"phase": "Running" if way == "run" else "Succeeded"})
    return f"{way} {name_of(pod)}"


def change_claim(world: World, random: Random) -> str:
    """Delete a claim, or mark it deleted, or let it ask for something else."""
    claim = world.one(CLAIMS, random)
    if claim is None:
        return ""
    way = random.choice(["remove", "remove", "mark deleted", "expand", "no class"])
    if way == "remove":
        world.remove_claim(name_of(claim))
    if way == "mark deleted":
        world.change(claim, metadata={"deletionTimestamp": LATER})
    if way == "expand":
        storage = random.choice(["5Gi", "7.5Gi", "12Gi"])
        world.change(claim, spec={"resources": {"requests": {"storage": storage}}})
    if way == "no class":
        world.change(claim, spec={"storageClassName": random.choice([None, "gone"])})
    return f"{way} {name_of(claim)}"


EVENTS: dict[Event, int] = {
    choose: 14,
    give_up: 7,
    end_pod: 10,
    change_claim: 2,
    provision: 6,
    make_volume: 2,
    place: 11,
    publish: 8,
    attach: 6,
    fill: 3,
    change_replica: 9,
    change_volume: 4,
    change_node: 7,
    change_setting: 4,
    change_class: 1,
    change_image: 1,
    ask_for_room: 8,
    decide: 10,
    serve_schedules: 1,
}
"""With their weights."""
EARLY: list[Event] = [
    provision,
    make_volume,
    place,
    place,
    fill,
    fill,
    publish,
    ask_for_room,
    decide,
]


def start(world: World, random: Random) -> None:
    """Make what there is when the service begins."""
    world.serve_schedules(world.plan.is_served)
    for name in world.plan.pods:
        if random.random() < 0.3:
            world.pod(name)
    for _ in range(40):
        random.choice(EARLY)(world, random)
