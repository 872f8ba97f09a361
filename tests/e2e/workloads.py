"""The pods that tests schedule, as users write them."""

from collections.abc import Mapping, Sequence

from tests.actors.api import Object

NAMESPACE = "default"
STORAGE_CLASS = "longhorn-local"
RESOURCE = "longhorn.io/scheduler-extender"
GIB = 2**30


def stateful_set(
    name: str,
    *,
    pods: int,
    size: str = "100Gi",
    claims: int = 1,
    extender: bool = True,
) -> Object:
    """Build a StatefulSet that starts all its pods at once, each with claims of its own."""
    labels = {"app": name}
    return {
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "replicas": pods,
            "serviceName": name,
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": _pod_spec({}, extender=extender),
            },
            "volumeClaimTemplates": [
                {"metadata": {"name": f"data-{number}"}, "spec": _claim_spec(size)}
                for number in range(claims)
            ],
        },
    }


def pod(name: str, *claims: str, extender: bool = True) -> Object:
    """Build a pod that uses claims."""
    spec = _pod_spec({claim: claim for claim in claims}, extender=extender)
    return {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}


def claim(name: str, size: str = "100Gi", class_: str = STORAGE_CLASS) -> Object:
    """Build a claim that waits for its first consumer."""
    return {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": _claim_spec(size, class_)}


def claims(prefix: str, count: int, size: str = "100Gi") -> Sequence[Object]:
    return [claim(f"{prefix}-{number}", size) for number in range(count)]


def _claim_spec(size: str, class_: str = STORAGE_CLASS) -> Object:
    return {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": class_,
        "resources": {"requests": {"storage": size}},
    }


def _pod_spec(volumes: Mapping[str, str], *, extender: bool) -> Object:
    limits = {RESOURCE: "1"} if extender else {}
    resources = {"requests": {"cpu": "10m", **limits}, "limits": limits}
    return {
        "terminationGracePeriodSeconds": 1,
        "containers": [{"name": "app", "image": "none", "resources": resources}],
        "volumes": [
            {"name": name, "persistentVolumeClaim": {"claimName": claim}}
            for name, claim in volumes.items()
        ],
    }
