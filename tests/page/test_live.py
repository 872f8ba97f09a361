"""The picture of a live service in a real browser."""

import contextlib
from pathlib import Path

from tests.builders import bound, disk, hold, node, volume
from tests.fakes import in_a_thread
from tests.fakes.installed import instance_pod, service
from tests.integration.server import serving_cluster
from tests.integration.test_live_process import api_server
from tests.page.browser import Tab, write
from tests.unit.app.instance.test_picture import STANDBY, sources, text_of

EVIL = "<img src=x onerror=alert(1)></script>"


async def test_holds_and_waiting_pods_are_drawn(tab: Tab, tmp_path: Path) -> None:
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


async def test_a_standby_says_so(tab: Tab, tmp_path: Path) -> None:
    await tab.open(write(tmp_path, await text_of(sources(), STANDBY)))

    [warning] = await tab.texts("#warnings > li")
    assert "this instance is a standby" in warning


async def test_names_are_inert(tab: Tab, tmp_path: Path) -> None:
    known = sources(node(EVIL, disk(EVIL), zone=EVIL), holds=[hold(EVIL)], waiting=[EVIL])

    await tab.open(write(tmp_path, await text_of(known)))

    assert await tab.texts("h4") == [EVIL]
    assert await tab.run("document.querySelectorAll('img').length") == 0
    assert tab.told("Page.javascriptDialogOpening") == []
    assert tab.told("Log.entryAdded") == []


async def test_a_running_process_serves_it_and_nothing_else_is_asked_for(
    tab: Tab, tmp_path: Path
) -> None:
    with contextlib.ExitStack() as stack:
        port = stack.enter_context(in_a_thread(api_server(service(), instance_pod(0)))).port
        live = stack.enter_context(serving_cluster(tmp_path, port, EXTENDER_DEBUG="true"))
        live.wait_for(lambda: live.events("endpointslice.published"))
        address = f"http://127.0.0.1:{live.port}/"

        await tab.open(address)

        assert "leader; 0 holds, 0 pods wait" in await tab.text("#summary")
        asked = [each["request"]["url"] for each in tab.told("Network.requestWillBeSent")]
        assert [url for url in asked if not url.startswith("data:")] == [address]
        assert tab.told("Log.entryAdded") == []
        assert live.call("POST", "/", b"{}")[0] == 405
