"""Ask the service about a pod without volumes: it may go to any node. `helm test` runs this.

`python probe.py URL [CA [CERTIFICATE KEY]]` exits with 1 and one line on stderr otherwise. It needs
nothing but Python, and is the question of docs/kube-scheduler.md.
"""

import json
import ssl
import sys
from http.client import HTTPException
from urllib.request import HTTPSHandler, ProxyHandler, Request, build_opener

QUESTION = {"Pod": {"metadata": {"name": "probe"}, "spec": {}}, "NodeNames": ["any"]}
PATIENCE_SECONDS = 10


def main(url: str, ca: str | None = None, *certificate: str) -> str:
    """Return what is wrong with the answer, "" if nothing is."""
    try:
        tls = ssl.create_default_context(cafile=ca)
        if certificate:
            tls.load_cert_chain(*certificate)
        # kube-scheduler must reach the service without a proxy, so this does too.
        opener = build_opener(ProxyHandler({}), HTTPSHandler(context=tls))
        request = Request(f"{url}/filter", json.dumps(QUESTION).encode())  # noqa: S310 (the chart's)
        with opener.open(request, timeout=PATIENCE_SECONDS) as response:
            answer = json.load(response)
    except (OSError, HTTPException, ValueError) as error:
        return f"{url}/filter: {error}"
    # With an error there are no names.
    if not isinstance(answer, dict) or answer.get("NodeNames") != QUESTION["NodeNames"]:
        return f"{url}/filter answers {answer}"
    return ""


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) or None)
