"""Place the pods of workloads: as many as they say, or until one gets no node."""

from collections.abc import Collection, Sequence

import msgspec
from msgspec import structs

from extender.demand import LONGHORN_PROVISIONERS
from extender.kubernetes import Claim, StorageClass, class_name
from longhorn import Node, VolumeName
from planner.additions import Wanted, add_objects
from planner.errors import PlanError, unknown
from planner.naming import first_of
from planner.picture import Event, Kind
from planner.plan import Plan
from planner.scheduling import Batch
from planner.sizes import unit_of
from planner.workloads import POD, NewClaim, Workload, pods_of

MOST_PODS = 10_000
"""So many are tried at most, unless the user says otherwise."""
_SHOWN = 3
_NAMESPACE = "default"
"""Of pods of one size."""


class PlaceWorkloads(msgspec.Struct, frozen=True, kw_only=True):
    """Create the pods of workloads that the cluster lacks, and find nodes for them."""

    wanted: Wanted
    replicas: int | None = None
    """Of each workload, None for as many as it says."""

    @property
    def title(self) -> str:
        """What is done."""
        names = _shown(self.wanted.workloads)
        return f"place {names}" + ("" if self.replicas is None else f", {self.replicas} replicas")

    @property
    def size(self) -> int:
        """How many pods there will be of all workloads."""
        if self.replicas is not None:
            return self.replicas * len(self.wanted.workloads)
        return sum(each.replicas for each in self.wanted.workloads)

    def take(self, plan: Plan) -> list[Event]:
        """Do it, and return what happened."""
        plan.notes += [*self.wanted.notes, *add_objects(self.wanted, plan.cluster)]
        plan.not_known += self.wanted.unknown
        objects = self.wanted.objects
        places = [place for place, each in enumerate(objects) if isinstance(each, Workload)]
        batches = list[Batch]()
        for place, each in zip(places, self.wanted.workloads, strict=True):
            made = pods_of(each, self.replicas, plan.cluster.pods)
            pods = tuple(one.pod for one in made)
            # Claims are made with their pods; a class that does not wait makes volumes at once.
            claims = {one.pod.key: one.claims for one in made} if each.ordered else {}
            plan.create(pods, [] if claims else [new for one in made for new in one.claims])
            batches.append(
                Batch(
                    pods=pods,
                    is_ordered=each.ordered,
                    claims=claims,
                    created_after=place,
                    objects_per_pod=0 if each.kind == POD else 1 + len(each.own_claims),
                )
            )
        return plan.schedule(batches)


class Fill(msgspec.Struct, frozen=True, kw_only=True):
    """Create pods of one workload, a group after another, until one of them gets no node."""

    wanted: Wanted
    group: int
    """So many are created together. One of a StatefulSet that orders its pods, or of a class that
    does not wait: the volumes of others would take the room of those that are tried before. One
    also of pods that share a claim of one node: the first decides where the others can run."""
    most: int = MOST_PODS

    @property
    def title(self) -> str:
        """What is done."""
        return f"fill with {self.wanted.workloads[0].key}"

    def take(self, plan: Plan) -> list[Event]:
        """Do it, and return what happened: the last event is about a pod that does not fit.

        Of the pods that get no node, or cannot start on theirs, one is told of, and all of them are
        taken away again.
        """
        workload = self._only_one()
        notes = add_objects(self.wanted, plan.cluster)
        _check_known(workload, plan)
        shared = _shared(workload, plan)
        plan.notes += [*self.wanted.notes, *notes, *_told(workload, shared)]
        plan.not_known += self.wanted.unknown
        events = list[Event]()
        of_one_node = any(not each.read_write_many for each in shared)
        one_by_one = workload.ordered or of_one_node or _is_immediate(workload, plan)
        group = 1 if one_by_one else self.group
        made = pods_of(workload, self.most + _count(workload, plan), plan.cluster.pods)[: self.most]
        for first in range(0, len(made), group):
            pods = [each.pod for each in made[first : first + group]]
            claims = [new for each in made[first : first + group] for new in each.claims]
            known = {*plan.cluster.all(Claim)}
            plan.create(pods, claims)
            happened = plan.schedule([Batch(pods=(pod,)) for pod in pods])
            happened = [_unless_stuck(each, plan) for each in happened]
            pending = [each for each in happened if each.kind is Kind.PENDING]
            for each in pending:
                self._take_away(plan, each.object, known)
            events += [each for each in happened if each.kind is not Kind.PENDING]
            if pending:
                return [*events, pending[0]]
        return events

    def _take_away(self, plan: Plan, key: str, known: Collection[str]) -> None:
        """Remove a pod, and its claims that are not *known* from before."""
        pod = plan.cluster.pods[key]
        if pod.node is not None:
            plan.volumes.detach(pod)
        plan.forget(key)
        for name in pod.ref.claims:
            claim = plan.cluster.get(Claim, name)
            if claim is not None and name not in known:
                plan.volumes.delete(claim)

    def _only_one(self) -> Workload:
        workloads = self.wanted.workloads
        if len(workloads) > 1:
            names = _shown(workloads)
            raise PlanError(f"there are several workloads ({names}); give a file with one of them")
        return workloads[0]


class Sized(msgspec.Struct, frozen=True, kw_only=True):
    """A pod with one claim, and nothing else that decides over its node."""

    size_bytes: int
    storage_class: str | None = None
    """None stands for the default class."""
    volume_replicas: int | None = None
    """None for as many as the class says."""


