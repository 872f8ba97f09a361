"""The example of the forecast is what the program answers, pod by pod."""

from collections.abc import Iterator

from app.kube.resource import AnyRecord
from extender import Answer, Extender
from extender.demand import NOBODY
from extender.explaining import charges, expected
from extender.holds import Asked, Timeouts
from extender.holds.hold import Sighting
from longhorn import NodeName
from tests.builders import (
    GENEROUS,
    GIB,
    claim,
    nodes_of,
    pod,
    setting,
    storage_class,
    view_of,
    volumes_of,
)
from tests.docs.pages import DOCS, inline_code, tables

PAGE = DOCS / "decisions" / "0014-every-replica-counts.md"
NODES = [NodeName(f"node-{number}") for number in (1, 2, 3)]
SETTING = setting("allow-volume-creation-with-degraded-availability", "false")
RECORDS: list[AnyRecord] = [
    *nodes_of("1:120 2:80 3:75"),
    *volumes_of("shop:60*2~"),
    storage_class("local"),
    storage_class("remote", dataLocality="disabled", numberOfReplicas="4"),
    *(claim(name, size_bytes=50 * GIB) for name in ("first", "second")),
    claim("third", size_bytes=90 * GIB, storage_class="remote"),
    claim("fourth", size_bytes=10 * GIB, storage_class="remote"),
]
FOREVER = Timeouts(choosing_seconds=1e9, placing_seconds=1e9)


def verdicts(answer: Answer) -> list[str]:
    rejected = {name: f"`{why.reason}`" for name, why in answer.rejected.items()}
    return [rejected.get(name, "accepted") for name in NODES]


def rows() -> Iterator[list[str]]:
    view, extender = view_of(*RECORDS), Extender(GENEROUS)
    free = [view.spaces[name].bins[0].logical_bytes // GIB for name in NODES]

    def ask(name: str) -> Answer:
        return extender.filter(pod(name, name=name), NODES, view)

    def hold_on_node_1(answer: Answer) -> None:
        uid = answer.request.pod.uid
        extender.hold(answer, Asked(), timeouts=FOREVER, now=0.0)
        extender.ledger.see(uid, Sighting(node=NODES[0]), 0.0)

    def held() -> list[str]:
        here = (charges(extender.ledger, name, view) for name in NODES)
        return [str(sum(sum(each.bytes.values()) for each in there) // GIB) for there in here]

    def forecast() -> list[str]:
        found = expected(extender.situation(NOBODY, view))
        return [str(sum(each.bytes for each in found.get(name, ())) // GIB) for name in NODES]

    yield ["logical headroom", *map(str, free)]
    yield ["forecast for `shop`", *forecast()]
    answer = ask("first")
    yield ["pod `first`, 50", *verdicts(answer)]
    hold_on_node_1(answer)
    yield ["held once node-1 is chosen for it", *held()]
    yield ["forecast for `shop`", *forecast()]
    yield ["pod `second`, 50", *verdicts(ask("second"))]
    yield ["pod `third`, 90", *verdicts(ask("third"))]
    yield ["pod `fourth`, 10", *verdicts(ask("fourth"))]
    view = view_of(*RECORDS, SETTING)
    yield ["pod `fourth` again, with the setting", *verdicts(ask("fourth"))]


def test_the_table_is_what_is_answered():
    [shown] = tables(PAGE, "an-example")

    assert shown == [*rows()]


def test_the_setting_has_its_name():
    assert SETTING.name in inline_code(PAGE)
