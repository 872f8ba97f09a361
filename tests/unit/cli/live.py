"""A live cluster for commands: what its API server serves, and a kubeconfig that leads to it."""

from collections.abc import Iterable
from pathlib import Path

from tests.fakes import FakeApiServer, Object, Resource
from tests.fakes.resources import PLAN_RESOURCES, RESOURCES

KINDS = (
    *RESOURCES,
    *PLAN_RESOURCES,
    Resource("networking.k8s.io", "v1", "servicecidrs", "ServiceCIDR", namespaced=False),
)
LONGHORN = "longhorn-system"
CLUSTER_WIDE = {each.kind_key for each in KINDS if not each.namespaced}


def kubeconfig(folder: Path, port: int, user: str = "token: t") -> str:
    """Write a kubeconfig for a server on this port; return its path."""
    path = folder / "config"
    path.write_text(f"""
current-context: here
contexts: [{{name: here, context: {{cluster: k, user: u}}}}]
clusters: [{{name: k, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
users: [{{name: u, user: {{{user}}}}}]
""")
    return str(path)


def put(server: FakeApiServer, documents: Iterable[Object], namespace: str = LONGHORN) -> None:
    """Put documents into a cluster whose Longhorn is in this namespace."""
    for each in documents:
        group = each["apiVersion"].rpartition("/")[0]
        metadata = dict(each["metadata"])
        if f"{each['kind']}.{group}".rstrip(".") in CLUSTER_WIDE:
            metadata.pop("namespace", None)
        elif metadata["namespace"] == LONGHORN:
            metadata["namespace"] = namespace
        server.put({**each, "metadata": metadata})
