"""What is said of each node is what Longhorn's search makes of it."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cli.catalogue import PLACES
from cli.kube.cluster_objects import ClusterObjects
from cli.kube.view import build_view
from cli.volumes.judging import place_of, seek
from extender import ClusterView
from extender.verdicts import REASONS
from longhorn import NodeName, VolumeName
from tests.builders import GIB, node_document, read
from tests.unit.cli.volumes import replica, setting, volume

KINDS: list[dict[str, Any]] = [
    {},
    {"failedAt": "2026-01-01T00:00:00Z"},
    {"evictionRequested": True},
]
"""What replicas are like."""
TAKES = {"next", "less_preferred"}


@st.composite
def clusters(draw: st.DrawFn) -> list[Any]:
    """Draw nodes in two zones, full or not, and where the volume's replicas are."""
    names = "abcd"[: draw(st.integers(2, 4))]
    nodes = [
        node_document(
            name,
            spec={"allowScheduling": draw(st.integers(0, 4)) > 0},
            status={"zone": draw(st.sampled_from("xy"))},
            disk_status={
                "diskUUID": f"uuid-{name}",
                "storageScheduled": draw(st.sampled_from([0, 50, 95])) * GIB,
            },
        )
        for name in names
    ]
    there = draw(st.lists(st.sampled_from(names), max_size=3))
    kinds = st.sampled_from(KINDS)
    replicas = [replica(str(n), name, **draw(kinds)) for n, name in enumerate(there)]
    settings = [
        setting(f"replica-{what}soft-anti-affinity", draw(st.sampled_from(["true", "false"])))
        for what in ("", "zone-", "disk-")
    ]
    given_volume = volume(on=names[0], robustness="degraded", numberOfReplicas=4)
    return [*nodes, *replicas, *settings, given_volume]


def view_of(documents: Sequence[Any]) -> ClusterView:
    cluster = ClusterObjects()
    for each in documents:
        cluster.add(read(each))
    return build_view(cluster)


def candidates(view: ClusterView) -> tuple[set[str], dict[str, str]]:
    """Return the nodes that the search offers, and what is said of each."""
    sought = seek(view.volumes[VolumeName("vol")], view, None, only=None, waits=False)
    assert sought is not None
    said = {name: place_of(name, sought, view)[0].code for name in view.spaces}
    assert {each.node for each in sought.next} == {n for n, code in said.items() if code == "next"}
    return {*sought.candidates.hosts}, {str(name): code for name, code in said.items()}


def closed_but(documents: Sequence[Any], name: str) -> list[Any]:
    """Return the cluster where of the nodes without a replica only one has room."""
    holders = {each["spec"].get("nodeID") for each in documents if each["kind"] == "Replica"}
    found = []
    for each in documents:
        other = each["kind"] == "Node" and each["metadata"]["name"] not in {name, *holders}
        full = node_document(
            each["metadata"]["name"],
            spec={"allowScheduling": each["spec"]["allowScheduling"]},
            status={"zone": each["status"]["zone"]},
            disk_status={"diskUUID": "uuid-full", "storageScheduled": 99 * GIB},
        ) if other else each  # fmt: skip
        found.append(full)
    return found


@given(clusters())
def test_what_is_offered_takes_it_and_what_does_not_take_it_is_never_offered(documents):
    offered, said = candidates(view_of(documents))

    assert {*said.values()} <= {*PLACES, *REASONS}
    assert offered <= {name for name, code in said.items() if code in TAKES}
    for name, code in said.items():
        alone, _ = candidates(view_of(closed_but(documents, name)))
        assert (name in alone) is (code in TAKES), (name, code)


def test_the_node_of_a_bound_replica_is_the_only_one():
    view = view_of([node_document("a"), node_document("b"), volume(on="a")])

    sought = seek(view.volumes[VolumeName("vol")], view, None, only=NodeName("b"), waits=False)

    assert sought is not None
    assert [place_of(NodeName(name), sought, view)[0].code for name in "ab"] == [
        "other_node",
        "next",
    ]
