"""Pods whose volumes have several replicas: the cases, their optimum, and one run of one."""

import time
from itertools import count, cycle, islice

import msgspec
from ortools.sat.python import cp_model

from tests.actors import api as kinds
from tests.actors.api import Key
from tests.e2e.calls import Call
from tests.e2e.scheduling import Scheduling
from tests.e2e.waiting import until
from tests.e2e.workloads import GIB, NAMESPACE, claim, pod
from tests.e2e.world import DELAYS, World

QUIET_SECONDS = 11.0
"""With no pod bound for so long, none will be until something changes: kube-scheduler tries none
for 10 s at most that it has tried in vain."""
DELAYS_HERE = msgspec.structs.replace(DELAYS, capacity_poll=1.0, node_status=(0.1, 0.3))
"""external-provisioner publishes capacities every minute, and until then kube-scheduler may pass a
node over by itself. That is not what is measured here."""
BEST_EFFORT, DISABLED = "best-effort", "disabled"


class Wish(msgspec.Struct, frozen=True):
    """What a pod wants of one volume."""

    replicas: int
    locality: str = BEST_EFFORT

    @property
    def class_name(self) -> str:
        return f"{self.locality}-{self.replicas}"


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes with one disk each, and pods; all their volumes are equally large."""

    name: str
    gib: tuple[int, ...]
    pods: int
    wishes: tuple[tuple[Wish, ...], ...] = ((Wish(3),),)
    """What the first, the second and so on of the pods want; then again from the first."""
    gib_each: int = 100
    zones: tuple[str, ...] = ()
    zone_soft: bool = True
    least: int
    """So many pods are bound at least."""

    def __str__(self) -> str:
        return self.name.replace(" ", "-")

    @property
    def pod_wishes(self) -> dict[str, tuple[Wish, ...]]:
        """What each pod wants, by its name."""
        names = [f"web-{number}" for number in range(self.pods)]
        return dict(zip(names, islice(cycle(self.wishes), self.pods), strict=True))

    @property
    def most_replicas(self) -> int:
        """How many replicas of a volume nodes and zones allow."""
        return len(set(self.zones)) if self.zones and not self.zone_soft else len(self.gib)


CASES = (
    Case(name="3 of 4x300", gib=(300,) * 4, pods=16, least=4),
    Case(
        name="2 of 800-400-200-200",
        gib=(800, 400, 200, 200),
        pods=12,
        wishes=((Wish(2),),),
        least=7,
    ),
    Case(name="3 of 3x400", gib=(400,) * 3, pods=8, least=4),
    Case(
        name="3 zones hard",
        gib=(300,) * 6,
        pods=10,
        zones=tuple("aabbcc"),
        zone_soft=False,
        least=6,
    ),
    Case(name="3 zones soft", gib=(300,) * 6, pods=10, zones=tuple("aabbcc"), least=5),
    Case(name="disabled 4x300", gib=(300,) * 4, pods=16, wishes=((Wish(3, DISABLED),),), least=4),
    Case(name="2 nodes 3 replicas", gib=(300,) * 2, pods=6, least=3),
    Case(
        name="mixed 5x400",
        gib=(400,) * 5,
        pods=13,
        wishes=(
            (Wish(3), Wish(1)),
            (Wish(2, DISABLED), Wish(2)),
            (Wish(1), Wish(3, DISABLED)),
        ),
        gib_each=50,
        least=9,
    ),
)
ALL_FIT = (
    Case(name="all fit, 16 pods, 4x2000", gib=(2000,) * 4, pods=16, least=16),
    Case(name="all fit, 30 pods, 10x1000", gib=(1000,) * 10, pods=30, least=30),
)


def optimum(case: Case) -> int:
    """Return how many pods can be bound so that all their volumes are whole.

    Whole are volumes with as many replicas as nodes and zones allow, one of them with the pod where
    its class asks for that.
    """
    model, nodes, names = cp_model.CpModel(), range(len(case.gib)), count()
    replicas: list[list[cp_model.IntVar]] = []
    bound = []

    def row() -> list[cp_model.IntVar]:
        return [model.new_bool_var(str(next(names))) for _ in nodes]

    for wishes in case.pod_wishes.values():
        on = row()
        is_bound = model.new_bool_var(str(next(names)))
        bound.append(is_bound)
        model.add(sum(on) == is_bound)
        for wish in wishes:
            each = row()
            replicas.append(each)
            model.add(sum(each) == min(wish.replicas, case.most_replicas) * is_bound)
            for node in nodes:
                if wish.locality == BEST_EFFORT:
                    model.add(each[node] >= on[node])
            for zone in set() if case.zone_soft else set(case.zones):
                inside = [node for node in nodes if case.zones[node] == zone]
                model.add(sum(each[node] for node in inside) <= 1)
    for node in nodes:
        model.add(sum(case.gib_each * each[node] for each in replicas) <= case.gib[node])
    model.maximize(sum(bound))
    solver = cp_model.CpSolver()
    assert solver.solve(model) == cp_model.OPTIMAL
    return round(solver.objective_value)


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one run."""

    bound: int
    """All of them run."""
    missing: int
    """Replicas without a disk, of those that nodes and zones allow."""
    elsewhere: tuple[str, ...]
    """Claims whose volume has no replica on the pod's node, where the class asks for one."""
    by_own: tuple[str, ...]
    """Those of them whose pods have volumes that go anywhere. These come first, and nothing can be
    done where all nodes have room for no more than the pod itself."""
    empty: int
    """Volumes of bound pods without any replica on a disk."""
    overcommitted: int
    """Disks beyond Longhorn's limit."""
    excess_gib: int
    """How far, all of them together."""
    bound_seconds: float
    """Until the last of them was bound."""
    next_seconds: float | None
    """How long another pod waited after a bound one's room became free; None: none was."""
    reasons: frozenset[str]
    """Why the others are not bound."""


