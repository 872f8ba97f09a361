"""Each account may do what its process does, and nothing else, as RBAC itself saw it.

The API server writes down each request of the accounts and what it decided. A verb taken away from
the manifests shows as a refusal; one that nobody needs shows as unused.
"""

import asyncio
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from app.config import CONTROLLER_NAME, NAME
from tests.actors import api as kinds
from tests.actors.api import LEASES, Api, Key, Kind, Object
from tests.actors.longhorn import backing_image, disk_uuid, longhorn_node
from tests.e2e.audit import events, lines
from tests.e2e.control_plane import ControlPlane
from tests.e2e.controllers import Controllers
from tests.e2e.installation import install_disk_schedules, remove_disk_schedules
from tests.e2e.users import CONTROLLER, EXTENDER
from tests.e2e.waiting import until
from tests.e2e.workloads import GIB, claim, claims, pod
from tests.e2e.world import World
from tests.fakes import Call
from tests.fakes.installed import LONGHORN, NAMESPACE
from tests.integration.rbac import Grant, Rules, of_the_controller, shipped

DEPLOYMENTS = Kind("apps/v1", "deployments", "Deployment")
SECOND = "longhorn-scheduler"
SLICE = f"{NAME}-ipv4"
WOKEN = "longhorn_scheduler_extender_wake_ups_total"


@pytest.mark.parametrize(
    "streaming_lists",
    [pytest.param(True, marks=pytest.mark.gate, id="streamed"), pytest.param(False, id="lists")],
)
async def test_every_request_of_a_whole_life_is_granted_and_every_grant_is_needed(
    control_plane, make_world, *, streaming_lists
):
    if not streaming_lists:  # as before Kubernetes 1.32, and in 1.33
        await _restart(control_plane, "--feature-gates=WatchList=false")
    written = lines(control_plane.audit_log)

    try:
        async with _serving_disk_schedules(control_plane), make_world(instances=2) as world:
            await _live(world)
    finally:
        if not streaming_lists:
            await _restart(control_plane)

    _assert_granted_and_needed(
        shipped(),
        [*events(control_plane.audit_log, skip=written, user=EXTENDER)],
        streaming_lists=streaming_lists,
    )


async def test_the_controller_of_disk_schedules_has_the_rights_it_needs_and_no_others(
    control_plane, tmp_path
):
    written = lines(control_plane.audit_log)

    async with _serving_disk_schedules(control_plane) as api:
        controllers = Controllers(control_plane, api, tmp_path, manage_objects=True)
        await api.delete(LEASES, Key(NAMESPACE, CONTROLLER_NAME))
        await controllers.start()
        try:
            await _control(api)
        finally:
            await controllers.stop()

    _assert_granted_and_needed(
        of_the_controller(manage_objects=True),
        [*events(control_plane.audit_log, skip=written, user=CONTROLLER)],
        streaming_lists=True,
    )


async def _control(api: Api) -> None:
    """Have objects made for disks, room granted and purged, and an object deleted."""
    node = longhorn_node("node-1", {"old": 100 * GIB, "new": 100 * GIB})
    await api.create(node, kinds.LONGHORN_NODES)
    old, new = (Key(LONGHORN, disk_uuid("node-1", disk)) for disk in ("old", "new"))
    await until(lambda: _has_entries(api, new, {}), within=30)
    image = backing_image("there", GIB, copies=0)
    await api.create(image, kinds.BACKING_IMAGES)
    asked = {"replicas": {"gone": GIB}, "backingImages": {"there": GIB, "gone": GIB}}
    await api.patch(kinds.DISK_SCHEDULES, new, {"spec": asked})
    entry = {"state": "scheduled", "scheduledSize": GIB}
    await until(lambda: _has_entries(api, new, {"there": entry}), within=30)

    without = {"spec": {"disks": {"old": None}}, "status": {"diskStatus": {"old": None}}}
    await api.patch(kinds.LONGHORN_NODES, Key(LONGHORN, "node-1"), without)

    async def is_deleted() -> bool:
        return await api.get(kinds.DISK_SCHEDULES, old.name, LONGHORN) is None

    await until(is_deleted, within=30)
    await api.delete(kinds.LONGHORN_NODES, Key(LONGHORN, "node-1"))
    await api.delete(kinds.BACKING_IMAGES, Key(LONGHORN, "there"))
    await api.delete(kinds.DISK_SCHEDULES, new)


async def _has_entries(api: Api, key: Key, entries: Object) -> bool:
    """Whether a DiskSchedule holds these images, and nothing else."""
    found = await api.get(kinds.DISK_SCHEDULES, key.name, key.namespace)
    status = (found or {}).get("status") or {}
    held = {**(status.get("replicas") or {}), **(status.get("backingImages") or {})}
    return bool(status) and held == entries


def _assert_granted_and_needed(
    rules: Rules, events: list[dict[str, Any]], *, streaming_lists: bool
) -> None:
    refused = [each for each in events if _decision(each) != "allow"]
    assert refused == []
    # Which kinds there are, everybody may ask.
    calls = [_call(event) for event in events if "objectRef" in event]
    needed = {
        grant
        for grant in rules.used
        if any(_only(rules, grant, call) for call in calls if grant.allows(call))
    }
    # What streams its lists does not list.
    idle = {grant for grant in rules.used if grant not in needed}
    assert {grant.verb for grant in idle} <= ({"list"} if streaming_lists else set())


