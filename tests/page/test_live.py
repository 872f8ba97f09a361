"""The picture of a live service in a real browser."""

import contextlib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.actors.longhorn.objects import longhorn_node
from tests.builders import GIB, bound, disk, hold, node, volume
from tests.fakes import in_a_thread
from tests.fakes.installed import instance_pod, service
from tests.integration.server import Server, serving_cluster
from tests.integration.test_live_process import api_server
from tests.page.browser import write
from tests.unit.app.instance.test_picture import STANDBY, sources, text_of

EVIL = "<img src=x onerror=alert(1)></script>"
_BELOW_PIXELS = 96
"""What the page leaves free at its end, where a line names the replicas of a volume."""
_CARDS = """[...document.querySelectorAll(".node")].map((each) => {
  const box = each.getBoundingClientRect();
  return [box.top, box.left, box.bottom, box.right];
})"""
_BELOW = """document.body.getBoundingClientRect().bottom
  - document.querySelector("main").getBoundingClientRect().bottom"""
_VISIBLE = "[...document.body.children].filter(e => e.checkVisibility()).map(e => e.localName)"

Box = tuple[float, float, float, float]
"""Top, left, bottom and right of a card."""


@contextlib.contextmanager
def serving_nodes(folder: Path, nodes: int = 0) -> Iterator[Server]:
    """Run the leader on a live cluster of so many nodes, with two disks each."""
    disks = {"disk-1": 100 * GIB, "disk-2": 50 * GIB}
    found = (longhorn_node(f"node-{n:04}", disks, zone=f"zone-{n % 3}") for n in range(nodes))
    kind = {"apiVersion": "longhorn.io/v1beta2", "kind": "Node"}
    server = api_server(service(), instance_pod(0), *(kind | each for each in found))
    with (
        in_a_thread(server) as there,
        serving_cluster(folder, there.port, EXTENDER_DEBUG="true") as live,
    ):
        live.wait_for(lambda: live.events("endpointslice.published"))
        yield live


def overlapping(cards: list[Box]) -> list[tuple[Box, Box]]:
    """Return the cards that lie over the next one of their column, or of their row."""
    columns = pairwise(sorted(cards, key=lambda box: (box[1], box[0])))
    rows = pairwise(sorted(cards))
    return [
        *((one, other) for one, other in columns if one[1] == other[1] and one[2] > other[0]),
        *((one, other) for one, other in rows if one[0] == other[0] and one[3] > other[1]),
    ]


async def test_holds_and_waiting_pods_are_drawn(tab, tmp_path):
    known = sources(
        *bound(volume("vol")),
        node("node-1", disk("disk-1"), zone="east"),
        node("node-2", disk("disk-1"), disk("disk-2"), zone="west"),
        holds=[hold(nodes=("node-1", "node-2"))],
        waiting=["db-0"],
    )

    await tab.open(write(tmp_path, await text_of(known)))

    assert await tab.text("h1") == "Longhorn's disks now"
    assert await tab.texts("#events > li") == [
        "room held default/pod: it may go to any of 2 nodes\ndefault/vol, 10.0 GiB, best-effort",
        "pending default/db-0: waits for 12 s\n1 node (node-1): Longhorn node is not ready.",
    ]
    assert await tab.texts(".figure") == [
        "10.0 of 100.0 GiB",
        "0.0 of 100.0 GiB",
        "0.0 of 100.0 GiB",
    ]
    assert await tab.run("document.querySelectorAll('.bar > .held').length") == 1
    assert await tab.texts(".node > p") == ["10.0 GiB held for pods, on disks not known yet"]
    assert await tab.run("document.getElementById('steps').hidden")
    assert not await tab.run("document.querySelector('.of-service').hidden")


async def test_a_standby_says_so(tab, tmp_path):
    await tab.open(write(tmp_path, await text_of(sources(), STANDBY)))

    [warning] = await tab.texts("#warnings > li")
    assert "this instance is a standby" in warning


async def test_names_are_inert(tab, tmp_path):
    known = sources(node(EVIL, disk(EVIL), zone=EVIL), holds=[hold(EVIL)], waiting=[EVIL])

    await tab.open(write(tmp_path, await text_of(known)))

    assert await tab.texts("h4") == [EVIL]
    assert await tab.run("document.querySelectorAll('img').length") == 0
    assert tab.told("Page.javascriptDialogOpening") == []
    assert tab.told("Log.entryAdded") == []


@pytest.mark.parametrize("nodes", [2, 300, 1_000])
async def test_of_a_live_cluster_the_cards_of_its_nodes_are_seen_and_nothing_else(
    tab, tmp_path, nodes
):
    with serving_nodes(tmp_path, nodes) as live:
        await tab.open(f"http://127.0.0.1:{live.port}/")

    assert await tab.run(_VISIBLE) == ["header", "main"]
    assert not {*'{}"'} & {*await tab.text("body")}
    assert await tab.run(_BELOW) == pytest.approx(_BELOW_PIXELS, abs=1)
    assert overlapping(await tab.run(_CARDS)) == []

    await tab.run("scrollTo(0, document.documentElement.scrollHeight)")
    await tab.settle()  # the last cards are laid out only now

    assert overlapping(await tab.run(_CARDS)) == []

    await tab.emulate(media="print")  # where all cards are laid out, in sight or not

    assert sorted(await tab.texts(".node h4")) == [f"node-{n:04}" for n in range(nodes)]
    assert not {*'{}"'} & {*await tab.text("body")}
    assert overlapping(await tab.run(_CARDS)) == []


async def test_a_running_process_serves_it_and_nothing_else_is_asked_for(tab, tmp_path):
    with serving_nodes(tmp_path) as live:
        address = f"http://127.0.0.1:{live.port}/"

        await tab.open(address)

        assert "leader; 0 holds, 0 pods wait" in await tab.text("#summary")
        asked = [each["request"]["url"] for each in tab.told("Network.requestWillBeSent")]
        assert [url for url in asked if not url.startswith("data:")] == [address]
        assert tab.told("Log.entryAdded") == []
        assert live.call("POST", "/", b"{}")[0] == 405
