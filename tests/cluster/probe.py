"""Ask the service again and again, and print when it answered what.

A script of its own: it runs in the network of a cluster, as kube-scheduler does.
"""

import http.client
import json
import sys
import time
from urllib.parse import urlsplit

_PAUSE_SECONDS = 0.02
_PATIENCE_SECONDS = 0.3
_BODY = b'{"Pod": {"metadata": {"name": "probe"}, "spec": {}}, "NodeNames": ["any"]}'
REFUSED = "refused:"
KEPT = "--kept"
"""Ask over one connection while it works, as kube-scheduler does, not each time over a new one."""


def main() -> None:
    """Ask the address that is named until ended."""
    url, *options = sys.argv[1:]
    address = urlsplit(url)
    connection = http.client.HTTPConnection(address.netloc, timeout=_PATIENCE_SECONDS)
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
        time.sleep(_PAUSE_SECONDS)


if __name__ == "__main__":
    main()
