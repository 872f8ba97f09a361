"""Clusters, steps and what they lead to, as text: rows of the tests of steps are made of it.

A cluster is its nodes and then, one word each, what else there is:

- `ab` is node-1 in zone a and node-2 in zone b, each with one disk of 100 GiB; `ab:15` has 15 GiB
  each, `ab:100,5` 100 and 5.
- `db@2[1,3]` is pod db on node-2 with a volume db, attached there, and its replicas on node-1 and
  node-3; `db@2` has one replica, beside its pod. `db[1]` is a volume with a claim, but no pod, and
  of `db[1x]` the replica has failed. `db:40@2` has 40 GiB, `db*3[1]` wants two replicas more. A
  mark says the locality: `~` is disabled, `!` strict-local.
- `.web@1` is a pod without a volume, `.web` one that waits for a node, and `.web@1+db` uses db.
- Words of `_POD` and `_VOLUME` may follow: `.web@1/bare` has no controller.
- `name=value` is a setting of Longhorn, `=value` a node-drain-policy, and `pdb/most=1` or
  `pdb/least=2` a budget for pods with volumes of their own and those that are `/db`.

A step is written as the command says it, with numbers for nodes; `step_of` has them all.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from longhorn import Locality, VolumeName
from planner.picture import Kind
from planner.plan import Plan, Step
from planner.records import Budget, Pod
from planner.steps.disks import AddDisk, RemoveDisk
from planner.steps.draining import Drain
from planner.steps.nodes import AddNode, Cordon, LoseNode
from planner.steps.scaling import Scale, WorkloadName
from planner.steps.settings import ChangeSetting
from planner.steps.volumes import Resize
from planner.steps.workloads import PlaceWorkloads
from tests.builders import GIB, bound, disk, node, replica, setting, volume
from tests.unit.planner.clusters import kubernetes_node, pod_with
from tests.unit.planner.plans import DB, budget, plan_of, wanted, warned

_NODES = re.compile(r"(?P<zones>[a-z]+)(?::(?P<sizes>[\d,]+))?")
_WORD = re.compile(
    r"(?P<dot>\.?)(?P<name>[\w-]+)(?::(?P<gib>\d+))?(?:\*(?P<wanted>\d))?(?:@(?P<on>\d))?(?:\[(?P<copies>[\dx,]*)\])?"
    r"(?P<mark>[~!]?)(?P<claims>(?:\+[\w-]+)*)(?P<flags>(?:/\w+)*)"
)
_PLACED = re.compile(r"(?P<pods>\d+)(?::(?P<gib>\d+))?(?:\*(?P<copies>\d+))?")
_LOCALITIES = {"~": Locality.DISABLED, "!": Locality.STRICT_LOCAL, "": Locality.BEST_EFFORT}
_POD: dict[str, dict[str, Any]] = {
    "bare": {"owner": None},
    "daemon": {"of_daemon_set": True},
    "static": {"is_static": True},
    "emptydir": {"has_local_data": True},
    "succeeded": {"phase": "Succeeded"},
    "failed": {"phase": "Failed"},
    "pending": {"phase": "Pending"},
    "deleting": {"deleting": True},
    "db": {"labels": DB},
    "huge": {"requests": {"cpu": 100_000}},
}
_VOLUME: dict[str, dict[str, Any]] = {
    "podless": {},
    "claimless": {},
    "shared": {"shared": True},
    "degraded": {"degraded": True, "healthy": False},
}


def taken(cluster: str, steps: str, *records: Any) -> tuple[str, str]:
    """Take steps in a cluster; return what happened in the last one, and what is found then."""
    plan = plan_of(*records_of(cluster), *records, budgets=budgets_of(cluster))
    return result_of(plan, steps), found_in(plan)


def budgets_of(text: str) -> list[Budget]:
    """Read the budgets of a cluster."""
    found = re.findall(r"(\w+)/(least|most)=(\S+)", text)
    return [budget(name, **{which: value}) for name, which, value in found]


def records_of(text: str) -> list[Any]:
    """Read a cluster, less its budgets."""
    nodes, *words = text.split()
    return [*_nodes(nodes), *(record for word in words for record in _records(word))]


def step_of(text: str) -> Step:
    """Read a step: its numbers are nodes, unless they come last and are sizes or numbers of pods.

    Each node has one disk to remove, which is called after it.
    """
    verb, *given = text.split()
    nodes = tuple(f"node-{each}" for each in given if each.isdigit())
    match verb:
        case "drain":
            return Drain(
                nodes=nodes,
                force="--force" in given,
                delete_local_data="--delete-emptydir-data" in given,
            )
        case "cordon" | "uncordon":
            return Cordon(nodes=nodes, is_cordoned=verb == "cordon")
        case "lose":
            return LoseNode(nodes=nodes)
        case "add":  # `add 2 like 1`
            return AddNode(name=nodes[0], like=nodes[1])
        case "remove-disk":
            return RemoveDisk(node=nodes[0], disk=f"{nodes[0]}-disk")
        case "add-disk":  # `add-disk 1 50`
            return AddDisk(node=nodes[0], disk="added", size_bytes=int(given[1]) * GIB)
    return _other_step(verb, *given)


def result_of(plan: Plan, steps: str) -> str:
    """Take steps, with `;` between them, and return what happened in the last one.

    Events are as `moved db 2`; those that refuse have their text, and what is wrong since is told
    last.
    """
    for text in steps.split("; "):
        report = plan.take(step_of(text))
    told = [
        f"{each.kind} {each.object}"
        + (f" {each.node}" if each.node and each.object != f"Node {each.node}" else "")
        + (f": {each.text}" if each.kind is Kind.REFUSED else "")
        for each in report.events
    ]
    return _short(" | ".join([*told, *warned(report)]))


def found_in(plan: Plan) -> str:
    """Return what is on the nodes as it is written in a cluster, less how it is kept there."""
    names, pods = plan.names(), dict(plan.cluster.pods)
    words = [
        _short(names.get(name, name)) + _of_volume(plan, name, pods.pop(f"default/{name}", None))
        for name in plan.cluster.view.volumes
    ]
    words += [f".{_short(key)}{_at(pod)}" for key, pod in pods.items()]
    return " ".join(sorted(words))


def scheduled_in(plan: Plan) -> str:
    """Return what is scheduled on each disk, in GiB: `1:10,0 2:` has two disks, and none."""
    return " ".join(
        f"{_short(name)}:{','.join(str(each.scheduled_bytes // GIB) for each in space.disks)}"
        for name, space in sorted(plan.cluster.view.spaces.items())
    )


def _nodes(word: str) -> Iterator[Any]:
    found = _read(_NODES, word)
    zones, each_gib = found["zones"], [int(gib) for gib in (found["sizes"] or "100").split(",")]
    if len(each_gib) == 1:
        each_gib *= len(zones)
    for number, (zone, gib) in enumerate(zip(zones, each_gib, strict=True), 1):
        name = f"node-{number}"
        yield kubernetes_node(name)
        yield node(name, disk(f"{name}-disk", maximum_bytes=gib * GIB), zone=zone)


def _other_step(verb: str, what: str, *given: str) -> Step:
    match verb:
        case "resize":
            return Resize(claim=f"default/{what}", size_bytes=int(given[0]) * GIB)
        case "scale":
            name = WorkloadName(namespace="default", name=what)
            return Scale(workload=name, replicas=int(given[0]))
        case "set":
            return ChangeSetting(name=what, value=given[0])
        case "place":  # `2:15*3` is two pods, each with three replicas of 15 GiB
            found = _read(_PLACED, what)
            order: dict[str, Any] = {"ordered": False} if "parallel" in given else {}
            asks = wanted(
                int(found["pods"]),
                size_bytes=int(found["gib"] or 10) * GIB,
                copies=int(found["copies"] or 1),
                **order,
            )
            return PlaceWorkloads(wanted=asks)
    raise AssertionError(f"cannot read {verb!r}")


def _records(word: str) -> Iterator[Any]:
    if "=" in word:
        name, _, value = word.partition("=")
        if "/" not in name:
            yield setting(name or "node-drain-policy", value)
        return
    found = _read(_WORD, word)
    flags = found["flags"].split("/")[1:]
    wishes = {key: value for flag in flags for key, value in _POD.get(flag, {}).items()}
    on, claims = f"node-{found['on']}" if found["on"] else None, found["claims"].split("+")[1:]
    if found["dot"]:
        yield pod_with(*claims, name=found["name"], on=on, **wishes)
        return
    yield from _volume(found, on, flags)
    if on and "podless" not in flags:
        labelled = {"labels": DB, **wishes}
        yield pod_with(found["name"], *claims, name=found["name"], on=on, **labelled)


def _volume(found: Mapping[str, str], on: str | None, flags: Sequence[str]) -> Iterator[Any]:
    name, size_bytes = found["name"], int(found["gib"] or 10) * GIB
    places = list(filter(None, (found["copies"] or found["on"]).split(",")))
    fields: dict[str, Any] = {"healthy": on is not None}
    for flag in flags:
        fields |= _VOLUME.get(flag, {})
    of = volume(
        name,
        size_bytes=size_bytes,
        locality=_LOCALITIES[found["mark"]],
        replicas=int(found["wanted"] or len(places)),
        node=on,
        attached_to=on,
        **fields,
    )
    yield from [of] if "claimless" in flags else bound(of)
    for place in places:
        there = f"node-{place.removesuffix('x')}"
        yield replica(
            f"{name}-r-{there}",
            of=name,
            on=there,
            disk=f"{there}-disk",
            size_bytes=size_bytes,
            started=on is not None,
            failed=place.endswith("x"),
        )


def _read(pattern: re.Pattern[str], word: str) -> dict[str, str]:
    found = pattern.fullmatch(word)
    assert found, f"cannot read {word!r}"
    return found.groupdict(default="")


def _short(text: str) -> str:
    return re.sub(r"\bnode-(?=\d)", "", text.replace("default/", "").replace("Node ", "node "))


def _of_volume(plan: Plan, name: VolumeName, pod: Pod | None) -> str:
    size_gib = plan.cluster.view.volumes[name].size_bytes // GIB
    copies = plan.cluster.view.replicas.get(name, ())
    places = ",".join(sorted(_short(each.node or "-") + "x" * each.failed for each in copies))
    return f"{_at(pod)}".join(["" if size_gib == 10 else f":{size_gib}", f"[{places}]"])


def _at(pod: Pod | None) -> str:
    return "" if pod is None else f"@{_short(pod.node or '')}"
