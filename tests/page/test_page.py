"""The page of a plan in a real browser: what is drawn, by mouse and keyboard, and what is inert."""

import json
import re
from importlib.resources import files
from pathlib import Path

import pytest
from msgspec import structs

from app.page.page import closing, more_nodes, opening, page
from planner.outcome import PlanReport
from planner.picture import Event, Kind, PlanWarning, Reason, StepReport
from planner.sizes import gib
from tests.builders import GIB, MIB
from tests.page.browser import Tab, write
from tests.page.reports import disk, example, large, node, plan, replica, step

EVIL = (
    "<script>alert(1)</script><img src=x onerror=alert(2)><!--</script>\u2028\u202egnp\u202c&amp;"
)
SHOWN = (
    "<script>alert(1)</script><img src=x onerror=alert(2)><!--</script>"
    "\u27e8U+2028\u27e9\u27e8U+202E\u27e9gnp\u27e8U+202C\u27e9&amp;"
)


async def draw(tab: Tab, folder: Path, report: PlanReport) -> None:
    """Draw a plan, and go back to its first step."""
    await tab.open(write(folder, page(report.picture())))
    await tab.run("show(0)")
    await tab.settle()


async def test_a_plan_opens_with_its_answer_where_all_steps_are_taken(tab, tmp_path):
    report = structs.replace(
        example(), works=False, summary="not all of it works", notes=("no pods",), unplanned=("x",)
    )

    await tab.open(write(tmp_path, page(report.picture())))

    assert await tab.text("#answer.bad") == "not all of it works"
    assert await tab.texts("#notes > li") == ["x", "no pods"]
    assert await tab.text("#title") == "Step 2: drain node-a1"
    assert await tab.texts(".node:not([hidden]) h4") == ["node-a2", "node-b1"]


async def widths(tab: Tab, selector: str) -> list[int]:
    """Return how many percent of its bar each element that a selector finds takes."""
    script = (
        f"[...document.querySelectorAll({json.dumps(selector)})].map(e => Math.round("
        "100 * e.getBoundingClientRect().width / e.parentNode.getBoundingClientRect().width))"
    )
    found: list[int] = await tab.run(script)
    return found


async def marked(tab: Tab) -> list[str]:
    """Return the labels of the disks on which a replica is marked, with their nodes."""
    script = (
        "[...document.querySelectorAll('.replica.marked')].map(e => "
        "e.closest('.node').querySelector('h4').innerText + ' ' "
        "+ e.closest('.disk').querySelector('bdi').innerText)"
    )
    found: list[str] = await tab.run(script)
    return found


async def label(tab: Tab, selector: str = ":focus") -> str:
    """Return what a screen reader says of an element: the browser's own computation."""
    document = await tab.call("DOM.getDocument")
    found = await tab.call(
        "DOM.querySelector", nodeId=document["root"]["nodeId"], selector=selector
    )
    tree = await tab.call(
        "Accessibility.getPartialAXTree", nodeId=found["nodeId"], fetchRelatives=False
    )
    return str(tree["nodes"][0]["name"]["value"])


async def test_nodes_stand_by_zone_with_their_disks(tab, tmp_path):
    await draw(tab, tmp_path, example())

    assert await tab.texts(".zone > summary") == [
        "Zone east 2 nodes, 4 disks, 195.0 of 440.0 GiB scheduled",
        "Zone west 1 node, 2 disks, 120.0 of 200.0 GiB scheduled",
    ]
    assert await tab.texts("h4") == ["node-a1", "node-a2", "node-b1"]
    assert await tab.texts(".disk .label") == [
        "ssd-1\n100.0 of 190.0 GiB",
        "ssd-2\n20.0 of 100.0 GiB",
        "ssd-1\n75.0 of 100.0 GiB",
        "hdd-1\n0.0 of 50.0 GiB",
        "ssd-1\n60.0 of 100.0 GiB",
        "ssd-2\n60.0 of 100.0 GiB",
    ]
    assert "takes no replicas: scheduling is disabled" in await tab.texts(".problem")