async def start(world: World, case: Case, *, extender: bool = True) -> Scheduling:
    """Make the nodes and the classes, then all pods at once."""
    for wish in sorted({wish for wishes in case.wishes for wish in wishes}, key=str):
        await world.add_class(
            wish.class_name,
            numberOfReplicas=str(wish.replicas),
            dataLocality=wish.locality,
            replicaZoneSoftAntiAffinity="enabled" if case.zone_soft else "disabled",
        )
    await world.add_nodes(*({"disk": gib} for gib in case.gib), zones=case.zones)
    claims = [
        (claim(f"{name}-{number}", f"{case.gib_each}Gi", wish.class_name), kinds.CLAIMS)
        for name, wishes in case.pod_wishes.items()
        for number, wish in enumerate(wishes)
    ]
    pods = [
        (pod(name, *(f"{name}-{n}" for n in range(len(wishes))), extender=extender), kinds.PODS)
        for name, wishes in case.pod_wishes.items()
    ]
    return await world.schedule(*claims, *pods, pods=case.pods)


async def come_to_rest(
    world: World, case: Case, scheduling: Scheduling, *, since: float = 0.0
) -> list[str]:
    """Wait until no more pods will be bound, and those that are run; return their names.

    Args:
        world: Where they are.
        case: What was run.
        scheduling: Since the pods were made.
        since: When the last fault ended; pods that wait must have been asked about after it, but
            for those of which kube-scheduler has left out all nodes by itself, from the beginning
            or since: CSIStorageCapacity says to it that none has room.
    """
    nowhere = f"{len(case.gib)} node(s) did not have enough free storage"

    def was_asked(name: str) -> bool:
        calls = world.calls_for(name)
        return any(call.at > since for call in calls) or (
            world.seen.is_refused(name, "" if not calls else nowhere)
        )

    def is_quiet() -> bool:
        times = scheduling.bound_at()
        last = max(since, scheduling.began + (times[-1] if times else 0.0))
        waiting = [name for name, node in world.seen.node_of().items() if not node]
        were_asked = all(map(was_asked, waiting))
        return len(times) == case.pods or (were_asked and time.time() - last > QUIET_SECONDS)

    await until(is_quiet, within=180, what=world.seen.node_of)
    bound = sorted(name for name, node in world.seen.node_of().items() if node)
    await until(
        lambda: all(map(world.seen.is_running, bound)),
        within=60,
        what=lambda: [name for name in bound if not world.seen.is_running(name)],
    )
    return bound


async def run(world: World, case: Case, *, replace: bool) -> Result:
    """Run a case, and leave nothing of it.

    Args:
        world: Without nodes.
        case: What to run.
        replace: Whether to delete a pod at the end, and wait until another one takes its room.
    """
    scheduling = await start(world, case)
    bound = await come_to_rest(world, case, scheduling)
    waiting = [name for name in case.pod_wishes if name not in bound]
    rejected = [call.rejected for name in waiting for call in last_call(world, name)]
    elsewhere = tuple(
        f"{name}-{number}"
        for name in bound
        for number, wish in enumerate(case.pod_wishes[name])
        if wish.locality == BEST_EFFORT and not world.seen.is_beside(name, f"{name}-{number}")
    )
    result = Result(
        bound=len(bound),
        missing=missing(world, case),
        elsewhere=elsewhere,
        by_own=tuple(
            each
            for each in elsewhere
            if any(wish.locality == DISABLED for wish in case.pod_wishes[each.rpartition("-")[0]])
        ),
        empty=sum(not placed for placed, _ in world.seen.replica_counts().values()),
        overcommitted=len(world.seen.overcommitted_disks()),
        excess_gib=world.seen.excess_bytes() // GIB,
        bound_seconds=scheduling.bound_at()[-1],
        next_seconds=await replace_one(world, bound[0], case) if replace else None,
        reasons=frozenset(text for each in rejected for text in each.values()),
    )
    await world.wipe()
    return result


def missing(world: World, case: Case) -> int:
    return sum(
        min(wanted, case.most_replicas) - placed
        for placed, wanted in world.seen.replica_counts().values()
    )


async def replace_one(world: World, name: str, case: Case) -> float:
    """Delete a pod and its claims; return when another is accepted after the replicas are gone.

    It is bound once its claims are, which takes Longhorn some seconds.
    """
    before = world.seen.node_of()
    waiting = [other for other, node in before.items() if not node]
    claims = [f"{name}-{number}" for number in range(len(case.pod_wishes[name]))]
    volumes = {world.seen.volume_of(each) for each in claims}
    await world.api.delete(kinds.PODS, Key(NAMESPACE, name))
    for each in claims:
        await world.api.delete(kinds.CLAIMS, Key(NAMESPACE, each))
    await until(
        lambda: volumes.isdisjoint(world.seen.replica_counts()),
        within=30,
        what="the volumes are still there",
    )
    free = time.time()

    def accepted() -> list[float]:
        calls = (call for other in waiting for call in world.calls_for(other))
        return [call.at for call in calls if call.accepted]

    await until(lambda: bool(accepted()), within=30, what=world.seen.node_of)
    bound = sum(map(bool, before.values()))
    await until(lambda: sum(map(bool, world.seen.node_of().values())) >= bound, within=30)
    return max(0.0, min(accepted()) - free)


def last_call(world: World, name: str) -> list[Call]:
    return world.calls_for(name)[-1:]
