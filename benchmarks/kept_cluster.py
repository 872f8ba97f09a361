"""A cluster with much in it, as files and as an API server: a process of its own.

Run as ``python -m benchmarks.kept_cluster FOLDER NODES``. It writes the same objects as JSON and as
YAML, prints the port of loopback on which it answers lists of them, and ends with its stdin.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import yaml

from benchmarks import objects
from benchmarks.clusters import GIB, Object, cluster, kubernetes_node, pod
from benchmarks.templates import LONGHORN
from tests.fakes import FakeApiServer, in_a_thread

JSON_FILE, YAML_FILE = "cluster.json", "cluster.yaml"
POD = "bench/large"
_DISKS, _REPLICAS, _PODS = 3, 3, 20
"""Of a node, of a disk, of a node."""
_ASKED_BYTES = 300 * GIB
_PAD_BYTES = 5_000
_SEED = 1


def documents(nodes: int) -> list[Object]:
    """Return all objects: nodes, volumes with one replica each, settings, and pods.

    The pod `POD` needs a volume that no node has room for. Volumes, replicas, claims and settings
    have every field of a real object, pods and Kubernetes Nodes about as many bytes.
    """
    large = pod(POD.partition("/")[2], [_ASKED_BYTES])
    found: list[Object] = cluster(nodes, _DISKS, [large], seed=_SEED)["items"]
    hosts = [each for each in found if each["kind"] == "Node"]
    found += [obj for number, host in enumerate(hosts) for obj in _contents(number, host)]
    found += [_kind("v1", "Node", kubernetes_node(each["metadata"]["name"])) for each in hosts]
    found += [
        _kind(LONGHORN, "Setting", json.loads(objects.setting(number, 0)))
        for number in range(objects.SETTINGS)
    ]
    return [*found, _kind("v1", "Pod", large)]


def _contents(number: int, host: Object) -> Iterator[Object]:
    """Fill the disks of a Longhorn Node, and return what is on it."""
    node = host["metadata"]["name"]
    for disk, status in enumerate(host["status"]["diskStatus"].values()):
        for place in range(_REPLICAS):
            n = (number * _DISKS + disk) * _REPLICAS + place
            replica = json.loads(objects.replica(n * objects.COPIES, 0))
            replica["spec"] |= {"nodeID": node, "diskID": status["diskUUID"]}
            volume = json.loads(objects.volume(n, 0))
            volume["spec"] |= {"nodeID": node, "numberOfReplicas": 1}
            status["scheduledReplica"][replica["metadata"]["name"]] = int(volume["spec"]["size"])
            yield _kind(LONGHORN, "Replica", replica)
            yield _kind(LONGHORN, "Volume", volume)
            yield _kind("v1", "PersistentVolumeClaim", json.loads(objects.claim(n, 0)))
            yield _kind("v1", "PersistentVolume", json.loads(objects.persistent_volume(n, 0)))
        listed_bytes = sum(status["scheduledReplica"].values())
        status["storageScheduled"] = max(status["storageScheduled"], listed_bytes)
    for place in range(_PODS):
        running = pod(f"app-{number}-{place}", [])
        running["metadata"]["annotations"] = {"example/pad": "x" * _PAD_BYTES}
        running["spec"]["nodeName"], running["status"] = node, {"phase": "Running"}
        yield _kind("v1", "Pod", running)


def _kind(api_version: str, kind: str, obj: Object) -> Object:
    return {**obj, "apiVersion": api_version, "kind": kind}


def main(folder: Path, nodes: int) -> None:
    """Write the files and serve until stdin ends."""
    found = documents(nodes)
    whole = {"apiVersion": "v1", "kind": "List", "items": found}
    (folder / JSON_FILE).write_text(json.dumps(whole, indent=4))
    with (folder / YAML_FILE).open("w") as file:
        yaml.dump(whole, file, yaml.CSafeDumper)
    server = FakeApiServer(Random(_SEED))
    for each in found:
        server.put(each)
    with in_a_thread(server) as served:
        print(served.port, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
