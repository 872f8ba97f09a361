"""The Service of Longhorn's extender, without a selector, and the EndpointSlice of its leader."""

from typing import Final

from tests.actors.api import ENDPOINT_SLICES, SERVICES, Api, Key, Object

NAME: Final = "longhorn-scheduler-extender"
"""Of the Service, the slice and the Lease."""
PORT: Final = 9504
PORT_NAME: Final = "http"
OWNED: Final = {"app.kubernetes.io/name": "longhorn"}
"""Labels of what Longhorn makes."""


async def publish(api: Api, namespace: str, address: str, port: int) -> None:
    """Have the Service lead to an address and a port; what is there already is written over."""
    metadata = {"name": NAME, "namespace": namespace, "labels": OWNED}
    ports = [{"name": PORT_NAME, "protocol": "TCP", "port": PORT}]
    await api.ensure({"metadata": metadata, "spec": {"ports": ports}}, SERVICES)
    content: Object = {
        "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
        "ports": [{"name": PORT_NAME, "protocol": "TCP", "port": port}],
    }
    if await api.patch(ENDPOINT_SLICES, Key(namespace, NAME), content) is None:
        labels = {**OWNED, "kubernetes.io/service-name": NAME}
        of_slice = {"metadata": {**metadata, "labels": labels}, "addressType": "IPv4"}
        await api.create({**of_slice, **content}, ENDPOINT_SLICES)


async def withdraw(api: Api, namespace: str) -> None:
    """Have it lead nowhere."""
    await api.patch(ENDPOINT_SLICES, Key(namespace, NAME), {"endpoints": []})
