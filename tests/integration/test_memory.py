"""The real process takes a bounded amount of memory, whatever strangers send.

`benchmarks/bench_memory.py` sends more of it, and more kinds.
"""

import asyncio
from collections import Counter
from collections.abc import Callable

from tests.integration.attacks import (
    CLIENT,
    MIB,
    SWELLING,
    Sending,
    Target,
    by_client,
    invented,
    other_names,
    target,
    whole_nodes,
)

NODES = 100
BODY_BYTES = 127 * MIB
MOST_RESIDENT_BYTES = 300 * MIB
"""Of the whole process, with a body of 128 MiB. Before it has about 110 MiB."""
MARGIN_BYTES = 40 * MIB


async def seen(at: Target, send: Callable[[], Counter[str]]) -> Counter[str]:
    """Send something from a thread, as the API server is in this one."""
    at.process.reset_peak()
    return await asyncio.to_thread(send)


async def test_requests_that_are_invented_or_large_leave_nothing_behind(tmp_path):
    async with target(tmp_path, NODES) as at:
        before_bytes = at.process.resident_bytes
        bodies = invented(at, 20, other_names)
        large = whole_nodes(at, 300_000)
        sendings: list[Sending] = [
            by_client(f"127.0.1.{number}", [large] * 5) for number in range(1, 11)
        ]

        assert await seen(at, lambda: at.send(by_client(CLIENT, bodies))) == {"200": 20}
        assert await seen(at, lambda: at.send_at_once(sendings)) == {"200": 50}

        assert at.process.peak_bytes < before_bytes + MARGIN_BYTES
        remembered = await asyncio.to_thread(at.metric, 'remembered_bytes{what="waiting_pods"}')
        assert remembered < 21 * 5_000


async def test_a_body_of_128_mib_is_answered_or_refused_within_300_mib(tmp_path):
    async with target(tmp_path, NODES) as at:
        whole, names = [whole_nodes(at, BODY_BYTES)], [SWELLING["names"].of(BODY_BYTES)]

        assert await seen(at, lambda: at.send(by_client(CLIENT, whole))) == {"200": 1}
        assert at.process.peak_bytes < MOST_RESIDENT_BYTES

        assert await seen(at, lambda: at.send(by_client(CLIENT, names))) == {"400": 1}
        assert at.process.peak_bytes < MOST_RESIDENT_BYTES

        assert await asyncio.to_thread(at.metric, "requests_in_flight") == 0
        assert at.process.resident_bytes < MOST_RESIDENT_BYTES - BODY_BYTES
