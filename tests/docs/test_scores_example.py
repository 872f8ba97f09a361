"""The example of the scores is what the program answers."""

from collections.abc import Iterable, Iterator

from app.kube.resource import AnyRecord
from extender import Balance, Extender
from extender.scoring import Score
from longhorn import NodeName
from tests.builders import GENEROUS, GIB, bound, disk, node, pod, replica, view_of, volumes_of
from tests.docs.pages import DOCS, tables

PAGE = DOCS / "decisions" / "0015-scores-are-shares.md"
ZONES = {"node-1": "east", "node-2": "east", "node-3": "west"}
SCHEDULED = {"node-1": 300, "node-2": 700, "node-3": 200}
NODES = [NodeName(name) for name in ZONES]
MAXIMUM_BYTES = 1_000 * GIB
SIZES = {"orders": 100, "archive": 200}
REPLICAS = {"orders": ("node-4", "node-3"), "archive": ("node-4", "node-2")}
FAILED = ("orders", "node-3")


def nodes() -> Iterator[AnyRecord]:
    """Build the nodes; what they list beside the replicas of the pod is somebody else's."""
    for name, zone in {**ZONES, "node-4": "east"}.items():
        listed = {f"{of}-{name}": SIZES[of] for of, places in REPLICAS.items() if name in places}
        listed["others"] = SCHEDULED.get(name, 300) - sum(listed.values())
        one = disk(
            f"disk-{name}",
            maximum_bytes=MAXIMUM_BYTES,
            listed={each: gib * GIB for each, gib in listed.items()},
        )
        yield node(name, one, zone=zone, schedulable=name != "node-4")


def replicas() -> Iterator[AnyRecord]:
    for of, places in REPLICAS.items():
        for name in places:
            yield replica(
                f"{of}-{name}",
                of=of,
                on=name,
                disk=f"disk-{name}",
                size_bytes=SIZES[of] * GIB,
                failed=(of, name) == FAILED,
            )


def scores(*claims: str, balance: Balance) -> list[Score]:
    view = view_of(*nodes(), *replicas(), *bound(*volumes_of("orders:100*2 archive:200*2~")))
    found = Extender(GENEROUS, balance=balance).prioritize(pod(*claims), NODES, view)
    return [found.by_node[name] for name in NODES]


def shown(values: Iterable[float]) -> list[str]:
    return [f"{value:.3f}" for value in values]


def rows() -> Iterator[list[str]]:
    spread = scores(*SIZES, balance=Balance.SPREAD)
    pack = scores(*SIZES, balance=Balance.PACK)

    yield ["zone", *ZONES.values()]
    yield ["scheduled before, in GiB", *map(str, SCHEDULED.values())]
    for name in SIZES:
        alone = scores(name, balance=Balance.OFF)
        yield [f"value of `{name}`", *shown(each.data for each in alone)]
    yield ["data", *shown(each.data for each in spread)]
    for balance, found in (("spread", spread), ("pack", pack)):
        yield [f"balance, `{balance}`", *shown(each.balance for each in found)]
        yield [f"score, `{balance}`", *(str(each.total) for each in found)]


def test_the_table_is_what_is_answered():
    found = tables(PAGE, "an-example")
    [example] = [each for each in found if each[0][0] == "zone"]

    assert example == [*rows()]
