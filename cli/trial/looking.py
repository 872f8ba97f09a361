"""What the pods of a trial are doing, and where their replicas are, by the API server."""

from collections.abc import Sequence

import msgspec
from prometheus_client.parser import text_string_to_metric_families

from app.config import NAME
from app.errors import AppError
from cli.trial import requests as kinds
from cli.trial.cases import Case
from cli.trial.cleaning import replicas_of
from cli.trial.manifests import Asking, Way
from cli.trial.outcome import PodSeen, places, pod_seen
from cli.trial.requests import Requests
from cli.trial.sizing import Sizing

_COUNTER = "longhorn_scheduler_extender_filter_duration_seconds"


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What is carried out."""

    namespace: str
    longhorn_namespace: str
    own_namespace: str
    """Of the extender."""
    metrics_port: int
    sizing: Sizing
    cases: Sequence[Case]
    asking: Sequence[Asking]
    """A way each."""
    repeat: int
    within_seconds: float
    """Most that the pods of one run may take."""
    settle_seconds: float
    """So long nothing changes once all is done: Longhorn places replicas after the pods run, and
    tells kube-scheduler later yet what is left."""

    @property
    def nodes(self) -> Sequence[str]:
        """Those of the trial."""
        return [*self.sizing.slots]


class Look:
    """Looks at one trial.

    Args:
        requests: To the API server.
        plan: What is carried out.
    """

    def __init__(self, requests: Requests, plan: Plan) -> None:
        self._requests, self._plan = requests, plan

    async def pods(self, selector: str = "") -> list[PodSeen]:
        """Return the pods with these labels, by their names."""
        pods = await self._requests.items(kinds.PODS, self._plan.namespace, selector)
        return sorted(map(pod_seen, pods), key=lambda each: each.name)

    async def replicas(
        self, pods: Sequence[PodSeen]
    ) -> tuple[dict[str, str], dict[str, list[str]]]:
        """Return the volumes of the claims of pods, and the nodes of the replicas of these."""
        named = {claim for pod in pods for claim in pod.claims}
        claims = await self._requests.items(kinds.CLAIMS, self._plan.namespace)
        volume_of = {
            each["metadata"]["name"]: each["spec"]["volumeName"]
            for each in claims
            if each["metadata"]["name"] in named and each["spec"].get("volumeName")
        }
        volumes = sorted(volume_of.values())
        return volume_of, places(
            await replicas_of(self._requests, volumes, self._plan.longhorn_namespace)
        )

    async def calls(self, way: Way) -> int | None:
        """Return how often our instances were called so far, None if that cannot be read."""
        if way is not Way.OURS:
            return None
        namespace, total = self._plan.own_namespace, 0
        try:
            pods = await self._requests.items(kinds.PODS, namespace, f"app={NAME}")
            for pod in pods:
                name = f"{pod['metadata']['name']}:{self._plan.metrics_port}"
                path = f"/api/v1/namespaces/{namespace}/pods/{name}/proxy/metrics"
                families = text_string_to_metric_families(await self._requests.text(path))
                total += sum(
                    int(sample.value)
                    for family in families
                    if family.name == _COUNTER
                    for sample in family.samples
                    if sample.name == f"{_COUNTER}_count"
                )
        except (AppError, ValueError):
            return None
        return total if pods else None
