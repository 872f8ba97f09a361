"""The Service leads to the leader, whatever fails and whoever edits it."""

import asyncio
from collections.abc import Callable
from typing import Any

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
from tests.unit.leader.store import Fault, InstantStore, Object, Objects, Verb

SLICES = Collection.ENDPOINT_SLICES
IPV4, IPV6 = f"{SERVICE}-ipv4", f"{SERVICE}-ipv6"
UNANSWERED = Failed(why="no answer")


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

    def fault(self, verb: Verb, **what: Any) -> None:
        self.store.faults.append(Fault(verb=verb, **what))

    def stop_leading(self) -> None:
        self.is_leading = False

    def slice(self, name: str = IPV4) -> Object:
        found = self.objects.get(SLICES, name)
        assert found is not None
        return found

    def addresses(self, name: str = IPV4) -> list[str]:
        return [entry["addresses"][0] for entry in self.slice(name)["endpoints"] or ()]

    def edit(self, change: Callable[[Object], None], name: str = IPV4) -> None:
        """Change a slice as somebody else."""
        self.objects.edit(SLICES, name, change)

    async def step(self) -> list[Verb]:
        """Take a step that must succeed; return what it wrote."""
        self.store.asked.clear()
        assert await self.publisher.step()
        return self.written

    async def failing_step(self) -> list[Verb]:
        """Take a step after which not all is well; return what it wrote."""
        self.store.asked.clear()
        assert not await self.publisher.step()
        return self.written

    @property
    def written(self) -> list[Verb]:
        return [verb for verb in self.store.verbs if verb not in (Verb.READ, Verb.SELECT)]


async def published(**fields: Any) -> Bench:
    bench = Bench(**fields)
    await bench.step()
    return bench


async def problem_of(bench: Bench) -> str:
    """Return what is logged about a step that cannot publish."""
    with capture_logs() as lines:
        assert await bench.failing_step() == []
    [line] = lines
    assert line["event"] == "endpointslice.unpublished"
    assert line["log_level"] == "warning"
    assert line["service"] == SERVICE
    return str(line["error"])


async def test_a_leader_is_published() -> None:
    bench = Bench()

    assert await bench.step() == [Verb.CREATE]
    assert bench.addresses() == [V4]


async def test_a_dual_stack_service_leads_to_both_addresses() -> None:
    bench = Bench()
    bench.objects.put(Collection.SERVICES, service("IPv4", "IPv6"))
    bench.objects.put(Collection.PODS, pod("us", V4, V6))

    assert await bench.step() == [Verb.CREATE, Verb.CREATE]
    assert bench.addresses(IPV4) == [V4]
    assert bench.addresses(IPV6) == [V6]


async def test_nothing_is_written_as_long_as_all_is_as_it_should_be() -> None:
    bench = await published()

    assert await bench.step() == []
    assert bench.slice()["metadata"]["resourceVersion"] == "3"


async def test_who_does_not_lead_asks_for_its_own_pod_once() -> None:
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
        pytest.param(lambda body: body.update(endpoints=None), id="emptied"),
        pytest.param(lambda body: body.update(endpoints=[endpoint("them")]), id="another-pod"),
        pytest.param(lambda body: body.update(ports=[]), id="without-ports"),
        pytest.param(lambda body: body["metadata"].update(labels=None), id="without-labels"),
        pytest.param(
            lambda body: body["metadata"]["labels"].update({"kubernetes.io/service-name": "x"}),
            id="given-to-another-service",
        ),
        pytest.param(lambda body: body["metadata"].update(ownerReferences=None), id="disowned"),
    ],
)
async def test_what_others_edit_is_mended_within_two_steps(
    change: Callable[[Object], None],
) -> None:
    bench = await published()
    spec = {**bench.slice(), "metadata": None}
    bench.edit(change)

    if not await bench.publisher.step():
        await bench.step()

    labels = bench.slice()["metadata"]["labels"]
    assert {**bench.slice(), "metadata": None} == spec
    assert labels["kubernetes.io/service-name"] == SERVICE
    assert await bench.step() == []


