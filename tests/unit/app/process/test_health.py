"""What is told of a loop that hangs, and how often the text of the metrics is made."""

import asyncio

from prometheus_client import CollectorRegistry, Counter

from app.process.health import HANGING_SECONDS, MetricsText, Pulse


def test_a_loop_that_does_not_beat_hangs_and_so_is_not_ready():
    now, why = [0.0], [None, "not listed"]
    pulse = Pulse(lambda: why[0], lambda: "nobody leads", lambda: now[0])
    assert (pulse.hanging(), pulse.unready()) == (None, "starting")

    pulse.beat()
    assert (pulse.hanging(), pulse.unready(), pulse.idle()) == (None, None, "nobody leads")

    now[0] = HANGING_SECONDS + 0.1
    assert pulse.hanging() == pulse.unready()
    assert "has done nothing else for more than 10 s" in (pulse.hanging() or "")

    why.pop(0)
    pulse.beat()
    assert (pulse.hanging(), pulse.unready()) == (None, "not listed")


async def test_the_text_of_the_metrics_takes_a_twentieth_of_the_time():
    now = [0.0]

    def clock() -> float:
        now[0] += 0.1  # so each text takes so long
        return now[0]

    registry = CollectorRegistry()
    counter = Counter("asked", "How often.", registry=registry)
    text, made = MetricsText(registry, clock), set[bytes]()
    for _ in range(1_000):
        counter.inc()
        made.add(await text.latest())

    assert len(made) * 0.1 < 0.25 + 0.06 * now[0]


async def test_another_loop_gets_the_last_text_while_this_one_is_busy():
    text = MetricsText(CollectorRegistry(), lambda: 0.0)
    latest = text.beside(asyncio.get_running_loop())

    assert await latest() == await text.latest()
