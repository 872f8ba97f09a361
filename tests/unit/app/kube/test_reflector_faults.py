"""A reflector gets over whatever goes wrong between it and the API server."""

import asyncio
import random
from itertools import pairwise

import pytest

from longhorn import Volume
from tests.builders import document
from tests.fakes import (
    Answer,
    CutAnswer,
    FakeApiServer,
    Fault,
    FaultKind,
    Hang,
    LostAnswer,
    Refused,
    WatchCut,
    WatchEndsAtOnce,
    WatchGarbage,
    WatchHang,
)
from tests.unit.app.kube.following import (
    LONGEST_PAUSE_SECONDS,
    NAMESPACE,
    PLURAL,
    delete,
    event,
    failure,
    following,
    interrupted,
    is_list,
    is_plain_watch,
    put,
    recovered,
)

pytestmark = pytest.mark.looptime

HTML = b"<html>\n<body>\nlog in first\n</body>\n</html>\n"
STREAMED = pytest.mark.parametrize("server", [True], indirect=True, ids=["streamed"])


GONE = event("ERROR", failure(410, "Expired", "too old resource version: 1 (2)"))


@pytest.mark.parametrize(
    "kind",
    [
        Answer(410),
        Answer(500, b"boom"),
        Answer(403),
        Answer(200, HTML, {"Content-Type": "text/html"}),
        Answer(200, HTML, {"Content-Type": "application/json"}),
        Answer(302),
        Refused(),
        LostAnswer(),
        WatchCut(),
        WatchEndsAtOnce(),
        WatchGarbage(b"garbage\n"),
        WatchGarbage(GONE),
        WatchGarbage(event("ERROR", failure(500, "", "etcd"))),
    ],
)
async def test_what_fails_all_the_time_is_tried_ever_more_slowly(server, kind):
    """From within half a second to every 4 to 8 s; and it recovers as soon as it can."""
    fault = Fault(kind, lambda _: True, times=None)
    server.faults.append(fault)
    async with following(server) as follower:
        await asyncio.sleep(60)
        times = [call.at for call in follower.calls]
        # Between a list and the watch after it there is no pause.
        gaps = [after - before for before, after in pairwise(times) if after > before]
        is_hopeless = not isinstance(kind, WatchCut | WatchEndsAtOnce | WatchGarbage)

        assert len(times) < 50
        assert 0 < gaps[0] <= 0.51
        assert max(gaps) <= LONGEST_PAUSE_SECONDS + 0.01
        assert min(gaps[-3:]) >= LONGEST_PAUSE_SECONDS / 2 - 0.01
        if is_hopeless:
            assert not follower.reflector.is_complete
            assert follower.reflector.trouble != ""

        fault.times = 0
        await recovered(follower)


@pytest.mark.parametrize(
    "kind", [Refused(), Answer(503), Answer(410)], ids=["refused", "503", "410"]
)
async def test_pauses_are_short_again_after_health(server, kind):
    fault = Fault(kind, lambda _: True, times=None)
    server.faults.append(fault)
    async with following(server) as follower:
        await asyncio.sleep(60)
        fault.times = 0
        await asyncio.sleep(100)  # a bookmark has come
        count = len(follower.calls)
        with server.outage():
            await asyncio.sleep(0.6)

        broke_at = asyncio.get_running_loop().time() - 0.6
        first = follower.calls[count].at - broke_at
        assert first <= 0.51


@pytest.mark.parametrize(("given", "seconds"), [("20", 20), ("99999", 60)])
async def test_server_is_left_alone_as_long_as_it_asks_up_to_a_minute(server, given, seconds):
    server.faults.append(Fault(Answer(429, b"slow down", {"Retry-After": given}), is_list))
    async with following(server) as follower:
        await asyncio.sleep(100)

        first, second = (call.at for call in follower.calls[:2])
        assert seconds <= second - first <= seconds + 1
        assert follower.is_right
        assert follower.causes[0] == "status"


async def test_watch_that_ends_at_once_is_no_busy_loop_and_no_news(server):
    async with following(server) as follower:
        await asyncio.sleep(1)
        server.faults.append(Fault(WatchEndsAtOnce(), times=None))
        with server.outage():
            put(server, "d")
            await asyncio.sleep(0.1)
        count = len(follower.calls)
        await asyncio.sleep(180)

        assert len(follower.calls) - count < 3 * 15 + 10
        assert set(follower.causes[1:]) == {"ended_early"}
        assert follower.age_seconds > 120
        assert follower.reflector.trouble != ""


async def test_silence_alone_is_no_trouble_and_waits_for_nothing(server):
    """The API server sends no bookmarks for kinds that it has seen no event of."""
    server.faults.append(Fault(WatchHang(), is_plain_watch, times=None))
    async with following(server) as follower:
        await asyncio.sleep(1)
        await interrupted(server)
        await asyncio.sleep(2)
        count = len(follower.calls)
        for _ in range(60):
            await asyncio.sleep(10)
            assert follower.age_seconds <= 100  # a view counts as too old after 120 s

        times = [call.at for call in follower.calls[count - 1 :]]
        assert [later - earlier for earlier, later in pairwise(times)] == [pytest.approx(90)] * 6
        assert set(follower.causes[1:]) == {"idle"}


async def test_lasting_silence_is_cleared_up_by_listing_anew(server):
    """As after a restore of etcd: the version watched from lies ahead, and nothing ever comes."""
    server.faults.append(Fault(WatchHang(), is_plain_watch, times=None))
    async with following(server) as follower:
        await asyncio.sleep(1)
        await interrupted(server)
        await asyncio.sleep(2)
        put(server, "untold")
        await asyncio.sleep(600 + 90 + 10)

        assert follower.is_right


