"""Ask the service again and again, and print when it answered what.

A script of its own: it runs in the network of a cluster, as kube-scheduler does.
"""

import http.client
import json
import ssl
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

PAUSE_SECONDS = 0.02
_PATIENCE_SECONDS = 0.3
_BODY = b'{"Pod": {"metadata": {"name": "probe"}, "spec": {}}, "NodeNames": ["any"]}'
REFUSED = "refused:"
KEPT = "--kept"
"""Ask over one connection while it works, as kube-scheduler does, not each time over a new one."""


def main() -> None:
    """Ask the address that is named until ended, with the certificates in the folder."""
    url, certificates, *options = sys.argv[1:]
    address = urlsplit(url)
    connection = http.client.HTTPConnection(address.netloc, timeout=_PATIENCE_SECONDS)
    if address.scheme == "https":
        tls = _of_kube_scheduler(Path(certificates))
        connection = http.client.HTTPSConnection(
            address.netloc, timeout=_PATIENCE_SECONDS, context=tls
        )
    while True:
        try:
            connection.request("POST", address.path, _BODY)
            # One that does not lead says so in this field, with the status 200.
            error = json.load(connection.getresponse())["Error"]
            result = f"{REFUSED} {error}" if error else "answered"
        except (OSError, http.client.HTTPException) as failure:
            result = type(failure).__name__
            connection.close()
        if KEPT not in options:
            connection.close()
        sys.stdout.write(f"{time.monotonic()} {result}\n")
        sys.stdout.flush()
        time.sleep(PAUSE_SECONDS)


def _of_kube_scheduler(folder: Path) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=folder / "ca.crt")
    context.check_hostname = False  # pods are asked by their addresses, too
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    return context


if __name__ == "__main__":
    main()
