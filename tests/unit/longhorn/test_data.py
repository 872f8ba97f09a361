"""What is left of a volume's data, held against a second, plain implementation."""

from msgspec import structs

from longhorn import (
    DataState,
    NodeDisks,
    NodeName,
    Settings,
    Usability,
    VolumeData,
    data_of,
    engines_of,
    images_on,
    is_readable,
    node_disks,
)
from tests.effort import examples
from tests.unit.longhorn.data_clusters import DataCluster, data_clusters
from tests.unit.longhorn.plain_data import PlainData, plain_data

VOLUMES = 20_000
_NOWHERE = (DataState.AWAITED, DataState.FAULTED, DataState.LOST)


def nodes_of(cluster: DataCluster) -> dict[NodeName, NodeDisks]:
    """Return the nodes with what runs there."""
    managers = cluster.managers
    return {
        name: structs.replace(
            node_disks(node, Settings()),
            engines=engines_of(
                None if managers is None else [each for each in managers if each.node == name],
                cluster.manager_image,
                images=images_on(name, cluster.images or ()),
                allows_v2=name not in cluster.v2_off,
            ),
        )
        for name, node in cluster.nodes.items()
    }


def in_plain_words(data: VolumeData, *, auto_salvage: bool) -> PlainData:
    """Return what the product says, as the other implementation says it."""
    salvaged = data.salvaged if auto_salvage else ()
    return PlainData(
        states={each.replica.name: each.usability.value for each in data.judged},
        awaits={
            each.replica.name: (awaits.missing.name.lower(), awaits.node, awaits.disk)
            for each in data.judged
            if (awaits := each.awaits) is not None
        },
        state=data.state.value,
        salvaged=frozenset(each.name for each in salvaged),
        last_on=data.last_nodes,
        attaches=data.state not in _NOWHERE and data.closed_by is None,
    )


def test_it_is_what_a_plain_reading_of_the_sources_says():
    for cluster in data_clusters(examples(VOLUMES)):
        data = data_of(
            cluster.volume,
            cluster.replicas,
            nodes_of(cluster),
            unreadable=cluster.unreadable_nodes,
        )

        found = in_plain_words(data, auto_salvage=cluster.auto_salvage)

        assert found == plain_data(**structs.asdict(cluster)), cluster


def test_a_volume_is_readable_if_one_replica_is_usable():
    for cluster in data_clusters(examples(VOLUMES) // 10):
        nodes, unreadable = nodes_of(cluster), cluster.unreadable_nodes
        data = data_of(cluster.volume, cluster.replicas, nodes, unreadable=unreadable)

        found = is_readable(cluster.volume, cluster.replicas, nodes, unreadable=unreadable)

        assert found == any(each.usability is Usability.USABLE for each in data.judged)
