"""A cluster in memory for trials: objects, a scheduler, a kubelet and Longhorn that are done at
once.
"""

import re
from collections.abc import Mapping
from copy import deepcopy
from itertools import count
from typing import Any
from urllib.parse import unquote

from app.config import RESOURCE
from app.kube.errors import StatusError
from cli.trial.manifests import Object
from cli.trial.requests import Requests

_PATH = re.compile(
    r"/apis?/(?:[\w.]+/)?v\w+(?:/namespaces/(?P<namespace>[^/]+)(?=/))?"
    r"/(?P<plural>[^/]+)(?:/(?P<name>[^/]+)(?:/(?P<part>\w+))?)?"
)
_PODS, _CLAIMS, _SETS = "pods", "persistentvolumeclaims", "statefulsets"
_VOLUMES, _REPLICAS = "persistentvolumes", "replicas"


class CutOffError(Exception):
    """The process ends here."""


class TrialCluster(Requests):
    """Answers the requests of a trial.

    Args:
        slots: How many claims each node takes. All have the same size.
        answers: Whether somebody schedules pods that ask for an extender.

    Attributes:
        objects: By kind and name; those of namespaces are of one only.
        requests: How many there were.
        end_at: The request with which the process ends; it is carried out.
    """

    def __init__(self, slots: Mapping[str, int], *, answers: bool = True) -> None:
        self.objects: dict[tuple[str, str], Object] = {}
        self.requests = 0
        self.end_at = 0
        self._slots, self._answers = slots, answers
        self._uids, self._turn = count(1), count()

    async def _send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Object | None = None,
    ) -> Object | None:
        found = _PATH.fullmatch(unquote(path))
        assert found, path
        plural, name = found["plural"], found["name"] or ""
        self.requests += 1
        answer = self._answer(method, plural, name, found["part"] or "", query or {}, body or {})
        if self.requests == self.end_at:
            raise CutOffError
        return answer

    def _answer(
        self, method: str, plural: str, name: str, part: str, query: Mapping[str, str], body: Object
    ) -> Object | None:
        if part == "eviction":
            return self._evict(name)
        if method == "POST":
            return self._create(plural, body)
        if method == "GET" and not name:
            chosen = _chosen(query.get("labelSelector", ""))
            items = [each for (kind, _), each in self.objects.items() if kind == plural]
            return {"items": [each for each in items if chosen(each["metadata"]["labels"])]}
        if method == "DELETE":
            return self._delete(plural, name)
        if method == "PATCH":
            affinity = body["spec"]["template"]["spec"]["affinity"]
            self.objects[plural, name]["spec"]["template"]["spec"]["affinity"] = affinity
        return self.objects.get((plural, name))

    def _create(self, plural: str, body: Object) -> Object:
        name = body["metadata"]["name"]
        if (plural, name) in self.objects:
            raise StatusError(409, f"{plural} {name} already exists")
        body["metadata"] |= {"uid": f"u{next(self._uids)}"}
        body["metadata"].setdefault("labels", {})
        self.objects[plural, name] = body
        if plural == _SETS:
            for number in range(body["spec"]["replicas"]):
                self._start(body, f"{name}-{number}")
        elif plural == _PODS:
            self._run(body, body["spec"], [])
        return body

    def _start(self, owner: Object, name: str) -> None:
        spec = owner["spec"]
        claims = [f"{each['metadata']['name']}-{name}" for each in spec["volumeClaimTemplates"]]
        for claim, template in zip(claims, spec["volumeClaimTemplates"], strict=True):
            if (_CLAIMS, claim) not in self.objects:
                made = {**deepcopy(template), "metadata": {"name": claim, "labels": {}}}
                self._create(_CLAIMS, made)
        labels = spec["template"]["metadata"]["labels"]
        pod = {"metadata": {"name": name, "labels": labels, "uid": f"u{next(self._uids)}"}}
        self.objects[_PODS, name] = pod
        self._run(pod, spec["template"]["spec"], claims)

    def _run(self, pod: Object, spec: Object, claims: list[str]) -> None:
        """Give a pod a node, and its claims volumes."""
        terms = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        nodes = [each["matchFields"][0]["values"][0] for each in terms["nodeSelectorTerms"]]
        asks = RESOURCE in str(spec["containers"])
        named = [{"persistentVolumeClaim": {"claimName": each}} for each in claims]
        pod["spec"], pod["status"] = {"volumes": named}, {"phase": "Pending"}
        fitting = [each for each in nodes if self._fits(each, claims)]
        if asks and not (self._answers and fitting):
            return
        node = fitting[0] if asks else nodes[next(self._turn) % len(nodes)]
        pod["spec"]["nodeName"], pod["status"]["phase"] = node, "Running"
        for claim in claims:
            self._attach(claim, node)

    def _attach(self, claim: str, node: str) -> None:
        """Have a volume with a replica on the node, if that has room, and only then another one."""
        made = self.objects[_CLAIMS, claim]
        volume = made["spec"].setdefault("volumeName", f"pvc-{made['metadata']['uid']}")
        has_replica = (_REPLICAS, volume) in self.objects
        if has_replica and not self._left(node):
            return
        free = [each for each in (node, *self._slots) if self._left(each)]
        reference = {"namespace": "longhorn-scheduler-trial"}
        bound: Object = {
            "metadata": {"name": volume, "labels": {}},
            "spec": {"claimRef": reference},
        }
        labels = {"longhornvolume": volume}
        self.objects[_VOLUMES, volume] = bound
        self.objects[_REPLICAS, volume] = {
            "metadata": {"labels": labels},
            "spec": {"volumeName": volume, "nodeID": free[0] if free else ""},
        }

    def _left(self, node: str) -> int:
        placed = [each["spec"]["nodeID"] for _, each in self._all(_REPLICAS)]
        return self._slots[node] - placed.count(node)

    def _fits(self, node: str, claims: list[str]) -> bool:
        """Whether a node has the volumes of claims, or room for them."""
        there = {volume for volume, each in self._all(_REPLICAS) if each["spec"]["nodeID"] == node}
        volumes = [self.objects[_CLAIMS, each]["spec"].get("volumeName") for each in claims]
        return sum(each not in there for each in volumes) <= self._left(node)

    def _all(self, plural: str) -> list[tuple[str, Object]]:
        return [(name, each) for (kind, name), each in self.objects.items() if kind == plural]

    def _evict(self, name: str) -> Object:
        del self.objects[_PODS, name]
        self._start(self.objects[_SETS, name.rpartition("-")[0]], name)
        return {}

    def _delete(self, plural: str, name: str) -> Object | None:
        gone = self.objects.pop((plural, name), None)
        if gone is None:
            return None
        if plural == _SETS:
            for pod in [pod for pod, _ in self._all(_PODS) if pod.rpartition("-")[0] == name]:
                del self.objects[_PODS, pod]
        if plural == _CLAIMS:
            for kind in (_VOLUMES, _REPLICAS):
                self.objects.pop((kind, gone["spec"].get("volumeName", "")), None)
        return gone


def _chosen(selector: str) -> Any:
    """Return whether labels are those that a selector asks for."""
    if " in (" in selector:
        key, _, values = selector.partition(" in (")
        return lambda labels: labels.get(key) in values.rstrip(")").split(",")
    key, _, value = selector.partition("=")
    return lambda labels: not key or labels.get(key) == value