async def test_a_bar_has_a_part_for_everything(tab, tmp_path):
    full = disk(
        "disk-1",
        replica("before", 20),
        replica("broken", 10, failed=True),
        replica("new", 30, new=True),
        maximum_gib=100,
        limit_gib=80,
        scheduled_gib=65,
        held_gib=25,
        used_gib=40,
        reserved_gib=20,
    )

    await draw(tab, tmp_path, plan(step("now", [node("node-1", full)])))

    parts = ("old", "replica.failed", "rest", "replica.new", "held", "over")
    assert {part: await widths(tab, f".bar > .{part}") for part in parts} == {
        "old": [20],
        "replica.failed": [10],
        "rest": [5],
        "replica.new": [30],
        "held": [25],
        "over": [10],
    }
    assert await tab.run("document.querySelector('.bar > .limit').style.left") == (
        "min(80%, 100% - 3px)"
    )
    assert await widths(tab, ".files > .written") == [40]
    assert await widths(tab, ".files > .reserved") == [20]
    assert await tab.text(".figure") == "90.0 of 80.0 GiB 10.0 over"
    assert await label(tab, ".disk") == (
        "Disk disk-1: 65.0 of 80.0 GiB scheduled; 30.0 GiB of it new; 25.0 GiB held for pods; "
        "10.0 GiB over the limit; 40.0 of 100.0 GiB used on the file system; 20.0 GiB reserved; "
        "3 replicas"
    )
    assert await label(tab, ".replica.new") == "Replica of new: 30.0 GiB, new"


async def test_with_over_provisioning_bars_reach_to_the_limit(tab, tmp_path):
    wide = disk("disk-1", replica("volume", 100), maximum_gib=100, limit_gib=200, used_gib=50)

    await draw(tab, tmp_path, plan(step("now", [node("node-1", wide)])))

    assert await widths(tab, ".bar > .old") == [50]
    assert await tab.run(
        "document.querySelector('.files').offsetWidth / document.querySelector('.bar').offsetWidth"
    ) == pytest.approx(0.5, abs=0.01)


async def test_a_disk_without_any_size_is_drawn(tab, tmp_path):
    none = disk("disk-1", maximum_gib=0, limit_gib=0, problem="has no size or nothing available")

    await draw(tab, tmp_path, plan(step("now", [node("node-1", none)])))

    assert await tab.text(".figure") == "0.0 of 0.0 GiB"


async def test_sizes_are_written_as_on_the_command_line(tab, tmp_path):
    sizes = [*range(0, 2 * GIB, 64 * MIB), 10**9, 10**12, 3 * 2**40 + 1, 5 * 2**50]
    await draw(tab, tmp_path, example())

    assert await tab.run(f"{sizes}.map(gib)") == [gib(each) for each in sizes]


async def test_the_slider_goes_through_the_steps_by_keyboard(tab, tmp_path):
    await draw(tab, tmp_path, example())
    await tab.run("document.getElementById('slider').focus()")

    await tab.press("ArrowRight")
    assert await tab.text("#title") == "Step 1: place StatefulSet shop/db, 3 pods"
    assert (await tab.texts(".replica.new")) == [""] * 5
    assert "110.0 of 100.0 GiB 10.0 over" in await tab.texts(".figure")

    await tab.press("ArrowRight")
    assert await tab.text("#title") == "Step 2: drain node-a1"
    assert await tab.texts(".node:not([hidden]) h4") == ["node-a2", "node-b1"]

    await tab.press("Home")
    assert await tab.text("#title") == "Step 0: now"
    assert await tab.texts(".node:not([hidden]) h4") == ["node-a1", "node-a2", "node-b1"]
    assert await tab.texts(".replica.new") == []