@asynccontextmanager
async def _serving_disk_schedules(control_plane: ControlPlane) -> AsyncIterator[Api]:
    """Serve the kind of Longhorn's that clusters may do without until the end of the block."""
    async with await control_plane.client() as client:
        api = Api(client)
        await install_disk_schedules(api)
        yield api
        await remove_disk_schedules(api)


async def _live(world: World) -> None:
    """Lead, answer, explain, repair the slices, wake a pod, be replaced and end."""
    await world.add_nodes({"disk": 100, "closed": 200})
    await world.let_schedule("node-1", "closed", on=False)
    await _reject_and_wake(world)
    await world.api.delete(kinds.ENDPOINT_SLICES, Key(NAMESPACE, SLICE))
    await world.api.create(_slice(SLICE, "IPv6", "fd00::9"), kinds.ENDPOINT_SLICES)
    await world.api.create(_slice("stray", "IPv4", "10.9.9.9"), kinds.ENDPOINT_SLICES)
    await until(lambda: _is_repaired(world), within=30)
    await _explain(world)
    await world.api.create(claim("data"), kinds.CLAIMS)
    scheduling = await world.schedule((pod("one", "data"), kinds.PODS), pods=2)
    await scheduling.all_bound()

    await world.api.delete(kinds.ENDPOINT_SLICES, Key(NAMESPACE, "stray"))
    first = await world.extender.leader()
    first.process.terminate()
    await first.process.ended()
    await until(world.extender.answers_now, within=30)
    second = await world.extender.leader()
    await world.api.delete(LEASES, Key(NAMESPACE, NAME))
    await until(lambda: _has_lease(world), within=30)
    second.process.terminate()
    await second.process.ended()


async def _explain(world: World) -> None:
    """Ask as `kubectl exec` does, with the account of the service."""
    await world.api.create(pod("asked"), kinds.PODS)
    await world.api.create(_second_scheduler(), DEPLOYMENTS)
    assert b"not known" not in await _run(world, "filter", "pod/asked")
    assert b"not allowed" not in await _run(world, "doctor")
    await world.api.delete(DEPLOYMENTS, Key(NAMESPACE, SECOND))
    await world.api.delete(kinds.PODS, Key("default", "asked"), at_once=True)


def _second_scheduler() -> Object:
    """Build its Deployment, without pods: its ConfigMap is read as well."""
    labels = {"app": SECOND}
    volume = {"name": "config", "configMap": {"name": f"{SECOND}-config"}}
    container = {"name": "kube-scheduler", "image": "none"}
    return {
        "metadata": {"name": SECOND, "namespace": NAMESPACE},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [container], "volumes": [volume]},
            },
        },
    }


async def _run(world: World, *arguments: str) -> bytes:
    """Run a command as in the service's pod; return what it prints."""
    command = [sys.executable, "-m", "cli", *arguments]
    done = await asyncio.create_subprocess_exec(
        *command, "--kubeconfig", str(world.extender.kubeconfig), stdout=PIPE
    )
    shown, _ = await done.communicate()
    assert done.returncode in (0, 1)  # the doctor finds no pods with the labels of the Deployment
    return shown


async def _reject_and_wake(world: World) -> None:
    for each in claims("pair", 2, "60Gi"):
        await world.api.create(each, kinds.CLAIMS)
    await world.api.create(pod("pair", "pair-0", "pair-1"), kinds.PODS)
    await until(lambda: bool(world.calls_for("pair")), within=30)
    assert not any(call.accepted for call in world.calls_for("pair"))
    leader = await world.extender.leader()
    woken = await leader.metric(WOKEN)

    await world.let_schedule("node-1", "closed", on=True)

    async def is_woken() -> bool:
        return await leader.metric(WOKEN) > woken

    await until(is_woken, within=30)


def _slice(name: str, family: str, address: str) -> Object:
    labels = {"kubernetes.io/service-name": NAME}
    return {
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "addressType": family,
        "endpoints": [{"addresses": [address]}],
    }


async def _is_repaired(world: World) -> bool:
    """Whether the leader's address is published, and no other: a stray slice is emptied."""
    leader = await world.extender.leader()
    slices = await world.api.list(kinds.ENDPOINT_SLICES, NAMESPACE)
    published = {
        each["metadata"]["name"]: [endpoint["addresses"] for endpoint in each["endpoints"] or ()]
        for each in slices
    }
    return published == {SLICE: [[leader.address]], "stray": []}


async def _has_lease(world: World) -> bool:
    return await world.api.get(LEASES, NAME, NAMESPACE) is not None


async def _restart(control_plane: ControlPlane, *flags: str) -> None:
    control_plane.kill_api_server()
    await control_plane.start_api_server(*flags)


def _only(rules: Rules, grant: Grant, call: Call) -> bool:
    """Whether nothing else would allow a call."""
    return [each for each in rules.used if each.allows(call)] == [grant]


def _call(event: dict[str, Any]) -> Call:
    ref = event["objectRef"]
    return Call(
        verb=event["verb"],
        group=ref.get("apiGroup", ""),
        resource="/".join(ref[part] for part in ("resource", "subresource") if part in ref),
        namespace=ref.get("namespace", ""),
        name=ref.get("name", ""),
        client=event["user"]["username"],
        at=0.0,
    )


def _decision(event: dict[str, Any]) -> str:
    return str(event["annotations"]["authorization.k8s.io/decision"])
