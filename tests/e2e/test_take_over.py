"""The leader is killed while it has holds in each of their states; the next one has the same.

Eight pods are on their way; then eight more come to the next leader. All of them together fill the
disks exactly, and Longhorn shows nothing of the first ones yet: if a hold is lost, a disk is
over-committed.
"""

import asyncio
import time
from itertools import pairwise

import msgspec
import pytest

from tests.actors import api as kinds
from tests.actors.api import Object
from tests.actors.longhorn import Delays
from tests.e2e.cases import NODES, TAKE_OVER_SECONDS, UNEVEN
from tests.e2e.extender import InstanceProcess
from tests.e2e.lending import ONE_LOOP
from tests.e2e.report import EXTENDER
from tests.e2e.waiting import until
from tests.e2e.workloads import claim, stateful_set
from tests.e2e.world import DELAYS, World

pytestmark = ONE_LOOP

PODS = 8
PLACING_TIMEOUT = "scheduler-extender-node-reservation-timeout"


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """When the leader is killed, and what keeps it like that until another one leads."""

    name: str
    states: tuple[str, bool]
    """The holds to wait for: their state, and whether their pods are bound."""
    count: int
    """How many of them."""
    delays: Delays
    api_delay_seconds: float = 0.0
    """How late the leader sees what follows from its answers."""

    def __str__(self) -> str:
        return self.name


_SLOW_TO_PROVISION = msgspec.structs.replace(DELAYS, create_poll=14.0)
_SLOW_TO_ATTACH = msgspec.structs.replace(DELAYS, attach_wish=(18.0, 18.0))
OPEN = Moment(
    name="open",
    states=("open", False),
    count=1,
    delays=_SLOW_TO_PROVISION,
    api_delay_seconds=0.3,
)
CHOSEN = Moment(
    name="chosen, not bound", states=("chosen", False), count=PODS, delays=_SLOW_TO_PROVISION
)
BOUND = Moment(name="of bound pods", states=("chosen", True), count=PODS, delays=_SLOW_TO_ATTACH)


@pytest.mark.parametrize(
    "moment", [OPEN, pytest.param(CHOSEN, marks=pytest.mark.gate), BOUND], ids=str
)
async def test_the_next_leader_knows_what_was_held(share_world, report, moment):
    async with share_world(settings={"debug": True}) as world:
        world.longhorn.cluster.delays = moment.delays
        await world.set_longhorn(PLACING_TIMEOUT, "60")
        await world.add_nodes(*UNEVEN.nodes)
        leader = await world.extender.leader()
        await _make_claims(world, leader)
        async with world.extender.probed() as answered:
            await until(lambda: bool(answered), within=5)
            world.relay.delay_seconds = moment.api_delay_seconds
            await world.schedule((stateful_set("web", pods=PODS), kinds.STATEFUL_SETS), pods=PODS)
            before = await _holds_of(leader, moment)
            leader.process.kill()
            killed = time.monotonic()
            world.relay.delay_seconds = 0.0
            await until(lambda: answered[-1] > killed + 1, within=TAKE_OVER_SECONDS)
        after = await _holds(await world.extender.leader())
        late = stateful_set("late", pods=PODS)
        both = await world.schedule((late, kinds.STATEFUL_SETS), pods=2 * PODS)
        outcome = await both.outcome(within=90)

    gap = max(later - earlier for earlier, later in pairwise(answered))
    report.measured(f"no answer after SIGKILL, holds {moment}", f"{gap:.1f} s")
    report.run(f"fault: leader gets SIGKILL, holds {moment}", EXTENDER[True], NODES, outcome)
    for uid, hold in before.items():
        assert after[uid]["state"] == "chosen"
        assert set(after[uid]["nodes"]) <= set(hold["nodes"])
        assert [*after[uid]["volume_bytes"].values()] == [*hold["volume_bytes"].values()]
    assert outcome.pods(NODES) == UNEVEN.pods
    assert (outcome.without_room, outcome.overcommitted_disks) == (0, 0)


async def _make_claims(world: World, leader: InstanceProcess) -> None:
    """Make the claims first: if the leader hears of them late, it cannot answer for their pods."""
    for number in range(PODS):
        await world.api.create(claim(f"data-0-web-{number}"), kinds.CLAIMS)

    async def are_known() -> bool:
        known = await leader.state()
        return int(known["kinds"]["persistentvolumeclaims"]["objects"]) == PODS

    await until(are_known, within=10)


async def _holds_of(leader: InstanceProcess, moment: Moment) -> dict[str, Object]:
    """Wait until the leader has such holds; return all it has, by the pod's uid."""
    async with asyncio.timeout(30):
        while True:
            holds = await _holds(leader)
            found = [
                hold
                for hold in holds.values()
                if (hold["state"], hold["bound_seconds_ago"] is not None) == moment.states
            ]
            if len(found) >= moment.count:
                return holds


async def _holds(leader: InstanceProcess) -> dict[str, Object]:
    return {hold["uid"]: hold for hold in (await leader.state())["holds"]}
