"""Ask the service again and again, each time on a new connection, and print when it answered what.

A script of its own: it runs in the network of a cluster, as kube-scheduler does.
"""

import json
import sys
import time
import urllib.request

_PAUSE_SECONDS = 0.02
_PATIENCE_SECONDS = 0.3
_BODY = b'{"Pod": {"metadata": {"name": "probe"}, "spec": {}}, "NodeNames": ["any"]}'


def main() -> None:
    """Ask the address that is named until ended."""
    while True:
        request = urllib.request.Request(sys.argv[1], _BODY)  # noqa: S310 (HTTP)
        try:
            with urllib.request.urlopen(request, timeout=_PATIENCE_SECONDS) as answer:  # noqa: S310
                # One that does not lead says so in this field, with the status 200.
                result = "refused" if json.load(answer)["Error"] else "answered"
        except OSError as error:  # HTTPError is one
            result = type(error).__name__
        sys.stdout.write(f"{time.monotonic()} {result}\n")
        sys.stdout.flush()
        time.sleep(_PAUSE_SECONDS)


if __name__ == "__main__":
    main()
