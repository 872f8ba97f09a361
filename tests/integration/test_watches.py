"""Watches break, expire and end; what is known stays, and is brought up to date."""

import asyncio

import pytest

from tests.fakes import Answer, Fault, Refused, WatchCut, WatchGarbage
from tests.fakes.faults import Call
from tests.integration.instances import VIRTUAL_TIME, Processes

pytestmark = VIRTUAL_TIME

LONGHORN_NODES = "nodes.longhorn.io"


def follows(call: Call) -> bool:
    return call.verb in ("list", "watch") and call.resource not in ("leases", "endpointslices")


def break_watches(processes: Processes) -> None:
    processes.server.outage().end()


def cordon(processes: Processes, name: str) -> None:
    """Make a node that was fit for pod pair unfit."""
    node = processes.server.get(LONGHORN_NODES, name, "longhorn-system")
    assert node is not None
    node["spec"]["allowScheduling"] = False
    processes.server.put(node)


async def accepted(processes: Processes) -> list[str]:
    answer = await processes.ask("pair")
    assert answer is not None
    assert answer.is_verdict
    return answer.accepted


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(Refused(), id="refused"),
        pytest.param(Answer(200, b"<html>log in</html>"), id="some-proxy"),
        pytest.param(WatchCut(), id="cut"),
        pytest.param(WatchGarbage(b"}{\n"), id="garbage"),
    ],
)
@pytest.mark.parametrize("streaming_lists", [False, True], ids=["lists", "streamed"])
async def test_answers_go_on_while_no_watch_succeeds(kind, *, streaming_lists):
    async with Processes(streaming_lists=streaming_lists) as processes:
        await processes.start_all(2)
        processes.server.faults = [Fault(kind, follows, times=None)]
        break_watches(processes)

        await processes.always(processes.is_answered, seconds=30, glance=0.2)

        cordon(processes, "node-3")
        processes.server.faults = []
        await processes.until(lambda: accepted_are(processes, ["node-2", "node-4"]), within=10)


async def accepted_are(processes: Processes, expected: list[str]) -> bool:
    return await accepted(processes) == expected


@pytest.mark.parametrize("streaming_lists", [False, True], ids=["lists", "streamed"])
async def test_after_410_everything_is_listed_anew(*, streaming_lists):
    async with Processes(streaming_lists=streaming_lists) as processes:
        await processes.start_all(2)
        processes.server.faults = [Fault(Refused(), follows, times=None)]
        break_watches(processes)
        cordon(processes, "node-3")
        processes.server.delete("persistentvolumeclaims", "single-a", "default")
        processes.server.compact()
        await asyncio.sleep(1)
        assert await accepted(processes) == ["node-2", "node-3", "node-4"]

        processes.server.faults = []

        await processes.until(lambda: accepted_are(processes, ["node-2", "node-4"]), within=10)
        await processes.until(
            processes.is_answered_with("single-a is not in the cluster", pod="single"), within=10
        )


async def test_watches_that_end_in_good_order_are_not_noticed():
    async with Processes() as processes:
        await processes.start_all(1)

        await processes.always(processes.is_answered, seconds=700, glance=5)

        cordon(processes, "node-3")
        await asyncio.sleep(1)
        assert await accepted(processes) == ["node-2", "node-4"]