async def test_arrow_keys_and_buttons_go_through_the_steps(tab, tmp_path):
    await draw(tab, tmp_path, example())

    await tab.press("ArrowRight", "ArrowRight", "ArrowRight")
    assert await tab.text("#count") == "2 of 2"
    await tab.press("ArrowLeft")
    assert await tab.text("#count") == "1 of 2"
    await tab.point_at("#next", click=True)
    assert await tab.text("#count") == "2 of 2"
    await tab.point_at("#previous", click=True)
    assert await tab.text("#count") == "1 of 2"


async def test_a_step_keeps_the_nodes_that_it_does_not_change(tab, tmp_path):
    first, second = node("node-1", disk("disk-1")), node("node-2", disk("disk-1"))
    fuller = node("node-1", disk("disk-1", replica("volume", 10, new=True)))
    removed = StepReport(title="lose node-2", removed_nodes=("node-2",))
    added = step("add-node", [node("node-3", disk("disk-1")), second])
    await draw(
        tab,
        tmp_path,
        plan(step("now", [first, second]), step("place", [fuller]), removed, added),
    )

    drawn = []
    for number in range(4):
        await tab.run(f"show({number})")
        await tab.settle()
        drawn.append(await tab.texts(".node:not([hidden])"))

    empty, full = "disk-1\n0.0 of 100.0 GiB", "disk-1\n10.0 of 100.0 GiB"
    assert drawn == [
        [f"node-1\n{empty}", f"node-2\n{empty}"],
        [f"node-1\n{full}", f"node-2\n{empty}"],
        [f"node-1\n{full}"],
        [f"node-1\n{full}", f"node-2\n{empty}", f"node-3\n{empty}"],
    ]
    await tab.run("show(1)")
    assert await tab.texts(".node.changed h4") == ["node-1"]
    await tab.point_at("#only", click=True)
    assert await tab.run(
        "[...document.querySelectorAll('.node')].map(e => e.checkVisibility())"
    ) == [True, False, False]


async def test_the_replicas_of_a_volume_are_marked_on_all_disks(tab, tmp_path):
    await draw(tab, tmp_path, example())
    everywhere = ["node-a1 ssd-1", "node-a2 ssd-1", "node-b1 ssd-2"]

    await tab.point_at(".replica", 1)
    assert await marked(tab) == everywhere
    assert await tab.text("#told") == (
        "shop/data-db-0: 3 replicas. node-a1 ssd-1 (60.0 GiB); node-a2 ssd-1 (60.0 GiB); "
        "node-b1 ssd-2 (60.0 GiB, failed)"
    )

    await tab.point_at("h1")
    assert await marked(tab) == []

    await tab.point_at(".replica", 1, click=True)
    await tab.point_at("h1")
    assert await marked(tab) == everywhere

    await tab.press("Escape")
    assert await marked(tab) == []


async def test_disks_and_replicas_are_reached_by_keyboard(tab, tmp_path):
    await draw(tab, tmp_path, example())
    await tab.run("document.querySelector('.zone > summary').focus()")

    await tab.press("Tab")
    assert (await label(tab)).startswith("Disk ssd-1: 100.0 of 190.0 GiB scheduled")
    await tab.press("ArrowRight", "ArrowRight")
    assert await label(tab) == "Replica of shop/data-db-0: 60.0 GiB"
    assert await marked(tab) == ["node-a1 ssd-1", "node-a2 ssd-1", "node-b1 ssd-2"]
    await tab.press("ArrowDown")
    assert (await label(tab)).startswith("Disk ssd-2: 20.0 of 100.0 GiB scheduled")
    assert await marked(tab) == []
    await tab.press("ArrowRight", "Enter", "End")
    assert (await label(tab)).startswith("Disk ssd-2: 60.0 of 100.0 GiB scheduled")
    assert await marked(tab) == ["node-a1 ssd-2", "node-b1 ssd-1"]


