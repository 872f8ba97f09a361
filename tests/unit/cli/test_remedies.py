"""Each remedy that `filter` offers can be done and helps, and less than it does not.

`RANDOM_REMEDIES=10000` tries those of so many clusters.
"""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from app.settings import Settings
from cli.catalogue import REMEDIES
from cli.explaining.explainer import Explainer
from cli.kube.cluster_objects import ClusterObjects
from cli.kube.pods import Pod
from cli.names import Named
from cli.volumes.command import explain_volume
from tests.builders import read
from tests.unit.cli.plain_remedies import Cluster, RefusedError, apply
from tests.unit.cli.remedy_clusters import cluster_of

CLUSTERS = int(os.environ.get("RANDOM_REMEDIES", "200"))
RARE = (610, 945, 1135, 1394, 1698, 2468, 3526)
"""Seeds of clusters in which something is offered that seldom is."""


class Found(msgspec.Struct, frozen=True):
    """What the command says."""

    helped: bool
    remedies: Sequence[Any]
    excused: bool = False
    """Whether no new node helps either, and that is right."""


def asked(documents: Sequence[Mapping[str, Any]]) -> Found:
    """Ask about the pod, or about the volume if there is none."""
    objects = ClusterObjects()
    for each in documents:
        objects.add(read(each))
    explainer, nodes = Explainer(objects, Settings(), None, ""), objects.candidates()
    if not objects.of(Pod):
        volume = explain_volume(Named.VOLUME, "vol", "default", explainer, nodes)
        code = volume.waiting.code if volume.waiting else ""
        helped = code in ("", "reuse") or bool(volume.next)
        remedies = msgspec.to_builtins(volume.remedies)
        is_bound = code == "local" or volume.locality == "strict-local"
        excused = code in ("frozen_clone", "unscheduled_for_good") or is_bound
        return Found(helped and not volume.action, remedies, excused)
    [only] = objects.of(Pod).values()
    found = explainer.explain(only, nodes)
    return Found(bool(found.accepted), msgspec.to_builtins(found.remedies), bool(found.error))


def helps(documents: Sequence[Any], steps: Sequence[Any]) -> bool:
    try:
        return asked(apply(documents, steps)).helped
    except RefusedError:
        return False


def faults(documents: Sequence[Any], seen: Counter[str]) -> list[str]:
    """Return what is wrong with what is offered."""
    found = asked(documents)
    texts = [each["text"] for each in found.remedies]
    wrong = [f"twice: {text}" for text in {*texts} if texts.count(text) > 1]
    wrong += [f"the command itself: {text}" for text in texts if "filter" in text]
    for each in found.remedies:
        steps = each["steps"]
        seen.update(step["code"] for step in steps)
        try:
            if not asked(apply(documents, steps)).helped:
                wrong.append(f"of no help: {each['text']}")
        except RefusedError as error:
            wrong.append(f"refused ({error}): {each['text']}")
        fewer = [[s for s in steps if s is not step] for step in steps if len(steps) > 1]
        wrong += [f"too much: {each['text']}" for some in fewer if helps(documents, some)]
    seen["helped" if found.helped else "offered" if found.remedies else "nothing"] += 1
    if not (found.helped or found.remedies or found.excused) and helps_if_new(documents):
        wrong.append("a new node would help")
    return wrong


def helps_if_new(documents: Sequence[Any]) -> bool:
    """Whether a large new node would help, of whatever type its disk and with tags or without."""
    has_v2 = Cluster(documents).setting("v2-data-engine") == "true"
    tags = (" with the tags fast, big", " with the tags ssd, nvme")
    nodes = [
        {"zone": " in another zone", "size": "5000.0 GiB", "type": type_} | given
        for type_ in ("", "block ")[: 1 + has_v2]
        for given in ({"node_tags": tags[0], "tags": tags[1]}, {"node_tags": "", "tags": ""})
    ]
    return any(helps(documents, [{"code": "add_node", "figures": each}]) for each in nodes)


def test_what_is_offered_can_be_done_and_helps():
    seen = Counter[str]()
    for seed in (*range(CLUSTERS), *RARE):
        documents = cluster_of(seed)

        assert not faults(documents, seen), f"seed {seed}: {documents}"

    assert {*REMEDIES} <= seen.keys()
    assert min(seen["helped"], seen["offered"]) > CLUSTERS / 10