class FillSized(msgspec.Struct, frozen=True, kw_only=True):
    """Create pods with a claim of one size each, until one of them gets no node."""

    sized: Sized
    group: int
    """As of `Fill`."""
    most: int = MOST_PODS

    @property
    def title(self) -> str:
        """What is done."""
        sized = self.sized
        class_ = (
            f"StorageClass {sized.storage_class}" if sized.storage_class else "the default class"
        )
        wanted = sized.volume_replicas
        replicas = f", {wanted} replica{'s' if wanted > 1 else ''} each" if wanted else ""
        return f"fill with pods of {_size(sized.size_bytes)} of {class_}{replicas}"

    def take(self, plan: Plan) -> list[Event]:
        """Do it, as `Fill` does.

        Raises:
            PlanError: There is no such class, or it is not Longhorn's.
        """
        classes = plan.cluster.all(StorageClass)
        name = class_name(self.sized.storage_class, classes)
        if not name:
            raise PlanError("no StorageClass is the default; name one with --class")
        class_ = classes.get(name)
        if class_ is None:
            raise unknown("StorageClass", name, classes)
        if class_.provisioner not in LONGHORN_PROVISIONERS:
            raise PlanError(
                f"StorageClass {name} is of {class_.provisioner}, and where that has room is not "
                f"known; name one of Longhorn's"
            )
        if self.sized.volume_replicas is not None:
            class_ = _with_replicas(class_, self.sized.volume_replicas)
            plan.cluster.put(class_)
        claim = NewClaim(
            namespace=_NAMESPACE,
            name="data",
            requested_bytes=self.sized.size_bytes,
            storage_class=class_.name,
        )
        pods = Workload(kind=POD, namespace=_NAMESPACE, name=f"of-{name}", volumes=(claim,))
        return Fill(wanted=Wanted(objects=(pods,)), group=self.group, most=self.most).take(plan)


def _with_replicas(class_: StorageClass, replicas: int) -> StorageClass:
    """Return a class of another name, as there may be claims of that one which have no volume."""
    parameters = {**class_.parameters, "numberOfReplicas": str(replicas)}
    name = f"{class_.name}-with-{replicas}-replicas"
    return structs.replace(class_, name=name, parameters=parameters, is_default=False)


def _size(size_bytes: int) -> str:
    unit, name = unit_of(size_bytes)
    return f"{size_bytes / unit:g} {name}"


def _unless_stuck(event: Event, plan: Plan) -> Event:
    """Return what happened, for a pod that cannot start where it is that it does not fit."""
    if event.kind is not Kind.PLACED:
        return event
    lacking = plan.stuck(plan.cluster.pods[event.object])
    if not lacking:
        return event
    names = plan.names()
    shown = ", ".join(names.get(VolumeName(each), each) for each in lacking)
    text = f"would get {event.node}, and not start there: {shown} cannot be attached"
    return Event(kind=Kind.PENDING, object=event.object, text=text)


def _shared(workload: Workload, plan: Plan) -> list[Claim]:
    """Return the claims that all pods of a workload use together."""
    names = (each for each in workload.volumes if isinstance(each, str))
    claims = (plan.cluster.get(Claim, f"{workload.namespace}/{name}") for name in names)
    return [each for each in claims if each is not None]


def _told(workload: Workload, shared: Sequence[Claim]) -> list[str]:
    """Say of shared claims what they mean for the number of pods."""
    start = f"all pods of {workload.key} share claim "
    many, one = "its size counts once, however many there are", "only those on one node can run"
    return [f"{start}{each.key}: {many if each.read_write_many else one}" for each in shared]


def _is_immediate(workload: Workload, plan: Plan) -> bool:
    """Whether volumes of a workload are made before kube-scheduler looks at their pod."""
    classes = plan.cluster.all(StorageClass)
    names = {class_name(each.storage_class, classes) for each in workload.own_claims}
    return any(name in names and each.is_immediate for name, each in classes.items())


def _check_known(workload: Workload, plan: Plan) -> None:
    """Refuse to count pods that fit where none can: that is no capacity of 0, but a mistake.

    Raises:
        PlanError: There are no nodes, or none of Longhorn's; or a claim has no class, or one that
            is not there.
    """
    if not plan.cluster.nodes:
        raise PlanError("there is no node, so no pod fits; add what `kubectl get nodes` prints")
    classes = plan.cluster.all(StorageClass)
    for claim in workload.own_claims:
        name = class_name(claim.storage_class, classes)
        if not claim.persistent_volume and name in classes:
            _check_longhorn(classes[name], plan)
        if claim.persistent_volume or name in classes:
            continue
        if not name:
            raise PlanError(
                f"claim {claim.name} of {workload.key} has no StorageClass and no "
                f"PersistentVolume, so no pod fits; name a StorageClass, or make one the default"
            )
        raise unknown("StorageClass", name, classes)


def _check_longhorn(class_: StorageClass, plan: Plan) -> None:
    if class_.provisioner in LONGHORN_PROVISIONERS and not plan.cluster.all(Node):
        raise PlanError(
            "none of Longhorn's Nodes is known, so it is not known what fits; add what "
            "`kubectl get nodes.longhorn.io --all-namespaces` prints"
        )


def _shown(workloads: Sequence[Workload]) -> str:
    return first_of([each.key for each in workloads], _SHOWN)


def _count(workload: Workload, plan: Plan) -> int:
    """Return how many pods there are that may be the workload's, by their names."""
    start = f"{workload.namespace}/{workload.name}"
    return sum(key.startswith(start) for key in plan.cluster.pods)
