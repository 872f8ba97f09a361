"""What must hold at every moment of a run, and what at its end."""

from typing import Any

from tests.actors.api import Object
from tests.actors.longhorn.granted import starts_without_room, wrong_change
from tests.actors.scheduler import Answered, Assumed, Bound, Event, Forgotten, Refused
from tests.fakes import Change, Resource
from tests.integration.instances import Process
from tests.simulation.attaching import Attaching
from tests.simulation.calm import Calm
from tests.simulation.choices import Answer, Choice, Choices, refusal_of
from tests.simulation.everywhere import Everywhere
from tests.simulation.limits import Excuse, Limits
from tests.simulation.losses import Losses
from tests.simulation.plan import Plan
from tests.simulation.together import Known
from tests.simulation.trace import Trace
from tests.simulation.truth import CLAIMS, PODS, REPLICAS, SCHEDULES
from tests.simulation.world import World

HEARD_SECONDS = 2.0
"""What is older was heard of by a leader that answers, when the network is well."""


class Invariants:
    """Watches a run.

    Attributes:
        violations: What went wrong, the first of it first.
    """

    def __init__(self, plan: Plan, trace: Trace) -> None:
        self.violations: list[str] = []
        self._attaching: Attaching | None = None
        self._plan = plan
        self._trace = trace
        self._answers: dict[str, Answer] = {}
        self._leaders: list[str] = []
        self._granted: set[tuple[str, str]] = set()
        self._placed: set[tuple[str, str]] = set()
        self._asking: set[str] = set()

    def watch_runners(self) -> None:
        """Judge from now on whether volumes can be attached to the nodes that are chosen."""
        self._attaching = Attaching(self._truth, lambda: self._trace.seconds)
        self._losses.ceased_since = self._attaching.ceased_since
        self._losses.lacks = self._attaching.lacks
        self._world.server.observers.append(self._attaching.changed)

    def watch(self, world: World) -> None:
        """Begin to look at a world; nothing runs in it yet."""
        self._world = world
        self._truth = world.truth
        self.choices = Choices(world.truth, lambda: world.news_seconds, world.is_deaf)
        self._limits = Limits(world.truth, self.choices, self._plan, world.unheard)
        self._everywhere = Everywhere(world.truth, self.choices, self._limits)
        self._losses = Losses(world.truth, self.choices, self._limits, self._plan, self._trace)
        self.calm = Calm(world.truth, self._everywhere, self._losses, self._plan)
        world.server.observers.append(self._changed)
        world.service.answered.append(self._answered)

    def told(self, scheduler: int, event: Event) -> None:
        """Take in what a scheduler does."""
        name = event.pod["metadata"]["name"]
        uid = event.pod["metadata"]["uid"]
        match event:
            case Answered(_, accepted, error):
                self._trace.count("filter calls")
                said = error or " ".join(sorted(accepted)) or "no node"
                self._trace.note_change(f"answer for {name}:", said)
                if not (accepted or error):
                    self.choices.take_back(uid)
            case Assumed(pod, node):
                self._trace.note_change(f"answer for {name}:", f"chosen is {node}")
                self._chosen(pod, node, scheduler)
            case Forgotten(_, node, why):
                self._trace.note(f"forget {node} for {name}: {why}")
                self._trace.count("attempts that failed after a choice")
                self.choices.fail(uid)
            case Bound(_, node):
                self._trace.note(f"bound {name} to {node}")
            case Refused(_, reason, message):
                self._trace.note_change(f"refuse {name}:", f"{reason}: {message}")

    def crashed(self, scheduler: int) -> None:
        """Take in that a scheduler has ended."""
        self.choices.crash(scheduler)

    def _chosen(self, pod: Object, node: str, scheduler: int) -> None:
        uid = pod["metadata"]["uid"]
        volumes = self._truth.volumes(pod)
        needed = self._truth.wants(pod)
        names = {volume.name for volume in volumes}
        # Where a replica is for good, no room is held for another one, should it go.
        here = {
            each["spec"]["volumeName"]
            for each in self._truth.placed_of(names, for_good=True)
            if each["spec"]["nodeID"] == node
        }
        choice = Choice(
            pod=pod["metadata"]["name"],
            uid=uid,
            node=node,
            scheduler=scheduler,
            answer=self._answers[uid],
            knows_kind=self._answers[uid].knows_kind,
            volumes=tuple(volumes),
            wants=tuple(want for want in needed if want.volume not in here),
            placed_before=frozenset(
                (str(each.name), str(each.disk))
                for name in names
                for each in self._answers[uid].known.replicas.get(name, ())
                if each.disk
            ),
            refusal=refusal_of(pod),
        )
        self._judge_attaching(choice)
        self.choices.put(choice)
        self.choices.refresh(self._trace.seconds)
        if not self._plan.keeps_holds:
            self._trace.count("choices not judged: the settings keep no holds")
            return
        if not choice.knows_kind:
            self._trace.count("choices not judged: DiskSchedules are not known yet")
            return
        self._trace.count("choices judged")
        if not self._judge(choice, self._limits.judge(choice)):
            others = [str(each) for each in self.choices.on_node(node) if each is not choice]
            placed_here = [
                f"{each['metadata']['name']} {int(each['spec']['volumeSize']) / 2**30:g} GiB"
                for each in self._truth.placed()
                if each["spec"]["nodeID"] == node
            ]
            self.violate(
                f"beyond the limit: {choice}; chosen there: {'; '.join(others)}; "
                f"placed there: {', '.join(placed_here)}; disks: {self._plan.nodes[node]}"
            )
        elif self._everywhere.is_beyond_judgement(choice):
            self._trace.count("choices not judged by 2: too much is to be placed")
        elif not self._judge(choice, self._everywhere.judge(choice)):
            self.violate(f"no room left for all: {choice}; {self._everywhere.describe(choice)}")

    def _judge_attaching(self, choice: Choice) -> None:
        """Judge whether the volumes of a choice can be attached, as far as that was known."""
        if self._attaching is None:
            return
        self._trace.count("choices judged by what runs on the node")
        for volume in choice.volumes:
            lacks = self._attaching.lacks_since(volume, choice.node)
            if volume.attached_to == choice.node or lacks is None or lacks[1] > choice.answer.at:
                continue
            if self._plan.faults or choice.answer.at - lacks[1] < HEARD_SECONDS:
                self._trace.count("choices of nodes where nothing attaches, not known in time")
            else:
                self.violate(f"{volume.name} lacks {lacks[0]} since {lacks[1]:.3f}: {choice}")

    def _judge(self, choice: Choice, verdict: Excuse | bool) -> bool:  # noqa: FBT001 (it is a verdict)
        """Note an excuse; return whether there is a verdict that can be kept."""
        if isinstance(verdict, Excuse):
            self._trace.count(f"excuse: {verdict}")
            self._trace.note(f"excused: {verdict}")
            self._losses.note(choice, verdict)
        return bool(verdict)

    def _answered(self, process: Process, body: dict[str, Any], pod: Object) -> None:
        """Look at an answer the moment that it is given."""
        uid = pod["metadata"]["uid"]
        view = process.instance.cluster.view
        known = Known(
            nodes=[space.node for space in view.spaces.values()],
            volumes={str(name): volume for name, volume in view.volumes.items()},
            replicas={str(name): tuple(found) for name, found in view.replicas.items()},
        )
        self._answers[uid] = Answer(
            at=self._trace.seconds,
            by=process.pod,
            known=known,
            knows_kind=self.knows_kind(process),
        )
        if not body["Error"]:
            self._check_rebuilt(process, uid)

    def _check_rebuilt(self, process: Process, asked: str) -> None:
        """After a change of leaders, the new one must hold what shows in the cluster.

        The answer for the pod with uid *asked* has replaced what was held for it.
        """
        if self._leaders[-1:] == [process.pod]:
            return
        self._leaders.append(process.pod)
        self._trace.note(f"{process.pod} answers")
        self._trace.count("leader changes")
        if not self._plan.keeps_holds:
            return
        now = self._trace.seconds
        self.choices.refresh(now)
        self._note_unaware()
        ledger = ledger_of(process)
        for choice in self.choices.all():
            if choice.uid == asked:
                continue
            if choice.marked_at is None or now - choice.marked_at < HEARD_SECONDS:
                continue
            if self._runs(choice):
                continue  # a new leader reads only who does not run: what others lack is due
            waiting = self._limits.waiting(choice)
            if waiting and not self._limits.ran_out(choice, now) and choice.uid not in ledger:
                self.violate(f"not held by the new leader {process.pod}: {choice}")

    def _changed(self, resource: Resource, change: Change) -> None:
        if resource.key in (PODS, CLAIMS):
            self.choices.refresh(self._trace.seconds)
        if resource.key in (REPLICAS, SCHEDULES):
            self._take_granted()
            self._check_held()
        self._check_room(resource, change)
        leaders = self._world.service.leaders
        if len(leaders) > 1:
            self.violate(f"{len(leaders)} lead: {[each.pod for each in leaders]}")

    def _take_granted(self) -> None:
        """Look at the replicas that have come to disks, and at those that came for good."""
        granted, placed = _by_disk(self._truth.granted()), _by_disk(self._truth.placed())
        for key, replica in granted.items():
            if key not in self._granted:
                self._losses.placed(replica)
        for key, replica in placed.items():
            if key not in self._placed and key not in granted:
                self._losses.asked(replica)
        self._granted, self._placed = {*granted}, {*placed}

    def _check_held(self) -> None:
        """Until the disk has granted a replica, its room is held: it may be refused yet."""
        self._note_unaware()
        for choice in self.choices.all():
            waiting = {want.volume for want in self._limits.waiting(choice)}
            standing = {str(volume.name) for volume in self.choices.standing(choice)}
            choice.settled |= standing - waiting
            pending = {want.volume for want in self._limits.pending(choice)}
            asking = waiting - pending - choice.settled
            if asking and choice.bound_at is not None:
                self._check_holds(choice, asking)

    def _check_holds(self, choice: Choice, asking: set[str]) -> None:
        if choice.uid not in self._asking:
            self._asking.add(choice.uid)
            self._trace.count("DiskSchedules: choices whose replicas wait to be granted")
        if not self._plan.keeps_holds or self._limits.ran_out(choice, self._trace.seconds):
            return
        for leader in self._world.service.leaders:
            if leader.pod != choice.answer.by and self._runs(choice):
                continue  # a new leader reads only who does not run: what others lack is due
            is_complete = leader.instance.holds.ledger.is_complete
            if is_complete and choice.uid not in ledger_of(leader):
                self.violate(
                    f"not held by {leader.pod} until granted: {choice}, {', '.join(sorted(asking))}"
                )

    def _runs(self, choice: Choice) -> bool:
        pod = self._truth.pod(choice.uid)
        return pod is not None and pod["status"].get("phase") == "Running"

    def _check_room(self, resource: Resource, change: Change) -> None:
        """Where DiskSchedules grant room, no disk may hold too much, and nothing run without."""
        if change.new is None or not self._plan.disk_schedules:
            return
        if resource.key == SCHEDULES:
            limit = self._truth.limit_bytes(
                change.new["spec"]["nodeID"], change.new["spec"]["name"]
            )
            for wrong in wrong_change(change.old, change.new, limit):
                self.violate(wrong)
        schedules = self._truth.schedules()
        if resource.key == REPLICAS and starts_without_room(change.old, change.new, schedules):
            self.violate(f"{change.new['metadata']['name']} runs without room")

    def _note_unaware(self) -> None:
        """Expect no holds until granted where the leader does not know the DiskSchedules."""
        if not all(self.knows_kind(leader) for leader in self._world.service.leaders):
            for choice in self.choices.all():
                choice.knows_kind = False

    def knows_kind(self, process: Process) -> bool:
        """Say whether an instance knows the DiskSchedules, if there ever are any."""
        if not self._plan.disk_schedules:
            return True
        reflectors = process.instance.cluster.reflectors
        [of_kind] = [each for each in reflectors if each.name == SCHEDULES]
        is_followed = of_kind.is_complete and not (of_kind.trouble or of_kind.is_absent)
        is_noticed = is_followed or of_kind.objects > 0
        return is_noticed and of_kind.objects >= len(self._truth.schedules())

    def violate(self, text: str) -> None:
        self._trace.note(f"VIOLATED: {text}")
        self.violations.append(f"{self._trace.seconds:.3f} {text}")


def _by_disk(replicas: list[Object]) -> dict[tuple[str, str], Object]:
    return {(each["metadata"]["name"], each["spec"]["diskID"]): each for each in replicas}


def ledger_of(process: Process) -> dict[str, str]:
    """Describe what an instance holds, by pod."""
    ledger = process.instance.holds.ledger
    return {hold.pod.uid: f"{hold.pod.name}: {hold.state} {sorted(hold.nodes)}" for hold in ledger}
