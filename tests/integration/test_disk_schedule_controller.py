"""Of several instances of the controller one decides, whatever happens."""

import asyncio
from itertools import pairwise

import pytest

from app.config import CONTROLLER_NAME, OWN_NAMESPACE
from tests.builders import GIB, document, node_document
from tests.fakes import Answer, Call, Fault, Hang, Refused
from tests.integration.controllers import Controllers
from tests.integration.instances import VIRTUAL_TIME
from tests.integration.processes import LEASES
from tests.unit.app.disk_schedule.bench import DISK, NAMESPACE, PLURAL, put_schedule

pytestmark = VIRTUAL_TIME

LEASE_SECONDS = 8
SOON_SECONDS = 2.0
RECOVERY_SECONDS = 20.0
"""The longest pause between two attempts, a list, and the lease of one who did not look at it."""
AGE_LIMIT_SECONDS = 120.0


def with_a_schedule(seed: int = 0, **options: bool) -> Controllers:
    controllers = Controllers(seed, **options)
    put_schedule(controllers.server)
    return controllers


def writes_status(call: Call) -> bool:
    return (call.verb, call.resource) == ("patch", "diskschedules/status")


async def test_one_of_two_instances_decides():
    async with with_a_schedule() as controllers:
        await controllers.start_all(2)

        controllers.ask(a=30)

        await controllers.until(lambda: controllers.entries() == {"a": 30}, within=SOON_SECONDS)
        [standby] = {*controllers.all} - {controllers.leader}
        assert controllers.writes_of(standby) == []


async def test_a_leader_that_is_killed_is_replaced_within_the_lease_and_a_second():
    async with with_a_schedule() as controllers:
        await controllers.start_all(2)
        await asyncio.sleep(controllers.random.uniform(0, 2))

        controllers.leader.kill()
        controllers.ask(a=30)

        within = LEASE_SECONDS + 1.0
        await controllers.until(lambda: controllers.entries() == {"a": 30}, within=within)


@pytest.mark.parametrize("seed", range(2))
async def test_a_leader_killed_between_its_two_writes_leaves_what_the_next_one_completes(seed):
    """Its first write purges `a`, whose owner is gone; the entry is released by the next leader."""
    async with with_a_schedule(seed) as controllers:
        await controllers.start_all(2)
        controllers.ask(a=60, b=60)
        await controllers.until(lambda: len(controllers.entries()) == 2, within=SOON_SECONDS)
        [gone] = [name for name, size in controllers.entries().items() if size == 60]
        controllers.server.faults = [Fault(Hang(), writes_status)]

        controllers.server.delete("replicas.longhorn.io", gone, NAMESPACE)
        await asyncio.sleep(1)
        controllers.leader.kill()

        [left] = {"a", "b"} - {gone}
        within = LEASE_SECONDS + 2.0
        await controllers.until(lambda: controllers.entries() == {left: 60}, within=within)


async def test_a_leader_that_was_frozen_writes_nothing_when_it_goes_on():
    async with with_a_schedule() as controllers:
        await controllers.start_all(2)
        frozen = controllers.leader

        frozen.freeze()
        before = len(controllers.writes_of(frozen))
        controllers.ask(a=30)
        await controllers.until(
            lambda: controllers.entries() == {"a": 30}, within=LEASE_SECONDS + 1
        )
        controllers.ask(b=30)
        frozen.resume()

        await controllers.always(lambda: len(controllers.leaders) == 1, seconds=20)
        assert controllers.entries() == {"a": 30, "b": 30}
        assert len(controllers.writes_of(frozen)) == before


@pytest.mark.parametrize("silent", [False, True], ids=["refused", "silent"])
async def test_what_was_asked_while_the_api_server_was_away_is_decided_after(*, silent):
    async with with_a_schedule() as controllers:
        await controllers.start_all(2)

        with controllers.server.outage(silent=silent):
            controllers.ask(a=60, b=60)
            await controllers.always(lambda: len(controllers.leaders) <= 1, seconds=60)

        await controllers.until(lambda: len(controllers.entries()) == 2, within=RECOVERY_SECONDS)
        assert sorted(controllers.entries().values()) == [-1, 60]


@pytest.mark.parametrize("seed", range(2))
async def test_two_that_both_believe_to_lead_never_grant_more_than_there_is(seed):
    """Their passes race: each write names the version that it was decided on."""
    async with with_a_schedule(seed) as controllers:
        [first] = await controllers.start_all(1)
        controllers.server.delete(LEASES, CONTROLLER_NAME, OWN_NAMESPACE)
        second = controllers.start(1)
        first.instance.member.leadership.acts_until = float("inf")  # what must never be
        await controllers.until(lambda: len(controllers.leaders) == 2, within=10)

        for number in range(40):
            controllers.ask(**{f"r-{number}": 5})
            await asyncio.sleep(controllers.random.uniform(0, 0.05))
        await controllers.until(lambda: len(controllers.entries()) == 40, within=RECOVERY_SECONDS)

        assert max(controllers.sums) == 100 * GIB
        assert sorted(controllers.entries().values()) == [-1] * 20 + [5] * 20
        conflicts = [each.metric("passes_total", outcome="conflict") for each in (first, second)]
        assert sum(filter(None, conflicts)) > 0


