"""The service's account may do what the service does, and nothing else, as RBAC itself saw it.

The API server writes down each request of the account and what it decided. A verb taken away from
the manifests shows as a refusal; one that nobody needs shows as unused.
"""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from app.config import NAME
from tests.actors import api as kinds
from tests.actors.api import LEASES, Api, Object
from tests.actors.longhorn import NAMESPACE
from tests.e2e.conftest import MakeWorld
from tests.e2e.control_plane import ControlPlane
from tests.e2e.installation import install_disk_schedules, remove_disk_schedules
from tests.e2e.waiting import until
from tests.e2e.workloads import claim, claims, pod
from tests.e2e.world import World
from tests.fakes import Call
from tests.integration.rbac import shipped

SLICE = f"{NAME}-ipv4"
WOKEN = "longhorn_scheduler_extender_wake_ups_total"


@pytest.mark.parametrize(
    "streaming_lists",
    [pytest.param(True, marks=pytest.mark.gate, id="streamed"), pytest.param(False, id="lists")],
)
async def test_every_request_of_a_whole_life_is_granted_and_every_grant_is_needed(
    control_plane: ControlPlane, make_world: MakeWorld, *, streaming_lists: bool
) -> None:
    if not streaming_lists:  # as before Kubernetes 1.32, and in 1.33
        await _restart(control_plane, "--feature-gates=WatchList=false")
    written = _lines(control_plane.audit_log)

    try:
        async with _serving_disk_schedules(control_plane), make_world(instances=2) as world:
            await _live(world)
    finally:
        if not streaming_lists:
            await _restart(control_plane)

    events = [*_events(control_plane.audit_log, skip=written)]
    refused = [each for each in events if _decision(each) != "allow"]
    assert refused == []
    # Which kinds there are, everybody may ask.
    calls = [_call(event) for event in events if "objectRef" in event]
    needed = {
        grant
        for grant in shipped(NAMESPACE).used
        if any(_only(grant, call) for call in calls if grant.allows(call))
    }
    # What streams its lists does not list.
    idle = {grant for grant in shipped(NAMESPACE).used if grant not in needed}
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
    await world.api.delete(kinds.ENDPOINT_SLICES, kinds.Key(NAMESPACE, SLICE))
    await world.api.create(_slice(SLICE, "IPv6", "fd00::9"), kinds.ENDPOINT_SLICES)
    await world.api.create(_slice("stray", "IPv4", "10.9.9.9"), kinds.ENDPOINT_SLICES)
    await until(lambda: _is_repaired(world), within=30)
    await _explain(world)
    await world.api.create(claim("data"), kinds.CLAIMS)
    scheduling = await world.schedule((pod("one", "data"), kinds.PODS), pods=2)
    await scheduling.all_bound()

    await world.api.delete(kinds.ENDPOINT_SLICES, kinds.Key(NAMESPACE, "stray"))
    first = await world.extender.leader()
    first.process.terminate()
    await first.process.ended()
    await until(world.extender.answers_now, within=30)
    second = await world.extender.leader()
    await world.api.delete(LEASES, kinds.Key(NAMESPACE, NAME))
    await until(lambda: _has_lease(world), within=30)
    second.process.terminate()
    await second.process.ended()


async def _explain(world: World) -> None:
    """Ask about a pod as `kubectl exec` does, with the account of the service."""
    await world.api.create(pod("asked"), kinds.PODS)
    command = [sys.executable, "-m", "app", "filter", "pod/asked"]
    done = await asyncio.create_subprocess_exec(
        *command, "--kubeconfig", str(world.extender.kubeconfig), stdout=PIPE
    )
    shown, _ = await done.communicate()
    assert (done.returncode, b"not known" in shown) == (0, False)
    await world.api.delete(kinds.PODS, kinds.Key("default", "asked"), at_once=True)


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


def _only(grant: Any, call: Call) -> bool:
    """Whether nothing else would allow a call."""
    return [each for each in shipped(NAMESPACE).used if each.allows(call)] == [grant]


def _call(event: dict[str, Any]) -> Call:
    ref = event["objectRef"]
    return Call(
        verb=event["verb"],
        group=ref.get("apiGroup", ""),
        resource=ref["resource"],
        namespace=ref.get("namespace", ""),
        name=ref.get("name", ""),
        client=event["user"]["username"],
        at=0.0,
    )


def _decision(event: dict[str, Any]) -> str:
    return str(event["annotations"]["authorization.k8s.io/decision"])


def _lines(log: Path) -> int:
    return len(log.read_bytes().splitlines()) if log.exists() else 0


def _events(log: Path, *, skip: int) -> Iterator[dict[str, Any]]:
    with log.open() as lines:
        for line in islice(lines, skip, None):
            yield json.loads(line)
