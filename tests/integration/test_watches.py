"""Watches break, expire and end; what is known stays, and is brought up to date."""

import asyncio

import pytest

from tests.fakes import Answer, Fault, FaultKind, Refused, WatchCut, WatchEndsAtOnce, WatchGarbage
from tests.fakes.faults import Call
from tests.integration.instances import VIRTUAL_TIME, Replicas

pytestmark = VIRTUAL_TIME

LONGHORN_NODES = "nodes.longhorn.io"


def follows(call: Call) -> bool:
    return call.verb in ("list", "watch") and call.resource not in ("leases", "endpointslices")


def break_watches(replicas: Replicas) -> None:
    replicas.server.outage().end()


def cordon(replicas: Replicas, name: str) -> None:
    """Make a node that was fit for pod pair unfit."""
    node = replicas.server.get(LONGHORN_NODES, name, "longhorn-system")
    assert node is not None
    node["spec"]["allowScheduling"] = False
    replicas.server.put(node)


async def accepted(replicas: Replicas) -> list[str]:
    answer = await replicas.ask("pair")
    assert answer is not None
    assert answer.is_verdict
    return answer.accepted


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(Refused(), id="refused"),
        pytest.param(Answer(500, b"etcdserver: leader changed"), id="server-error"),
        pytest.param(Answer(429, b"slow down", {"Retry-After": "1"}), id="too-many-requests"),
        pytest.param(Answer(200, b"<html>log in</html>"), id="some-proxy"),
        pytest.param(WatchEndsAtOnce(), id="ends-at-once"),
        pytest.param(WatchCut(), id="cut"),
        pytest.param(WatchGarbage(b"}{\n"), id="garbage"),
    ],
)
@pytest.mark.parametrize("streaming_lists", [False, True], ids=["lists", "streamed"])
async def test_answers_go_on_while_no_watch_succeeds(
    kind: FaultKind, *, streaming_lists: bool
) -> None:
    async with Replicas(streaming_lists=streaming_lists) as replicas:
        await replicas.start_all(2)
        replicas.server.faults = [Fault(kind, follows, times=None)]
        break_watches(replicas)

        await replicas.always(replicas.is_answered, seconds=30, glance=0.2)

        cordon(replicas, "node-3")
        replicas.server.faults = []
        await replicas.until(lambda: accepted_are(replicas, ["node-2", "node-4"]), within=10)


async def accepted_are(replicas: Replicas, expected: list[str]) -> bool:
    return await accepted(replicas) == expected


@pytest.mark.parametrize("streaming_lists", [False, True], ids=["lists", "streamed"])
async def test_after_410_everything_is_listed_anew(*, streaming_lists: bool) -> None:
    async with Replicas(streaming_lists=streaming_lists) as replicas:
        await replicas.start_all(2)
        replicas.server.faults = [Fault(Refused(), follows, times=None)]
        break_watches(replicas)
        cordon(replicas, "node-3")
        replicas.server.delete("persistentvolumeclaims", "single-a", "default")
        replicas.server.compact()
        await asyncio.sleep(1)
        assert await accepted(replicas) == ["node-2", "node-3", "node-4"]

        replicas.server.faults = []

        await replicas.until(lambda: accepted_are(replicas, ["node-2", "node-4"]), within=10)
        await replicas.until(
            replicas.is_answered_with("single-a is not in the cluster", pod="single"), within=10
        )


async def test_watches_that_end_in_good_order_are_not_noticed() -> None:
    async with Replicas() as replicas:
        await replicas.start_all(1)

        await replicas.always(replicas.is_answered, seconds=700, glance=5)

        cordon(replicas, "node-3")
        await asyncio.sleep(1)
        assert await accepted(replicas) == ["node-2", "node-4"]


async def test_news_reach_leader_and_standby() -> None:
    async with Replicas() as replicas:
        await replicas.start_all(2)

        cordon(replicas, "node-3")
        await asyncio.sleep(0.1)
        replicas.leader.kill()
        await replicas.until(replicas.is_answered, within=9)

        assert await accepted(replicas) == ["node-2", "node-4"]
