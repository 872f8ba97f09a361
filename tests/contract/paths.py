"""Where the kinds that the contract speaks of are served."""


def config_maps(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/configmaps"


def settings(namespace: str) -> str:
    """Longhorn's settings: a custom resource."""
    return f"/apis/longhorn.io/v1beta2/namespaces/{namespace}/settings"


def leases(namespace: str) -> str:
    return f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"


def endpoint_slices(namespace: str) -> str:
    return f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"


def services(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/services"


def pods(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/pods"


CUSTOM = {"kind": "Setting", "apiVersion": "longhorn.io/v1beta2"}