async def test_a_volume_is_chosen_from_a_list_or_from_a_text(tab, tmp_path):
    await draw(tab, tmp_path, example())

    assert await tab.texts("#volume option") == [
        "no volume",
        "shop/data-db-1",
        "shop/data-db-2",
        "shop/data-db-0",
        "shop/logs",
        "shop/web-assets",
    ]
    await tab.run(
        "(e => { e.value = 'shop/logs'; e.dispatchEvent(new Event('change')); })"
        "(document.getElementById('volume'))"
    )
    assert await marked(tab) == ["node-a1 ssd-1", "node-b1 ssd-1"]

    await tab.press("ArrowRight")
    await tab.point_at("#events .volume-name", 1, click=True)
    assert await marked(tab) == ["node-a1 ssd-2", "node-b1 ssd-1"]


async def test_what_was_not_placed_is_told_with_reasons_and_remedies(tab, tmp_path):
    await draw(tab, tmp_path, example())

    assert await tab.texts("#left-out-list > li") == [
        "Step 1 pending shop/db-3\n3 nodes (node-a1, node-a2, node-b1): no disk of the "
        "Longhorn node has room for a volume of 120 GiB. What to do: Add a disk, free one, or ask "
        "for less.",
        "Step 1 waits shop/db-4: its StatefulSet makes it once shop/db-3 runs",
        "Step 2 lost shop/debug: nothing makes it again",
    ]
    await tab.point_at("#left-out-list button", 2, click=True)
    assert await tab.text("#title") == "Step 2: drain node-a1"
    assert (await tab.texts("#events > li"))[0] == "moved shop/db-0 from node-a1 to node-b1"


async def test_a_long_list_is_cut_until_all_of_it_is_asked_for(tab, tmp_path):
    events = [Event(kind=Kind.PLACED, object=f"shop/{n}", node="node-1") for n in range(300)]
    await draw(tab, tmp_path, plan(step("now", [node("node-1")], *events)))
    count = "document.querySelectorAll('#events > .placed').length"

    assert await tab.run(count) == 200
    await tab.point_at("#events .more", click=True)
    assert await tab.run(count) == 300


async def test_names_that_are_markup_are_inert(tab, tmp_path):
    reason = Reason(code="x", text=EVIL, nodes=(EVIL,), remedy=EVIL)
    event = Event(
        kind=Kind.PENDING, object=EVIL, node=EVIL, before=EVIL, text=EVIL, reasons=(reason,)
    )
    evil = PlanReport(
        origin=EVIL,
        policy=EVIL,
        seed=1,
        placed=0,
        pending=1,
        steps=(
            StepReport(
                title=EVIL,
                events=(event,),
                warnings=(PlanWarning(code="x", object=EVIL, text=EVIL),),
                nodes=(node(EVIL, disk(EVIL, replica(EVIL, 1), problem=EVIL), zone=EVIL),),
            ),
            step("second"),
        ),
    )

    await draw(tab, tmp_path, evil)
    await tab.point_at(".replica", click=True)

    assert tab.told("Page.javascriptDialogOpening") == []
    assert await tab.run("document.querySelectorAll('img, iframe, object, svg').length") == 0
    assert await tab.run("[...document.querySelectorAll('script')].map(e => [e.type, e.id])") == [
        ["application/json", "report"],
        ["", ""],
    ]
    assert await tab.texts("h4") == [SHOWN]
    assert await tab.text("#told") == f"{SHOWN}: 1 replica. {SHOWN} {SHOWN} (1.0 GiB)"
    assert tab.told("Log.entryAdded") == []
    assert tab.told("Runtime.exceptionThrown") == []


async def test_no_request_leaves_the_page(tab, tmp_path):
    address = write(tmp_path, page(example().picture()))
    await tab.open(address)
    await tab.press("ArrowRight")

    asked = [each["request"]["url"] for each in tab.told("Network.requestWillBeSent")]
    assert [url for url in asked if not url.startswith("data:")] == [address]

    tried = await tab.run("fetch('https://example.invalid/').then(() => 'sent', () => 'refused')")
    assert tried == "refused"
    blocked = [entry["entry"]["text"] for entry in tab.told("Log.entryAdded")]
    assert any("Content Security Policy" in text for text in blocked)