async def test_half_a_line_before_the_connection_breaks_is_forgotten(server):
    half = event("ADDED", document("Volume", "phantom", spec={"size": "1"}))[:40]
    async with following(server) as follower:
        await asyncio.sleep(1)
        await interrupted(server, Fault(WatchGarbage(half)))
        await asyncio.sleep(2)
        with server.outage():
            put(server, "d")
            await asyncio.sleep(0.1)
        await recovered(follower)

        assert "phantom" not in follower.known
        assert set(follower.causes) == {"connection"}


@pytest.mark.parametrize(
    ("line", "cause", "lists_anew"),
    [
        (event("ERROR", failure(500, "InternalError", "etcd")), "status", False),
        (event("ERROR", failure(410, "Gone")), "expired", True),
        (event("ERROR", failure(None, "", "?")), "malformed", True),
        (event("ERROR", None), "malformed", True),
        (event("PAUSED", {"metadata": {}}), "malformed", True),
        (event("BOOKMARK", {"metadata": {}}), "malformed", True),
        (b"{}\n", "malformed", True),
        (b"}{\n", "malformed", True),
        (b"[" * 100_000 + b"\n", "malformed", True),
        (b'{"type":"ADDED","object":"\xff"}\n', "malformed", True),
    ],
)
async def test_error_in_a_watch_is_got_over(
    server,
    line,
    cause,
    lists_anew,
):
    async with following(server) as follower:
        await asyncio.sleep(1)
        server.faults.append(Fault(WatchGarbage(line)))
        with server.outage():
            put(server, "d")
            await asyncio.sleep(0.01)
        count = len(follower.calls)
        await recovered(follower)

        assert follower.causes == ["connection", cause]
        assert any(map(is_list, follower.calls[count:])) is lists_anew


async def test_events_before_a_broken_one_count(server):
    line = event("ADDED", document("Volume", "before", spec={"size": "1"}))
    async with following(server) as follower:
        await asyncio.sleep(1)
        await interrupted(server, Fault(WatchGarbage(line + b"garbage\n")))
        await asyncio.sleep(LONGEST_PAUSE_SECONDS)

        new = [change.new for batch in follower.batches for change in batch]
        named = [each.name for each in new if isinstance(each, Volume)]
        assert "before" in named
        assert follower.is_right  # the list has shown that it does not exist


@pytest.mark.parametrize("seconds", [30, 100, 600])
async def test_silent_outage_is_got_over(server, seconds):
    """Every request has a deadline; the longest is 90 s of a watch's silence."""
    async with following(server) as follower:
        await asyncio.sleep(1)
        with server.outage(silent=True):
            put(server, "d")
            delete(server, "a")
            await asyncio.sleep(seconds)
            assert set(follower.known) == {"a", "b", "c"}
            assert follower.age_seconds >= seconds - 2  # a watch counts after so long
        await recovered(follower, within_seconds=40)


@STREAMED
async def test_streamed_list_that_breaks_off_is_not_heard_of(server):
    """What it has shown says nothing of what it has not, nor of what is gone."""
    async with following(server) as follower:
        await asyncio.sleep(1)
        server.faults.append(Fault(WatchCut(after_events=2), is_list, times=None))
        with server.outage():
            delete(server, "a")
            server.compact()
            await asyncio.sleep(1)
        await asyncio.sleep(180)

        assert follower.age_seconds > 120
        assert follower.reflector.trouble != ""
        assert "a" in follower.known
        server.faults.clear()
        await recovered(follower)


async def test_accepted_watch_of_a_version_that_is_gone_is_not_heard_of(server):
    """It answers 200 before it says so; what is known is as old as before."""
    async with following(server) as follower:
        await asyncio.sleep(1)
        server.faults.append(Fault(Answer(503), is_list, times=None))
        with server.outage():
            delete(server, "a")
            server.compact()
            await asyncio.sleep(300)
        await asyncio.sleep(20)

        assert "a" in follower.known
        assert follower.age_seconds > 300


async def test_line_without_end_is_given_up():
    server = FakeApiServer(random.Random(1))
    put(server, "a")
    async with following(server) as follower:
        await asyncio.sleep(1)
        await interrupted(server, Fault(WatchGarbage(b"x" * (2**25 + 1))))
        await recovered(follower)

        assert follower.causes == ["connection", "malformed"]


async def test_reflectors_are_right_after_any_faults():
    """Faults of all kinds at random, and changes meanwhile; then quiet."""
    kinds: list[FaultKind] = [
        Refused(), Hang(), LostAnswer(), LostAnswer(hang=True), CutAnswer(), Answer(410),
        Answer(500), Answer(503), Answer(429, b"", {"Retry-After": "3"}), Answer(200, HTML),
        WatchCut(), WatchCut(3), WatchHang(), WatchHang(2), WatchEndsAtOnce(), WatchGarbage(GONE),
        WatchGarbage(b"?\n", 1), WatchGarbage(event("ERROR", failure(500)), 2),
    ]  # fmt: skip
    for seed in range(12):
        rng = random.Random(seed)
        server = FakeApiServer(rng, streaming_lists=seed % 2 == 0, chop=0.3)
        async with following(server) as follower:
            server.interfere = lambda _, rng=rng: rng.choice(kinds) if rng.random() < 0.6 else None
            for _ in range(60):
                name = f"vol-{rng.randrange(8)}"
                if server.get(PLURAL, name, NAMESPACE) and rng.random() < 0.4:
                    delete(server, name)
                else:
                    put(server, name, size=rng.choice(["1", "2", "x"]))
                if rng.random() < 0.1:
                    server.compact()
                await asyncio.sleep(rng.random() * 20)
            server.interfere = None
            await asyncio.sleep(200)

            assert follower.is_right, seed
            assert follower.reflector.trouble == "", seed