async def test_a_deleted_slice_is_made_again() -> None:
    bench = await published()
    bench.objects.remove(SLICES, IPV4)

    assert await bench.step() == [Verb.CREATE]
    assert bench.addresses() == [V4]


async def test_a_slice_of_the_wrong_family_is_made_anew() -> None:
    bench = Bench()
    bench.objects.put(SLICES, endpoint_slice(family="IPv6", name=IPV4))

    assert await bench.step() == [Verb.DELETE, Verb.CREATE]
    assert bench.slice()["addressType"] == "IPv4"


async def test_strays_are_emptied() -> None:
    bench = Bench()
    bench.objects.put(SLICES, endpoint_slice(endpoint("them"), name="stray"))

    await bench.step()

    assert bench.addresses("stray") == []


async def test_slices_of_other_services_are_left_alone_even_if_ours_lost_its_label() -> None:
    bench = await published()
    foreign = endpoint_slice(
        endpoint("them"), name="foreign", labels={"kubernetes.io/service-name": "other"}
    )
    bare = endpoint_slice(endpoint("them"), name="bare", labels={})
    for body in (foreign, bare):
        bench.objects.put(SLICES, body)
    bench.edit(lambda body: body["metadata"].update(labels=None))

    await bench.failing_step()
    await bench.step()

    assert bench.addresses() == [V4]
    assert bench.addresses("foreign") == bench.addresses("bare") == [V4]


async def test_a_successor_takes_the_service_over() -> None:
    old = await published()
    new = Bench(objects=old.objects, name="next", address="10.0.0.8")

    assert await new.step() == [Verb.REPLACE]
    assert new.addresses() == ["10.0.0.8"]


async def test_the_port_name_follows_the_service() -> None:
    bench = await published()
    bench.objects.put(Collection.SERVICES, service(ports=[port("web", number=80)]))

    await bench.step()

    assert bench.slice()["ports"] == [port("web", number=PORT)]


async def test_without_the_service_nothing_is_published() -> None:
    bench = Bench()
    bench.objects.remove(Collection.SERVICES, SERVICE)

    assert f"no {SERVICE} among the services" in await problem_of(bench)


async def test_a_service_with_a_selector_is_not_touched() -> None:
    bench = Bench()
    bench.objects.put(Collection.SERVICES, service(selector={"app": "extender"}))

    assert "has a selector" in await problem_of(bench)


@pytest.mark.parametrize("ports", [None, [], [port(protocol="UDP")]])
async def test_a_service_without_a_tcp_port_is_not_published(
    ports: list[dict[str, Any]] | None,
) -> None:
    bench = Bench()
    bench.objects.put(Collection.SERVICES, service(ports=ports))

    assert "has no TCP port" in await problem_of(bench)


async def test_a_service_of_another_family_is_not_published() -> None:
    bench = Bench()
    bench.objects.put(Collection.SERVICES, service("IPv6"))

    assert "no address family that this pod has" in await problem_of(bench)


@pytest.mark.parametrize("spec", [None, {}, {"ports": None, "ipFamilies": None}])
async def test_a_half_written_service_is_a_problem_and_no_crash(spec: object) -> None:
    bench = Bench()
    bench.objects.put(Collection.SERVICES, {"metadata": {"name": SERVICE}, "spec": spec})

    assert "has no TCP port" in await problem_of(bench)


async def test_a_pod_is_asked_for_until_it_has_an_address() -> None:
    bench = Bench()
    bench.objects.put(Collection.PODS, pod("us"))
    assert "Pod us has no IPv4 or IPv6 address yet" in await problem_of(bench)
    bench.objects.put(Collection.PODS, pod("us", V4))

    await bench.step()

    assert bench.addresses() == [V4]


async def test_a_pod_with_text_for_an_address_is_a_problem_and_no_crash() -> None:
    bench = Bench()
    bench.objects.put(Collection.PODS, pod("us", "ten.zero"))

    assert "Pod us has no IPv4 or IPv6 address" in await problem_of(bench)


async def test_without_its_pod_nothing_is_published() -> None:
    bench = Bench()
    bench.objects.remove(Collection.PODS, "us")

    assert "no us among the pods" in await problem_of(bench)


