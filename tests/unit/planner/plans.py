"""Plans on small clusters, in few words."""

from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

from extender.kubernetes import Claim, StorageClass
from longhorn import Locality, VolumeName
from planner.additions import Addition, Wanted
from planner.errors import PlanError
from planner.picture import Kind, StepReport
from planner.plan import Plan, Step
from planner.policy import TODAY_POLICY, Policy
from planner.records import Budget, Selector, Wishes
from planner.steps.workloads import PlaceWorkloads
from planner.workloads import STATEFUL_SET, NewClaim, Workload
from tests.builders import GIB, storage_class
from tests.unit.planner.clusters import cluster_of

SIZE_BYTES = 10 * GIB
DB = {"app": "db"}


def plan_of(
    *records: Any,
    budgets: Iterable[Budget] = (),
    seed: int = 1,
    policy: Policy = TODAY_POLICY,
) -> Plan:
    """Begin a plan on a cluster of these records; Longhorn works after each pod."""
    cluster = cluster_of(*records)
    cluster.budgets += budgets
    plan = Plan(cluster, policy, Random(seed), in_flight=1)
    plan.begin()
    return plan


def wanted(
    replicas: int = 2,
    *others: Addition,
    kind: str = STATEFUL_SET,
    size_bytes: int = SIZE_BYTES,
    of_class: StorageClass | None = None,
    copies: int = 1,
    requests: Mapping[str, int] | None = None,
    **fields: Any,
) -> Wanted:
    """Ask for a workload *new* whose pods have a claim each; it orders its pods if it can."""
    chosen = of_class or storage_class(numberOfReplicas=str(copies))
    new = NewClaim(
        namespace="default", name="data", requested_bytes=size_bytes, storage_class=chosen.name
    )
    claims: dict[str, Any] = (
        {"claim_templates": (new,), "ordered": True}
        if kind == STATEFUL_SET
        else {"volumes": (new,)}
    )
    workload = Workload(
        **{
            "kind": kind,
            "namespace": "default",
            "name": "new",
            "replicas": replicas,
            "wishes": Wishes(labels={"app": "new"}, requests=requests or {}),
            **claims,
            **fields,
        }
    )
    return Wanted(objects=(chosen, *others, workload))


def place(plan: Plan, replicas: int = 2, *others: Addition, **fields: Any) -> StepReport:
    """Place such a workload."""
    return plan.take(PlaceWorkloads(wanted=wanted(replicas, *others, **fields)))


def told(report: StepReport, *kinds: Kind) -> list[str]:
    """Return what happened, of *kinds* alone if some are given: what, to whom, and where."""
    return [
        f"{each.kind} {each.object}" + (f" {each.node}" if each.node else "")
        for each in report.events
        if not kinds or each.kind in kinds
    ]


def texts(report: StepReport, kind: Kind = Kind.REFUSED) -> list[str]:
    """Return the texts of all events of a kind."""
    return [each.text for each in report.events if each.kind is kind]


def warned(report: StepReport) -> list[str]:
    """Return what is wrong since the step."""
    return [f"{each.code} {each.object}" for each in report.warnings]


def copies_of(plan: Plan, name: str) -> list[str]:
    """Return the nodes of a volume's replicas that have not failed."""
    found = plan.cluster.view.replicas.get(VolumeName(name), ())
    return sorted(str(each.node) for each in found if not each.failed)


def volume_of(plan: Plan, claim: str) -> str:
    """Return the name of the volume of a claim in namespace default."""
    bound_to = plan.cluster.all(Claim)[f"default/{claim}"].persistent_volume
    assert bound_to is not None
    return bound_to


def node_of(plan: Plan, pod: str) -> str | None:
    """Return the node of a pod in namespace default."""
    return plan.cluster.pods[f"default/{pod}"].node


def error_of(plan: Plan, step: Step) -> str:
    """Return why a step cannot be taken."""
    try:
        plan.take(step)
    except PlanError as error:
        return str(error)
    raise AssertionError("the step was taken")


def budget(
    name: str = "pdb", *, least: str = "", most: str = "", labels: dict[str, str] | None = None
) -> Budget:
    """Build a budget for pods with these labels, those of `DB` by default."""
    return Budget(
        namespace="default",
        name=name,
        selector=Selector(labels=DB if labels is None else labels),
        least_available=least,
        most_unavailable=most,
    )


def immediate(**parameters: str) -> StorageClass:
    """Build a class that makes volumes before there is a pod, with replicas anywhere."""
    made = storage_class("now", dataLocality=Locality.DISABLED, **parameters)
    return StorageClass(
        name=made.name, provisioner=made.provisioner, parameters=made.parameters, is_immediate=True
    )
