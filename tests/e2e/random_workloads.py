"""Clusters and workloads by chance, small enough to run and tight enough to leave pods out. Pure.

Sizes are such that most workloads fill about as much as there is: what is left over, and who gets
it, is what a plan and a real run could disagree about.
"""

from collections.abc import Iterator, Mapping
from random import Random

import msgspec

from tests.actors.api import CLAIMS, PODS, STATEFUL_SETS, Kind, Object
from tests.e2e.workloads import claim, pod, stateful_set
from tests.e2e.world import Disks

POOL, DEDICATED = "pool", "dedicated"
HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_SPREADS = {"DoNotSchedule": "hard spread", "ScheduleAnyway": "soft spread"}
_SPREAD_SHARE, _PREFERENCE_SHARE = 0.4, 0.3
_ALLOCATABLE_CORES = 64
_LOCALITIES = ("best-effort", "best-effort", "disabled", "strict-local")


class RandomNode(msgspec.Struct, frozen=True, kw_only=True):
    """A node of such a cluster."""

    name: str
    disks: Disks
    zone: str
    in_pool: bool
    """Whether node selectors take it."""
    is_dedicated: bool
    """Whether it has a taint, which keeps away who does not tolerate it."""


class RandomWorkload(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster, and what is created on it."""

    nodes: tuple[RandomNode, ...]
    classes: Mapping[str, Mapping[str, str]]
    """Parameters of each StorageClass, by name."""
    settings: Mapping[str, str]
    """Longhorn's, by name."""
    objects: tuple[tuple[Object, Kind], ...]
    """In the order in which they are created."""
    pods: tuple[str, ...]
    """The names of all pods that there are to be."""
    told: str
    """What it is about, in a line."""


def random_workload(random: Random) -> RandomWorkload:
    """Draw a workload."""
    nodes = _nodes(random)
    classes = {f"class-{number}": _class(random) for number in range(3)}
    objects = list[tuple[Object, Kind]]()
    pods, told = list[str](), list[str]()
    for number in range(random.randint(1, 3)):
        made, names, words = _workload(random, f"w{number}", [*classes])
        objects += made
        pods += names
        told.append(words)
    shares = random.random() < 0.2
    settings = {"replica-soft-anti-affinity": "true"} if shares else {}
    disks = sum(len(node.disks) for node in nodes)
    zones = len({node.zone for node in nodes if node.zone})
    return RandomWorkload(
        nodes=nodes,
        classes=classes,
        settings=settings,
        objects=tuple(objects),
        pods=tuple(pods),
        told=f"{len(nodes)} nodes, {disks} disks, {zones or 'no'} zones; {'; '.join(told)}",
    )


def _nodes(random: Random) -> tuple[RandomNode, ...]:
    zones = random.choice([("",), ("a", "b"), ("a", "b", "c")])
    has_dedicated = random.random() < 0.3
    count = random.randint(3, 6)
    return tuple(
        RandomNode(
            name=f"node-{number}",
            disks={
                f"disk-{disk}": random.randrange(60, 260, 10)
                for disk in range(1, 1 + random.randint(1, 3))
            },
            zone=zones[number % len(zones)],
            in_pool=random.random() < 0.6,
            is_dedicated=has_dedicated and number == count,
        )
        for number in range(1, count + 1)
    )


def _class(random: Random) -> dict[str, str]:
    locality = random.choice(_LOCALITIES)
    replicas = 1 if locality == "strict-local" else random.randint(1, 3)
    return {
        "numberOfReplicas": str(replicas),
        "dataLocality": locality,
        "replicaZoneSoftAntiAffinity": random.choice(["enabled", "disabled"]),
    }


def _workload(
    random: Random, name: str, classes: list[str]
) -> tuple[list[tuple[Object, Kind]], list[str], str]:
    """Draw one workload; return its objects, its pods, and what to say of it."""
    count = random.randint(2, 8)
    wants = [(f"{random.randrange(20, 100, 5)}Gi", random.choice(classes)) for _ in range(3)]
    wants = wants[: random.randint(1, 3)]
    names = [f"{name}-{number}" for number in range(count)]
    kind = random.choice(["StatefulSet", "StatefulSet", "ordered StatefulSet", "pods"])
    if kind == "pods":
        claims = {each: [f"{each}-{number}" for number in range(len(wants))] for each in names}
        objects = [
            (claim(claim_name, *want), CLAIMS)
            for each in names
            for claim_name, want in zip(claims[each], wants, strict=True)
        ]
        made = [pod(each, *claims[each]) for each in names]
        for each in made:
            each["metadata"]["labels"] = {"app": name}
        objects += [(each, PODS) for each in made]
        specs = [each["spec"] for each in made]
    else:
        made_set = stateful_set(name, pods=count, claims=len(wants))
        for template, (size, class_) in zip(
            made_set["spec"]["volumeClaimTemplates"], wants, strict=True
        ):
            template["spec"]["storageClassName"] = class_
            template["spec"]["resources"] = {"requests": {"storage": size}}
        if kind == "ordered StatefulSet":
            made_set["spec"]["podManagementPolicy"] = "OrderedReady"
        objects = [(made_set, STATEFUL_SETS)]
        specs = [made_set["spec"]["template"]["spec"]]
    rules = _rules(random) | _spreads(random, name) | _preferences(random, name)
    for spec in specs:
        spec |= {key: value for key, value in rules.items() if key != "cpu"}
        if "cpu" in rules:
            spec["containers"][0]["resources"]["requests"]["cpu"] = rules["cpu"]
    claims_told = " + ".join(f"{size} {class_}" for size, class_ in wants)
    rules_told = "".join(f", {each}" for each in _told(rules))
    return objects, names, f"{kind} of {count} ({claims_told}{rules_told})"


def _rules(random: Random) -> Object:
    """Draw what else decides where the pods of a workload may go."""
    rules: Object = {}
    if random.random() < 0.3:
        rules["cpu"] = str(random.randint(_ALLOCATABLE_CORES // 6, _ALLOCATABLE_CORES // 2))
    if random.random() < 0.3:
        rules["nodeSelector"] = {POOL: "a"}
    if random.random() < 0.5:
        rules["tolerations"] = [{"key": DEDICATED, "operator": "Exists"}]
    return rules


def _told(rules: Object) -> Iterator[str]:
    """Name rules in few words."""
    for key, value in rules.items():
        if key == "topologySpreadConstraints":
            yield from sorted({_SPREADS[each["whenUnsatisfiable"]] for each in value})
        else:
            yield "preferences" if key == "affinity" else key


def _spreads(random: Random, name: str) -> Object:
    """Draw topology spread constraints, of which some leave nodes out and some only score them."""
    drawn = [
        {
            "topologyKey": key,
            "maxSkew": random.randint(1, 2),
            "whenUnsatisfiable": random.choice([*_SPREADS]),
            "labelSelector": {"matchLabels": {"app": name}},
            "nodeTaintsPolicy": random.choice(["Honor", "Ignore"]),
            "nodeAffinityPolicy": random.choice(["Honor", "Ignore"]),
        }
        for key in (HOSTNAME, ZONE)
        if random.random() < _SPREAD_SHARE
    ]
    for each in drawn:
        if each["whenUnsatisfiable"] == "DoNotSchedule" and random.random() < _SPREAD_SHARE:
            each["minDomains"] = random.randint(1, 3)
    return {"topologySpreadConstraints": drawn} if drawn else {}


def _preferences(random: Random, name: str) -> Object:
    """Draw what makes nodes better: a label, other pods, or the want of them."""
    affinity: Object = {}
    if random.random() < _PREFERENCE_SHARE:
        in_pool = {"matchExpressions": [{"key": POOL, "operator": "In", "values": ["a"]}]}
        term = {"weight": random.randint(1, 100), "preference": in_pool}
        affinity["nodeAffinity"] = {_PREFERRED: [term]}
    for kind in ("podAffinity", "podAntiAffinity"):
        if random.random() < _PREFERENCE_SHARE:
            app = random.choice([name, "w0"])
            term = {
                "weight": random.randint(1, 100),
                "podAffinityTerm": {
                    "labelSelector": {"matchLabels": {"app": app}},
                    "topologyKey": random.choice([HOSTNAME, ZONE]),
                },
            }
            affinity[kind] = {_PREFERRED: [term]}
    return {"affinity": affinity} if affinity else {}
