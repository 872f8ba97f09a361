"""The addresses of a cluster, all within network namespaces of its own."""

from tests.e2e.control_plane import SERVICE_RANGE

NODES = "172.30.0.0/24"
CONTROL_PLANE = "172.30.0.1"
"""The API server, kube-scheduler and the DNS."""
PODS = "10.244.0.0/16"
KUBERNETES = SERVICE_RANGE.replace(".0.0/16", ".0.1")
"""The Service `kubernetes`."""
DOMAIN = "cluster.local"


def node_address(number: int) -> str:
    """Return the address of a node; they are counted from 1."""
    return f"172.30.0.{10 + number}"


def pods_of(number: int) -> str:
    """Return the range of the pods of a node."""
    return f"10.244.{number}.0/24"


def cable_of(node: str) -> str:
    """Name the end of a node's cable that is in the network of the control plane."""
    return f"to-{node}"
