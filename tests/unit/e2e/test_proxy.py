"""The proxy passes everything on as it came, holds connections, and records calls of filter."""

from pathlib import Path

import msgspec
import pytest

from tests.actors.api import Object
from tests.e2e.calls import Call
from tests.e2e.proxy import ready_endpoints
from tests.unit.e2e.bench import Bench, reset, soon
from tests.unit.e2e.exchange import (
    ACCEPTING,
    ANSWERED,
    ASKED,
    ONE,
    TWO,
    args,
    failed,
    http_answer,
    http_request,
    untimed,
)

PORT: Object = {"name": "http", "port": 41001, "protocol": "TCP"}
SERVICE: Object = {"metadata": {"name": "ours"}, "spec": {"ports": [{"name": "http", "port": 80}]}}

WIRE = Path(__file__).parents[2] / "data" / "wire"


async def test_a_call_is_passed_on_and_recorded(bench: Bench) -> None:
    service = await bench.service(ONE)
    client = await bench.connect()

    answer = await client.ask(ASKED)

    assert (answer, bytes(service.received)) == (service.answer, ASKED)
    assert untimed(await bench.call()) == ANSWERED


@pytest.mark.parametrize("name", sorted(path.name for path in WIRE.iterdir()))
async def test_what_kube_scheduler_sent_passes_byte_for_byte(bench: Bench, name: str) -> None:
    body = (WIRE / name).read_bytes()
    nodes = [{"metadata": {"name": "node-1"}}]
    service = await bench.service(ONE, http_answer({"Nodes": {"items": nodes}, "NodeNames": None}))
    client = await bench.connect()

    answer = await client.ask(request := http_request(body, "/filter?timeout=5s"))

    assert (answer, bytes(service.received)) == (service.answer, request)
    sent = msgspec.json.decode(body)
    items = [each["metadata"]["name"] for each in (sent["Nodes"] or {}).get("items", ())]
    call = await bench.call()
    assert call.pod == f"{sent['Pod']['metadata']['namespace']}/{sent['Pod']['metadata']['name']}"
    assert call.uid == sent["Pod"]["metadata"]["uid"]
    assert call.candidates == len(sent["NodeNames"] or items) > 0
    assert call.nominated == ("nominated" in name)
    assert (call.accepted, call.rejected) == (["node-1"], {})


async def test_an_established_connection_stays_and_a_new_one_goes_elsewhere(bench: Bench) -> None:
    first = await bench.service(ONE)
    old = await bench.connect()
    await old.ask(ASKED)

    second = await bench.service(TWO)
    await old.ask(ASKED)
    new = await bench.connect()
    await new.ask(ASKED)
    bench.addresses = []
    await old.ask(ASKED)

    assert (bytes(first.received), bytes(second.received)) == (ASKED * 3, ASKED)
    assert [(await bench.call()).backend for _ in range(4)] == [ONE, ONE, TWO, ONE]


async def test_new_connections_go_to_all_that_are_ready(bench: Bench) -> None:
    first = await bench.service(ONE)
    second = await bench.service(TWO)
    bench.addresses = [ONE, TWO]

    for _ in range(20):
        await (await bench.connect()).ask(ASKED)

    assert first.received
    assert second.received


@pytest.mark.parametrize("address", ["", ONE])
async def test_who_is_taken_by_nobody_is_reset(bench: Bench, address: str) -> None:
    if address:
        bench.publish_nobody(address)
    client = await bench.connect()

    with pytest.raises(ConnectionResetError):
        await client.ask(ASKED)

    assert untimed(await bench.call()) == failed("refused", backend=address)


@pytest.mark.parametrize("sent", [b"", b"garbage", ASKED[:-1]])
async def test_who_is_taken_by_nobody_is_reset_whatever_it_sends(bench: Bench, sent: bytes) -> None:
    client = await bench.connect()
    client.writer.write(sent)

    with pytest.raises(ConnectionResetError):
        await client.rest()

    assert bench.is_silent == (sent != ASKED[:-1])


async def test_a_backend_that_hangs_costs_the_client_its_patience(bench: Bench) -> None:
    service = await bench.service(ONE, hangs=True)
    client = await bench.connect()
    client.writer.write(ASKED)
    await soon(service.heard)
    assert bench.is_silent

    client.writer.close()

    assert untimed(await bench.call()) == failed("client gave up")
    await soon(service.left)
    assert bench.is_silent


async def test_a_client_that_resets_has_given_up(bench: Bench) -> None:
    service = await bench.service(ONE, hangs=True)
    client = await bench.connect()
    client.writer.write(ASKED)
    await soon(service.heard)

    reset(client.writer)

    assert untimed(await bench.call()) == failed("client gave up")
    await soon(service.left)


async def test_a_client_may_give_up_within_its_request(bench: Bench) -> None:
    service = await bench.service(ONE)
    client = await bench.connect()
    client.writer.write(ASKED[:-1])

    client.writer.close()

    call = untimed(await bench.call())
    assert call == Call(at=0.0, seconds=0.0, backend=ONE, error="client gave up")
    await soon(service.left)


async def test_a_backend_that_breaks_off_resets_the_client(bench: Bench) -> None:
    service = await bench.service(ONE, hangs=True)
    client = await bench.connect()
    client.writer.write(ASKED)
    await soon(service.heard)

    service.reset_all()

    with pytest.raises(ConnectionResetError):
        await client.answer()
    assert untimed(await bench.call()) == failed("reset")


