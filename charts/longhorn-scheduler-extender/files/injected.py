"""Ask the API server what it makes of a new pod with a claim. `helm test` runs this.

`python injected.py NAMESPACE [SCHEDULER [WHY]]` exits with 1 and one line on stderr if the pod
would not get the resource, which ends with WHY, or not the name of the scheduler. The pod is not
created (dryRun). It needs nothing but Python, and the right to create pods in the namespace.
"""

import json
import os
import ssl
import sys
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import HTTPSHandler, ProxyHandler, Request, build_opener

RESOURCE = "longhorn.io/scheduler-extender"
ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
PATIENCE_SECONDS = 10
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"generateName": "longhorn-scheduler-extender-test-"},
    "spec": {
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [
            {
                "name": "probe",
                "image": "none",
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "capabilities": {"drop": ["ALL"]},
                },
            }
        ],
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "of-no-such-name"}}],
    },
}


def main(namespace: str, scheduler: str = "", why: str = "docs/injection.md says why") -> str:
    """Return what is wrong with the pod that the API server would create, "" if nothing is."""
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    host = f"[{host}]" if ":" in host else host
    request = Request(
        f"https://{host}:{port}/api/v1/namespaces/{namespace}/pods?dryRun=All",
        json.dumps(POD).encode(),
        {
            "Authorization": f"Bearer {(ACCOUNT / 'token').read_text()}",
            "Content-Type": "application/json",
        },
    )
    tls = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))
    opener = build_opener(ProxyHandler({}), HTTPSHandler(context=tls))
    try:
        with opener.open(request, timeout=PATIENCE_SECONDS) as response:
            pod = json.load(response)
    except HTTPError as error:
        return f"no pod can be tried in the namespace {namespace}: {error.read().decode()}"
    except (OSError, HTTPException, ValueError) as error:
        return f"the API server does not answer: {error}"
    return problem(pod, namespace, scheduler, why)


def problem(pod: dict[str, dict[str, object]], namespace: str, scheduler: str, why: str) -> str:
    """Return what the pod lacks, "" if nothing."""
    containers = pod["spec"]["containers"]
    assert isinstance(containers, list)
    limits = (containers[0].get("resources") or {}).get("limits") or {}
    if RESOURCE not in limits:
        return (
            f"a new pod with a claim in the namespace {namespace} does not get {RESOURCE}, so "
            f"kube-scheduler would not ask the extender about it; {why}"
        )
    given = pod["spec"].get("schedulerName")
    if scheduler and given != scheduler:
        return f"a new pod with a claim gets the schedulerName {given} and not {scheduler}"
    return ""


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) or None)