async def test_a_kind_that_is_not_heard_of_for_too_long_stops_the_leader_who_names_it():
    async with with_a_schedule() as controllers:
        [leader] = await controllers.start_all(1)
        controllers.server.faults = [
            Fault(Refused(), lambda call: call.resource == "replicas", times=None)
        ]
        controllers.server.outage().end()
        await asyncio.sleep(AGE_LIMIT_SECONDS + 5)

        assert controllers.leaders == []
        assert (await leader.unready()).startswith("replicas.longhorn.io: not heard of for")
        controllers.ask(a=30)
        await asyncio.sleep(5)
        assert controllers.entries() == {}

        controllers.server.faults = []
        within = RECOVERY_SECONDS
        await controllers.until(lambda: controllers.entries() == {"a": 30}, within=within)


async def test_when_a_rival_appears_nothing_is_written_and_each_says_so():
    async with with_a_schedule() as controllers:
        processes = await controllers.start_all(2)
        by_longhorn = document(
            "DiskSchedule",
            "uuid-other",
            metadata={"managedFields": [{"manager": "longhorn-manager", "subresource": "status"}]},
            spec={"name": "disk-2", "nodeID": "node-1"},
        )
        controllers.server.put(by_longhorn)
        await asyncio.sleep(1)
        before = len(controllers.writes_of(controllers.leader))

        controllers.ask(a=30)
        await asyncio.sleep(20)

        for process in processes:
            assert (await process.unready()).startswith(
                "Longhorn has a controller of its own, so nothing is written here: "
                "longhorn-manager has written DiskSchedule uuid-other;"
            )
            assert process.metric("rivals") == 1
        assert len(controllers.writes_of(controllers.leader)) == before
        assert controllers.entries() == {}

        controllers.server.delete(PLURAL, "uuid-other", NAMESPACE)
        await controllers.until(lambda: controllers.entries() == {"a": 30}, within=SOON_SECONDS)
        assert [await each.unready() for each in processes] == ["", ""]


async def test_what_is_decided_is_counted_and_each_disk_is_shown():
    async with with_a_schedule() as controllers:
        await controllers.start_all(1)
        leader = controllers.leader
        assert leader.metric("heartbeat", node="node-0") == 1

        controllers.ask(a=60)
        await controllers.until(lambda: controllers.entries() == {"a": 60}, within=SOON_SECONDS)
        controllers.server.faults = [Fault(Answer(503), writes_status)]
        controllers.ask(b=50, c=101)
        await controllers.until(lambda: len(controllers.entries()) == 3, within=SOON_SECONDS)
        await asyncio.sleep(3)

        of_disk = {"node": "node-1", "disk": DISK}
        assert leader.metric("changes_total", change="granted") == 1
        assert leader.metric("refusals_total", reason="full") == 1
        assert leader.metric("refusals_total", reason="too_large") == 1
        assert leader.metric("passes_total", outcome="failed") == 1
        assert (leader.metric("passes_total", outcome="written") or 0) >= 3
        assert leader.metric("held_bytes", **of_disk) == 60 * GIB
        assert leader.metric("limit_bytes", **of_disk) == 100 * GIB
        assert leader.metric("refused", **of_disk) == 2
        age = leader.metric("last_pass_age_seconds")
        assert age is not None
        assert 2 < age < 5


async def test_health_and_metrics_are_all_that_is_served():
    async with with_a_schedule() as controllers:
        [process] = await controllers.start_all(1)

        paths = ("/healthz", "/readyz", "/metrics", "/filter", "/openapi.json")
        statuses = [(await process.get(path)).status_code for path in paths]

        assert statuses == [200, 200, 200, 404, 404]


async def live(controllers: Controllers, *, manage_objects: bool) -> None:
    """Lead, grant, purge, list anew, be replaced and end; replace an object if it may."""
    await controllers.start_all(2)
    if manage_objects:
        controllers.server.put(node_document(disk_status={"diskUUID": "uuid-new"}))
        await controllers.until(lambda: controllers.object("uuid-new"), within=SOON_SECONDS)
        await controllers.until(lambda: not controllers.object(), within=SOON_SECONDS)
        controllers.server.put(node_document())
        await controllers.until(controllers.object, within=SOON_SECONDS)
    controllers.ask(a=60, b=30)
    await controllers.until(lambda: len(controllers.entries()) == 2, within=SOON_SECONDS)
    stored = controllers.object()
    assert stored is not None
    controllers.server.put(document("BackingImage", "i"))
    stored["spec"]["backingImages"] = {"i": GIB}
    controllers.server.put(stored)
    await asyncio.sleep(SOON_SECONDS)
    controllers.server.delete("replicas.longhorn.io", "a", NAMESPACE)
    controllers.server.delete("backingimages.longhorn.io", "i", NAMESPACE)
    await controllers.until(lambda: controllers.entries() == {"b": 30}, within=SOON_SECONDS)
    controllers.server.outage().end()
    controllers.server.compact()
    await asyncio.sleep(10)
    for _ in range(2):
        controllers.leader.terminate()
        await asyncio.sleep(3)


@pytest.mark.parametrize("manage_objects", [False, True])
async def test_every_grant_is_used_in_a_whole_life_and_no_call_is_refused(*, manage_objects):
    async with with_a_schedule(manage_objects=manage_objects) as controllers:
        await live(controllers, manage_objects=manage_objects)

    assert [grant for grant, uses in controllers.rules.used.items() if not uses] == []
    assert controllers.refused == []


async def test_a_new_leader_looks_at_every_disk():
    """Also at what changed while nobody led."""
    async with with_a_schedule() as controllers:
        await controllers.start_all(1)
        controllers.leader.kill()
        controllers.ask(a=30)
        await asyncio.sleep(60)

        controllers.start(1)

        await controllers.until(
            lambda: controllers.entries() == {"a": 30}, within=LEASE_SECONDS + 5
        )
        assert all(later >= earlier for earlier, later in pairwise(controllers.sums))
