"""With --manage-objects each disk has one DiskSchedule, whatever happens."""

import asyncio
from typing import Any

import pytest

from tests.builders import node_document
from tests.fakes import Answer, Call, Fault, LostAnswer
from tests.integration.controllers import Controllers
from tests.integration.instances import VIRTUAL_TIME
from tests.unit.app.disk_schedule.bench import DISK, NAMESPACE, PLURAL, put_schedule

pytestmark = VIRTUAL_TIME

SOON_SECONDS = 2.0
MENDED_SECONDS = 12.0
"""The longest pause between two attempts, and what is done then."""
NEW = "uuid-new"
REPLACED = node_document(disk_status={"diskUUID": NEW})
EMPTY: dict[str, Any] = {"replicas": {}, "backingImages": {}}


def names(controllers: Controllers) -> list[str]:
    return [each["metadata"]["name"] for each in controllers.server.list(PLURAL, NAMESPACE)]


def changes_objects(call: Call) -> bool:
    return call.resource == "diskschedules" and call.verb in ("create", "delete")


async def test_a_disk_without_an_object_gets_one_that_becomes_ready():
    async with Controllers(manage_objects=True) as controllers:
        await controllers.start_all(2)

        def is_ready() -> bool:
            return "conditions" in ((controllers.object() or {}).get("status") or {})

        await controllers.until(is_ready, within=SOON_SECONDS)

        made = controllers.object()
        node = controllers.server.get("nodes.longhorn.io", "node-1", NAMESPACE)
        assert made is not None
        assert node is not None
        [owner] = made["metadata"]["ownerReferences"]
        assert (owner["uid"], "controller" in owner) == (node["metadata"]["uid"], False)
        assert made["spec"] == {"name": "disk-1", "nodeID": "node-1", **EMPTY}
        assert names(controllers) == [DISK]


async def test_scenario_42_a_disk_replaced_under_its_name_gets_a_new_and_empty_object():
    async with Controllers(manage_objects=True) as controllers:
        await controllers.start_all(1)
        await controllers.until(controllers.object, within=SOON_SECONDS)
        controllers.ask(a=30)
        await controllers.until(lambda: controllers.entries() == {"a": 30}, within=SOON_SECONDS)

        controllers.server.put(REPLACED)

        await controllers.until(lambda: names(controllers) == [NEW], within=MENDED_SECONDS)
        await asyncio.sleep(SOON_SECONDS)
        made = controllers.object(NEW)
        assert made is not None
        assert made["spec"] == {"name": "disk-1", "nodeID": "node-1", **EMPTY}
        assert made["status"]["storageScheduled"] == 0
        verbs = [
            (call.verb, call.name or call.body["metadata"]["name"])
            for call in controllers.server.calls
            if call.resource == "diskschedules" and call.verb in ("create", "patch", "delete")
        ]
        assert verbs == [("create", DISK), ("patch", DISK), ("delete", DISK), ("create", NEW)]


async def test_what_the_watch_shows_late_deletes_nothing():
    """The disk is back before the controller learns that it was replaced."""
    async with Controllers(manage_objects=True) as controllers:
        await controllers.start_all(1)
        await controllers.until(controllers.object, within=SOON_SECONDS)
        controllers.server.watch_delay = lambda call: 3.0 if call.resource == "nodes" else 0.0

        controllers.server.put(REPLACED)
        await asyncio.sleep(1)
        controllers.server.put(node_document())
        await controllers.always(lambda: names(controllers) == [DISK], seconds=20)


async def test_a_disk_that_moves_to_another_node_has_its_object_there():
    async with Controllers(manage_objects=True) as controllers:
        await controllers.start_all(1)
        await controllers.until(controllers.object, within=SOON_SECONDS)

        controllers.server.put(node_document("node-2"))
        controllers.server.put(node_document(spec={"disks": {}}, status={"diskStatus": {}}))

        def is_there() -> bool:
            return ((controllers.object() or {}).get("spec") or {}).get("nodeID") == "node-2"

        await controllers.until(is_there, within=SOON_SECONDS)


async def test_an_object_asked_for_room_at_the_last_moment_is_looked_at_again():
    """What was seen is deleted, and nothing newer: the delete conflicts, and is tried again."""
    async with Controllers(manage_objects=True) as controllers:
        await controllers.start_all(1)
        await controllers.until(controllers.object, within=SOON_SECONDS)
        controllers.server.watch_delay = lambda _: 0.5

        controllers.server.put(REPLACED)
        await asyncio.sleep(0.4)
        controllers.ask(a=30)

        await controllers.until(lambda: names(controllers) == [NEW], within=MENDED_SECONDS)


@pytest.mark.parametrize("kind", [Answer(503), Answer(403), LostAnswer()])
async def test_after_a_fault_there_is_still_one_object_for_each_disk(kind):
    async with Controllers(manage_objects=True) as controllers:
        for number in range(2, 6):
            status = {"diskUUID": f"uuid-{number}"}
            controllers.server.put(node_document(f"node-{number}", disk_status=status))
        controllers.server.faults = [Fault(kind, changes_objects, times=3)]
        await controllers.start_all(2)

        await controllers.until(lambda: len(names(controllers)) == 5, within=MENDED_SECONDS)
        await controllers.always(lambda: len(names(controllers)) == 5, seconds=60)
        for process in controllers.all:
            assert not process.ended.done()


async def test_beside_longhorns_own_controller_no_object_is_made_or_deleted():
    async with Controllers(manage_objects=True) as controllers:
        put_schedule(controllers.server, managedFields=[{"manager": "longhorn-manager"}])
        controllers.start(0)
        controllers.server.put(REPLACED)
        await asyncio.sleep(30)

        assert names(controllers) == [DISK]


async def test_a_node_that_is_being_deleted_gets_no_object():
    async with Controllers(manage_objects=True) as controllers:
        deleted = node_document()
        deleted["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        controllers.server.put(deleted)
        await controllers.start_all(1)
        await asyncio.sleep(30)

        assert names(controllers) == []