async def test_in_print_are_the_texts_of_all_steps_and_the_last_state(tab, tmp_path):
    await draw(tab, tmp_path, example())
    await tab.run("document.querySelector('.zone').open = false")

    await tab.emulate(media="print")

    assert await tab.texts("#all-steps h2") == [
        "Step 0: now",
        "Step 1: place StatefulSet shop/db, 3 pods",
        "Step 2: drain node-a1",
    ]
    assert "shop/db-3" in await tab.text("#all-steps")
    assert await tab.texts(".node:not([hidden]) h4") == ["node-a2", "node-b1"]
    assert await tab.run("getComputedStyle(document.getElementById('steps')).display") == "none"
    assert await tab.run("document.querySelector('.zone').open")

    await tab.emulate()

    assert await tab.text("#title") == "Step 0: now"
    assert not await tab.run("document.querySelector('.zone').open")


async def test_a_printed_page_has_been_drawn_for_print(tab, tmp_path):
    await draw(tab, tmp_path, example())
    await tab.run("addEventListener('beforeprint', () => { window.printed = shown; })")

    await tab.call("Page.printToPDF")

    assert await tab.run("[window.printed, shown]") == [2, 0]


@pytest.mark.parametrize(
    ("scheme", "colour"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(18, 23, 29)")]
)
async def test_it_is_light_or_dark_as_the_reader_wants(tab, tmp_path, scheme, colour):
    await tab.emulate(prefers_color_scheme=scheme)
    await draw(tab, tmp_path, example())

    assert await tab.run("getComputedStyle(document.body).backgroundColor") == colour


async def test_nothing_moves_by_itself(tab, tmp_path):
    await draw(tab, tmp_path, example())
    await tab.run("show(1)")

    assert await tab.run("document.getAnimations().length") == 0


async def test_it_fits_a_window_of_400_pixels(tab, tmp_path):
    long = "a-name-of-some-length" * 6
    await tab.resize(400, 700)
    first = node(long, disk(long, replica(long, 50)), zone=long, problem=long)
    event = Event(kind=Kind.PENDING, object=long, text=long)
    await draw(tab, tmp_path, plan(step(long, [first], event), step(long)))

    assert await tab.run("document.documentElement.scrollWidth") <= 400


async def test_ten_thousand_bars_are_drawn(tab, tmp_path):
    await draw(tab, tmp_path, large(1000, 10))

    assert await tab.run("document.querySelectorAll('.bar').length") == 10_000
    assert await tab.text("#count") == "0 of 1"
    await tab.press("ArrowRight")
    assert await tab.texts(".node.changed h4") == ["node-0000"]


async def test_one_node_without_zone_or_steps_is_drawn(tab, tmp_path):
    await draw(tab, tmp_path, plan(step("now", [node("node-1", disk("disk-1"))])))

    assert await tab.texts(".zone > summary") == [
        "No zone 1 node, 1 disk, 0.0 of 100.0 GiB scheduled"
    ]
    assert await tab.run("document.getElementById('steps').hidden")


async def test_a_picture_that_came_in_pieces_is_whole(tab, tmp_path):
    pieces = [
        opening(plan(step("now")).picture()),
        more_nodes([node("node-1", disk("disk-1")), node("node-2")]),
        more_nodes([node("node-3")]),
        closing(),
    ]

    await tab.open(write(tmp_path, "".join(pieces)))

    assert await tab.texts("h4") == ["node-1", "node-2", "node-3"]


async def test_no_class_makes_a_script_visible(tab, tmp_path):
    style = files("app.page").joinpath("page.css").read_text(encoding="utf-8")
    classes = {"nodes"} | {*re.findall(r"\.([a-z][a-z-]*)", style)}
    await draw(tab, tmp_path, example())

    displays = await tab.run(
        f"{sorted(classes)}.map(name => {{ const script = document.querySelector('script');"
        "script.className = name; return getComputedStyle(script).display; })"
    )

    assert {*displays} == {"none"}
