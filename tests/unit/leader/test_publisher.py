"""The Service leads to the leader, whatever fails and whoever edits it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from structlog.testing import capture_logs

from leader import Absent, Collection, Conflict, Failed, Publisher, PublisherSettings
from tests.unit.leader.services import (
    PORT,
    SERVICE,
    V4,
    V6,
    endpoint,
    endpoint_slice,
    pod,
    port,
    service,
)
from tests.unit.leader.store import UNANSWERED, InstantStore, Object, Objects, Verb

SLICES = Collection.ENDPOINT_SLICES
IPV4, IPV6 = f"{SERVICE}-ipv4", f"{SERVICE}-ipv6"


class Bench:
    """The publisher of the pod "us", which leads, and the objects it needs."""

    def __init__(self, *, objects: Objects | None = None, name: str = "us", address: str = V4):
        self.objects = objects or Objects()
        self.store = InstantStore(self.objects)
        self.is_leading = True
        self.objects.put(Collection.SERVICES, service())
        self.objects.put(Collection.PODS, pod(name, address))
        self.publisher = Publisher(
            self.store,
            PublisherSettings(service=SERVICE, pod=name, port=PORT),
            is_leading=lambda: self.is_leading,
        )

    def stop_leading(self) -> None:
        self.is_leading = False

    def lead_again(self) -> None:
        self.is_leading = True

    def slice(self, name: str = IPV4) -> Object:
        found = self.objects.get(SLICES, name)
        assert found is not None
        return found

    def addresses(self, name: str = IPV4) -> list[str]:
        return [entry["addresses"][0] for entry in self.slice(name)["endpoints"] or ()]

    def edit(self, change: Callable[[Object], None]) -> None:
        """Change our slice as somebody else."""
        self.objects.edit(SLICES, IPV4, change)

    async def step(self, *, succeeds: bool = True) -> list[Verb]:
        """Take a step, check whether all is well after it, and return what it wrote."""
        self.store.asked.clear()
        assert await self.publisher.step() is succeeds
        return [verb for verb in self.store.verbs if verb not in (Verb.READ, Verb.SELECT)]


async def published(*, objects: Objects | None = None, name: str = "us") -> Bench:
    bench = Bench(objects=objects, name=name, address=V4 if name == "us" else "10.0.0.8")
    await bench.step()
    return bench


async def problem_of(bench: Bench) -> str:
    """Return what is logged about a step that cannot publish."""
    with capture_logs() as lines:
        assert await bench.step(succeeds=False) == []
    [line] = lines
    error = str(line.pop("error"))
    assert line == {
        "event": "endpointslice.unpublished",
        "log_level": "warning",
        "service": SERVICE,
    }
    return error


async def test_a_leader_is_published_and_withdraws_itself_once_when_it_stops_leading():
    bench = Bench()
    bench.objects.put(Collection.SERVICES, service("IPv4", "IPv6"))
    bench.objects.put(Collection.PODS, pod("us", V4, V6))
    assert not bench.publisher.knows_address

    with capture_logs() as lines:
        assert await bench.step() == [Verb.CREATE, Verb.CREATE]
        assert (bench.addresses(IPV4), bench.addresses(IPV6)) == ([V4], [V6])
        assert bench.publisher.knows_address
        assert {request.deadline_seconds for request in bench.store.asked} == {2.0}
        assert bench.store.asked[-3].labels == {"kubernetes.io/service-name": SERVICE}
        assert await bench.step() == []

        bench.stop_leading()
        assert await bench.step() == [Verb.REPLACE, Verb.REPLACE]
        assert bench.addresses(IPV4) == bench.addresses(IPV6) == []
        await bench.step()
        assert bench.store.asked == []

    events = [(line["event"], line["log_level"]) for line in lines]
    assert events == [("endpointslice.published", "info"), ("endpointslice.withdrawn", "info")]
    assert lines[0]["addresses"] == [V4, V6]
    bench.lead_again()
    assert await bench.step() == [Verb.REPLACE, Verb.REPLACE]
    assert (bench.addresses(IPV4), bench.addresses(IPV6)) == ([V4], [V6])


async def test_who_does_not_lead_asks_for_its_own_pod_once():
    bench = Bench()
    bench.stop_leading()

    await bench.step()
    first = [request.collection for request in bench.store.asked]
    await bench.step()

    assert first == [Collection.PODS]
    assert bench.store.asked == []


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda body: body.update(endpoints=[endpoint("them")]), id="another-pod"),
        pytest.param(lambda body: body["metadata"].update(labels=None), id="without-labels"),
        pytest.param(
            lambda body: body["metadata"]["labels"].update({"kubernetes.io/service-name": "x"}),
            id="given-to-another-service",
        ),
    ],
)
async def test_what_others_edit_is_mended_within_two_steps_and_no_slice_of_theirs(change):
    bench = await published()
    before = bench.slice()
    for name, labels in (("foreign", {"kubernetes.io/service-name": "other"}), ("bare", {})):
        bench.objects.put(SLICES, endpoint_slice(endpoint("them"), name=name, labels=labels))
    bench.edit(change)

    if not await bench.publisher.step():
        await bench.step()

    after = bench.slice()
    after["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"]
    assert after == before
    assert bench.addresses("foreign") == bench.addresses("bare") == [V4]
    assert await bench.step() == []


@pytest.mark.parametrize(
    ("name", "body", "error"),
    [
        (SERVICE, service(selector={"app": "x"}), "Service extender has a selector, so requests"),
        (SERVICE, service(ports=None), "Service extender has no TCP port; add one"),
        (SERVICE, service(ports=[port(protocol="UDP")]), "Service extender has no TCP port"),
        (SERVICE, {"metadata": {"name": SERVICE}, "spec": None}, "has no TCP port"),
        (SERVICE, service("IPv6"), "Service extender has no address family that this pod has"),
        (SERVICE, None, "there is no extender among the services of this namespace; create it"),
        ("us", pod("us"), "Pod us has no IPv4 or IPv6 address yet"),
        ("us", None, "no us among the pods of this namespace; EXTENDER_POD_NAME must name"),
    ],
    ids=["selector", "no-port", "udp", "no-spec", "ipv6", "no-service", "no-address", "no-pod"],
)
async def test_what_keeps_the_leader_from_being_published_is_said_until_it_is_put_right(
    name, body, error
):
    bench, collection = Bench(), Collection.PODS if name == "us" else Collection.SERVICES
    right = bench.objects.get(collection, name)
    assert right is not None
    if body is None:
        bench.objects.remove(collection, name)
    else:
        bench.objects.put(collection, body)

    assert error in await problem_of(bench)
    bench.objects.put(collection, right)
    assert await bench.step() == [Verb.CREATE]
    assert bench.addresses() == [V4]


@pytest.mark.parametrize("verb", [Verb.READ, Verb.SELECT])
async def test_what_cannot_be_read_is_a_problem_until_it_can(verb):
    bench = Bench()
    bench.store.lose(verb)

    assert await problem_of(bench) == "no answer"
    assert await bench.step() == [Verb.CREATE]


async def test_a_problem_is_logged_once_and_again_after_it_ended():
    bench = await published()

    with capture_logs() as lines:
        for _ in range(2):
            bench.objects.remove(Collection.SERVICES, SERVICE)
            for _ in range(3):
                await bench.step(succeeds=False)
            bench.objects.put(Collection.SERVICES, service())
            await bench.step()

    assert [line["event"] for line in lines] == ["endpointslice.unpublished"] * 2


@pytest.mark.parametrize(
    ("answer", "applied"),
    [
        pytest.param(Conflict(), False, id="conflict"),
        pytest.param(UNANSWERED, False, id="lost"),
        pytest.param(UNANSWERED, True, id="unanswered"),
    ],
)
@pytest.mark.parametrize("verb", [Verb.CREATE, Verb.REPLACE, Verb.DELETE])
async def test_a_write_that_fails_is_done_at_the_next_step(verb, answer, *, applied):
    bench = Bench()
    if verb is Verb.REPLACE:
        bench.objects.put(SLICES, endpoint_slice(endpoint("them")))
    if verb is Verb.DELETE:
        bench.objects.put(SLICES, endpoint_slice(family="IPv6", name=IPV4))
    bench.store.fault(verb, applied=applied, answer=answer)

    with capture_logs() as lines:
        await bench.step(succeeds=False)
    await bench.step()

    assert [line["error"] for line in lines] == ["no answer"] * isinstance(answer, Failed)
    assert bench.addresses() == [V4]
    assert await bench.step() == []


@pytest.mark.parametrize("verb", [Verb.READ, Verb.SELECT])
async def test_nothing_is_published_if_the_lead_ends_while_reading(verb):
    bench = Bench()
    bench.store.fault(verb, after=bench.stop_leading)

    assert await bench.step(succeeds=False) == []


async def test_nothing_is_withdrawn_if_the_lead_returns_while_reading():
    bench = await published()
    bench.stop_leading()
    bench.store.fault(Verb.SELECT, after=bench.lead_again)

    assert await bench.step(succeeds=False) == []
    assert bench.addresses() == [V4]


async def test_a_leader_stopped_before_its_write_does_not_take_the_service_back():
    old = Bench()
    old.objects.put(SLICES, endpoint_slice())
    new = Bench(objects=old.objects, name="next", address="10.0.0.8")
    successor = [new.publisher.step()]

    def follow() -> None:
        old.stop_leading()
        with pytest.raises(StopIteration):
            successor.pop().send(None)

    old.store.fault(Verb.REPLACE, before=follow)

    await old.step(succeeds=False)
    await old.step()

    assert new.addresses() == ["10.0.0.8"]


async def test_who_led_leaves_its_successor_alone():
    old = await published()
    new = await published(objects=old.objects, name="next")
    old.stop_leading()

    assert await old.step() == []
    assert new.addresses() == ["10.0.0.8"]


async def test_a_publication_without_an_answer_is_withdrawn_too():
    bench = Bench()
    bench.store.lose(Verb.CREATE, applied=True)
    await bench.step(succeeds=False)
    bench.stop_leading()

    await bench.step()

    assert bench.addresses() == []


@pytest.mark.parametrize(
    ("verb", "answer"),
    [
        pytest.param(Verb.SELECT, UNANSWERED, id="not-listed"),
        pytest.param(Verb.REPLACE, UNANSWERED, id="not-written"),
        pytest.param(Verb.REPLACE, Conflict(), id="refused"),
        pytest.param(Verb.REPLACE, Absent(), id="deleted-meanwhile"),
    ],
)
async def test_withdrawing_is_tried_until_it_is_done(verb, answer):
    bench = await published()
    bench.stop_leading()
    for _ in range(3):
        bench.store.fault(verb, applied=False, answer=answer)

    for _ in range(3):
        await bench.step(succeeds=False)
    assert bench.addresses() == [V4]
    await bench.step()
    assert bench.addresses() == []


@asynccontextmanager
async def running(bench: Bench) -> AsyncIterator[None]:
    task = asyncio.create_task(bench.publisher.run())
    yield
    task.cancel()


@pytest.mark.looptime
async def test_the_slices_are_verified_every_so_often():
    bench = Bench()
    async with running(bench):
        await asyncio.sleep(1.0)
        bench.edit(lambda body: body.update(endpoints=None))

        await asyncio.sleep(8.9)
        assert bench.addresses() == []
        await asyncio.sleep(0.2)
        assert bench.addresses() == [V4]


@pytest.mark.looptime
async def test_a_lapse_of_the_lead_that_nobody_was_told_of_is_mended_soon():
    bench = Bench()
    async with running(bench):
        await asyncio.sleep(1.0)
        bench.stop_leading()
        await asyncio.sleep(10.0)
        assert bench.addresses() == []
        bench.lead_again()

        await asyncio.sleep(1.1)
        assert bench.addresses() == [V4]


@pytest.mark.looptime
async def test_what_failed_is_tried_again_soon():
    bench = Bench()
    bench.store.lose(Verb.CREATE)
    async with running(bench):
        await asyncio.sleep(0.9)
        assert bench.objects.get(SLICES, IPV4) is None
        await asyncio.sleep(0.2)
        assert bench.addresses() == [V4]


@pytest.mark.looptime
@pytest.mark.parametrize("during_a_step", [True, False])
async def test_a_change_of_the_role_is_acted_on_at_once(*, during_a_step):
    bench = Bench()

    def change() -> None:
        bench.stop_leading()
        bench.publisher.wake()

    if during_a_step:
        bench.store.fault(Verb.CREATE, after=change)
    async with running(bench):
        await asyncio.sleep(1.0)
        if not during_a_step:
            change()
            await asyncio.sleep(0.1)

        assert bench.addresses() == []
