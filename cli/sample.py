"""A question to try a service with, for a shell."""

import json
from shlex import quote

from app.config import ANY_ADDRESS
from extender import ClusterView

_MOST_NODES = 10
_OF_THIS_MACHINE = {ANY_ADDRESS: "127.0.0.1", "0.0.0.0": "127.0.0.1"}  # noqa: S104 (not bound)


def sample_request(view: ClusterView, host: str, port: int) -> str:
    """Return a command that asks which nodes can hold a volume of the cluster, if it has a claim.

    Args:
        view: The cluster.
        host: The address that the service listens on.
        port: Its port there.
    """
    namespace, _, claim = next(iter(view.claims), "default/").partition("/")
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": claim}}
    request = {
        "Pod": {
            "metadata": {"name": "sample", "namespace": namespace},
            "spec": {"volumes": [volume] if claim else []},
        },
        "NodeNames": [*view.spaces][:_MOST_NODES],
    }
    address = _OF_THIS_MACHINE.get(host, f"[{host}]" if ":" in host else host)
    url = f"http://{address}:{port}/filter"
    return f"curl --silent {quote(url)} --data {quote(json.dumps(request))}"
