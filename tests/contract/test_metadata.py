"""Objects of which metadata alone are read: the API server leaves the rest out."""

from collections.abc import Sequence

from kubernetes_asyncio.client import ApiClient

from app.kube.connection import Connection
from app.kube.feed import Source
from app.kube.listing import list_records
from app.kube.resources import OPTED_OUT_NODES
from extender.kubernetes import EngineOptOut
from tests.contract.exchange import ask, named

SECONDS = 10.0
LABEL = "node.longhorn.io/disable-v2-data-engine"
SOURCE = Source(resource=OPTED_OUT_NODES, labels=f"{LABEL}=true")


async def create_nodes(api_client: ApiClient, names: Sequence[str]) -> None:
    for name in names:
        body = named(name, spec={"podCIDR": "10.1.0.0/24"})
        body["metadata"]["labels"] = {LABEL: "true"}
        assert (await ask(api_client, "POST", "/api/v1/nodes", body=body)).status == 201


async def test_nodes_with_the_label_are_listed_and_watched_by_their_metadata(api_client, real):
    """One that does not know the form sends whole objects; they say the same."""
    names = ["opted-out-1", "opted-out-2"]
    await create_nodes(api_client, names)
    connection = Connection(api_client)
    query = [*SOURCE.selector, ("resourceVersion", "0"), ("watch", "true")]

    records = await list_records(connection, SOURCE, on_skipped=print, page_seconds=SECONDS)
    async with connection.stream(
        SOURCE.path, query=query, accept=SOURCE.watch_form, deadline_seconds=SECONDS
    ) as chunks:
        event = await chunks.next(within_seconds=SECONDS)
    for name in names:
        await ask(api_client, "DELETE", f"/api/v1/nodes/{name}")

    assert sorted(each.name for each in records if isinstance(each, EngineOptOut)) == names
    assert b"opted-out-" in event
    assert (b'"spec":{' in event) is (real is None)