@pytest.mark.parametrize("verb", [Verb.READ, Verb.SELECT])
async def test_what_cannot_be_read_is_a_problem_until_it_can(verb: Verb) -> None:
    bench = Bench()
    bench.fault(verb, applied=False, answer=UNANSWERED)

    assert await problem_of(bench) == "no answer"
    assert await bench.step() == [Verb.CREATE]


async def test_a_problem_is_logged_once_and_again_after_it_ended() -> None:
    bench = await published()

    with capture_logs() as lines:
        for _ in range(2):
            bench.objects.remove(Collection.SERVICES, SERVICE)
            for _ in range(3):
                await bench.failing_step()
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
async def test_a_write_that_fails_is_done_at_the_next_step(
    verb: Verb, answer: Conflict | Failed, *, applied: bool
) -> None:
    bench = Bench()
    if verb is Verb.REPLACE:
        bench.objects.put(SLICES, endpoint_slice(endpoint("them")))
    if verb is Verb.DELETE:
        bench.objects.put(SLICES, endpoint_slice(family="IPv6", name=IPV4))
    bench.fault(verb, applied=applied, answer=answer)

    await bench.failing_step()
    await bench.step()

    assert bench.addresses() == [V4]
    assert await bench.step() == []


async def test_a_slice_that_vanished_before_its_write_is_made_at_the_next_step() -> None:
    bench = Bench()
    bench.objects.put(SLICES, endpoint_slice())
    bench.fault(Verb.REPLACE, applied=False, answer=Absent())
    await bench.failing_step()
    bench.objects.remove(SLICES, IPV4)

    assert await bench.step() == [Verb.CREATE]


async def test_somebody_who_edits_between_read_and_write_is_not_overwritten_unseen() -> None:
    bench = Bench()
    bench.objects.put(SLICES, endpoint_slice())
    note = {"note": "a"}
    bench.fault(
        Verb.SELECT,
        after=lambda: bench.edit(lambda body: body["metadata"].update(annotations=note)),
    )

    await bench.failing_step()
    await bench.step()

    assert bench.slice()["metadata"]["annotations"] == note
    assert bench.addresses() == [V4]


@pytest.mark.parametrize("verb", [Verb.READ, Verb.SELECT])
async def test_nothing_is_written_if_the_lead_ends_while_reading(verb: Verb) -> None:
    bench = Bench()
    bench.fault(verb, after=bench.stop_leading)

    assert await bench.failing_step() == []
    assert bench.objects.get(SLICES, IPV4) is None


async def test_a_leader_stopped_before_its_write_does_not_take_the_service_back() -> None:
    old = Bench()
    old.objects.put(SLICES, endpoint_slice())
    new = Bench(objects=old.objects, name="next", address="10.0.0.8")
    successor = [new.publisher.step()]

    def follow() -> None:
        old.stop_leading()
        with pytest.raises(StopIteration):
            successor.pop().send(None)

    old.fault(Verb.REPLACE, before=follow)

    await old.failing_step()
    await old.step()

    assert new.addresses() == ["10.0.0.8"]


async def test_who_led_withdraws_itself() -> None:
    bench = await published()
    bench.stop_leading()

    assert await bench.step() == [Verb.REPLACE]
    assert bench.addresses() == []
    await bench.step()
    assert bench.store.asked == []


async def test_who_led_withdraws_itself_from_both_families() -> None:
    bench = Bench()
    bench.objects.put(Collection.SERVICES, service("IPv4", "IPv6"))
    bench.objects.put(Collection.PODS, pod("us", V4, V6))
    await bench.step()
    bench.stop_leading()

    await bench.step()

    assert bench.addresses(IPV4) == bench.addresses(IPV6) == []


async def test_who_led_leaves_its_successor_alone() -> None:
    old = await published()
    new = await published(objects=old.objects, name="next", address="10.0.0.8")
    old.stop_leading()

    assert await old.step() == []
    assert new.addresses() == ["10.0.0.8"]


