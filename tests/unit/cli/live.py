"""A live cluster for commands: what its API server serves, and a kubeconfig that leads to it."""

from collections.abc import Iterable
from pathlib import Path

from app.config import NAME, OWN_NAMESPACE
from tests.builders import core_document
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


def own(kind: str, name: str, namespace: str = OWN_NAMESPACE, **fields: object) -> Object:
    """Build an object in the namespace of the extender."""
    return core_document(kind, name, metadata={"namespace": namespace}, **fields)


def lease(**spec: object) -> Object:
    """Build the Lease of the leader, who holds it, but for other fields of the spec."""
    held = {"holderIdentity": "extender-0", "renewTime": "2999-01-01T00:00:00.000000Z", **spec}
    return own("Lease", NAME, spec=held) | {"apiVersion": "coordination.k8s.io/v1"}