async def test_a_backend_that_ends_in_order_ends_the_clients_connection_so(bench: Bench) -> None:
    service = await bench.service(ONE, hangs=True)
    client = await bench.connect()
    client.writer.write(ASKED)
    await soon(service.heard)

    service.finish_all()

    assert await client.rest() == b""
    assert untimed(await bench.call()) == failed("reset")


async def test_a_client_may_go_on_listening_after_its_last_word(bench: Bench) -> None:
    service = await bench.service(ONE, http_answer(ACCEPTING, "200 OK", "Connection: close"))
    client = await bench.connect()
    client.writer.write(ASKED)

    client.writer.write_eof()

    assert await client.rest() == service.answer


async def test_bodies_come_in_pieces(bench: Bench) -> None:
    service = await bench.service(ONE, hangs=True)
    client = await bench.connect()

    for index in range(len(ASKED)):
        client.writer.write(ASKED[index : index + 1])
        await client.writer.drain()
    await soon(service.heard)

    assert service.received == ASKED
    client.writer.close()
    assert untimed(await bench.call()) == failed("client gave up")


async def test_large_bodies_pass(bench: Bench) -> None:
    padding = {"metadata": {"name": "node-1", "annotations": {"padding": "x" * 5_000_000}}}
    body = msgspec.json.encode({"Pod": {"metadata": {}}, "Nodes": {"items": [padding]}})
    service = await bench.service(ONE, http_answer({"Nodes": {"items": [padding]}}))
    client = await bench.connect()

    answer = await client.ask(http_request(body))

    assert answer == service.answer
    assert service.received == http_request(body)
    call = await bench.call()
    assert (call.candidates, call.accepted) == (1, ["node-1"])


async def test_a_frozen_backend_does_not_hide_that_the_client_left(bench: Bench) -> None:
    bench.publish_frozen(ONE)
    client = await bench.connect()
    body = msgspec.json.encode({"NodeNames": ["x" * 30_000_000]})

    client.writer.write(http_request(body))
    client.writer.close()

    expected = Call(at=0.0, seconds=0.0, candidates=1, backend=ONE, error="client gave up")
    assert untimed(await bench.call()) == expected


async def test_a_connection_is_used_again(bench: Bench) -> None:
    await bench.service(ONE)
    client = await bench.connect()

    await client.ask(ASKED)
    await client.ask(http_request(b"", "/readyz", "GET"))
    await client.ask(http_request(args("node-1"), "/prioritize"))
    await client.ask(http_request(args("node-9", pod="db-1"), "/extender/filter"))

    assert untimed(await bench.call()) == ANSWERED
    call = await bench.call()
    assert (call.pod, call.candidates, call.nominated) == ("shop/db-1", 1, False)
    assert bench.is_silent


async def test_the_backend_may_close_the_connection_after_its_answer(bench: Bench) -> None:
    answer = http_answer({"Error": "not leading"}, "200 OK", "Connection: close")
    await bench.service(ONE, answer)
    client = await bench.connect()
    client.writer.write(ASKED)

    assert await client.rest() == answer
    assert untimed(await bench.call()) == failed("not leading", status=200)
    assert bench.is_silent


async def test_the_end_of_the_proxy_resets_all(bench: Bench) -> None:
    service = await bench.service(ONE, hangs=True)
    client = await bench.connect()
    client.writer.write(ASKED)
    await soon(service.heard)

    await bench.stop()

    with pytest.raises(ConnectionResetError):
        await client.answer()
    assert untimed(await bench.call()) == failed("proxy ended")
    await soon(service.left)


def test_the_first_address_of_each_ready_endpoint_counts() -> None:
    slices = [
        _slice("ours", "IPv4", _ready(TWO, ONE), _ready("10.42.0.3", is_ready=False)),
        _slice("ours", "IPv4", {"addresses": ["10.42.0.4"]}, _ready(TWO, is_ready=True)),
        _slice("ours", "IPv6", _ready("fd00::1")),
        _slice("ours", "FQDN", _ready("example.com")),
        _slice("ours", "IPv4"),
        _slice("theirs", "IPv4", _ready(ONE)),
        {"metadata": {}, "addressType": "IPv4", "endpoints": [_ready(ONE)], "ports": [PORT]},
    ]

    assert ready_endpoints(slices, SERVICE) == [
        (TWO, 41001),
        ("10.42.0.4", 41001),
        ("fd00::1", 41001),
    ]


@pytest.mark.parametrize(
    "ports",
    [
        pytest.param(None, id="none"),
        pytest.param([{**PORT, "name": "metrics"}], id="another-name"),
        pytest.param([{"port": 41001, "protocol": "TCP"}], id="no-name"),
        pytest.param([{**PORT, "protocol": "UDP"}], id="another-protocol"),
    ],
)
def test_slices_without_the_port_of_the_service_lead_nowhere(ports: list[Object] | None) -> None:
    endpoint_slice = {**_slice("ours", "IPv4", _ready(ONE)), "ports": ports}

    assert ready_endpoints([endpoint_slice], SERVICE) == []


def _slice(service: str, family: str, *endpoints: object) -> Object:
    return {
        "metadata": {"labels": {"kubernetes.io/service-name": service}},
        "addressType": family,
        "endpoints": list(endpoints) or None,
        "ports": [{"name": "metrics", "port": 1}, PORT],
    }


def _ready(*addresses: str, is_ready: bool | None = None) -> Object:
    return {"addresses": addresses, "conditions": {"ready": is_ready}}