async def test_a_pod_of_the_same_name_that_follows_is_left_alone() -> None:
    bench = await published()
    bench.edit(lambda body: body["endpoints"][0]["targetRef"].update(uid="another-uid"))
    bench.stop_leading()

    assert await bench.step() == []
    assert bench.addresses() == [V4]


async def test_a_publication_without_an_answer_is_withdrawn_too() -> None:
    bench = Bench()
    bench.fault(Verb.CREATE, answer=UNANSWERED)
    await bench.failing_step()
    bench.stop_leading()

    await bench.step()

    assert bench.addresses() == []


@pytest.mark.parametrize(
    ("verb", "answer"),
    [
        pytest.param(Verb.SELECT, UNANSWERED, id="not-listed"),
        pytest.param(Verb.REPLACE, UNANSWERED, id="not-written"),
        pytest.param(Verb.REPLACE, Conflict(), id="refused"),
    ],
)
async def test_withdrawing_is_tried_until_it_is_done(verb: Verb, answer: Conflict | Failed) -> None:
    bench = await published()
    bench.stop_leading()
    for _ in range(3):
        bench.fault(verb, applied=False, answer=answer)

    for _ in range(3):
        await bench.failing_step()
    assert bench.addresses() == [V4]
    await bench.step()
    assert bench.addresses() == []


async def test_a_slice_deleted_while_withdrawing_is_withdrawn() -> None:
    bench = await published()
    bench.stop_leading()
    bench.fault(Verb.REPLACE, before=lambda: bench.objects.remove(SLICES, IPV4))

    await bench.failing_step()
    assert await bench.step() == []


async def test_who_leads_again_is_published_again() -> None:
    bench = await published()
    bench.stop_leading()
    await bench.step()
    bench.is_leading = True

    assert await bench.step() == [Verb.REPLACE]
    assert bench.addresses() == [V4]


async def test_publishing_and_withdrawing_are_logged() -> None:
    bench = Bench()

    with capture_logs() as lines:
        await bench.step()
        await bench.step()
        bench.stop_leading()
        await bench.step()
        await bench.step()

    events = [(line["event"], line["log_level"]) for line in lines]
    assert events == [("endpointslice.published", "info"), ("endpointslice.withdrawn", "info")]
    assert lines[0]["addresses"] == [V4]


@pytest.mark.looptime
async def test_the_slices_are_verified_every_so_often() -> None:
    bench = Bench()
    running = asyncio.create_task(bench.publisher.run())
    await asyncio.sleep(1.0)
    bench.edit(lambda body: body.update(endpoints=None))

    await asyncio.sleep(8.9)
    assert bench.addresses() == []
    await asyncio.sleep(0.2)
    assert bench.addresses() == [V4]

    running.cancel()


@pytest.mark.looptime
async def test_a_lapse_of_the_lead_that_nobody_was_told_of_is_mended_soon() -> None:
    bench = Bench()
    running = asyncio.create_task(bench.publisher.run())
    await asyncio.sleep(1.0)
    bench.stop_leading()
    await asyncio.sleep(10.0)
    assert bench.addresses() == []
    bench.is_leading = True

    await asyncio.sleep(1.1)
    assert bench.addresses() == [V4]

    running.cancel()


@pytest.mark.looptime
async def test_what_failed_is_tried_again_soon() -> None:
    bench = Bench()
    bench.fault(Verb.CREATE, applied=False, answer=UNANSWERED)
    running = asyncio.create_task(bench.publisher.run())

    await asyncio.sleep(1.1)
    assert bench.addresses() == [V4]

    running.cancel()


@pytest.mark.looptime
@pytest.mark.parametrize("during_a_step", [True, False])
async def test_a_change_of_the_role_is_acted_on_at_once(*, during_a_step: bool) -> None:
    bench = Bench()

    def change() -> None:
        bench.stop_leading()
        bench.publisher.wake()

    if during_a_step:
        bench.fault(Verb.CREATE, after=change)
    running = asyncio.create_task(bench.publisher.run())
    await asyncio.sleep(1.0)
    if not during_a_step:
        change()
        await asyncio.sleep(0.1)

    assert bench.addresses() == []

    running.cancel()
