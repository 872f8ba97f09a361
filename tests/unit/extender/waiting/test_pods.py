"""Whom to wake: those that wait longest, each once for a rejection."""

import tracemalloc
from collections.abc import Iterator
from itertools import count

import pytest
from msgspec.structs import replace

from app.kube.resource import AnyRecord
from extender.demand import resolve
from extender.kubernetes import PodStatus
from extender.verdicts.rejections import NodeTags
from extender.verdicts.shortages import InsufficientStorage
from extender.waiting import WaitingPod, WaitingPods, wants_of
from extender.waiting.pods import FORGET_SECONDS, MOST_BYTES
from longhorn import NodeName
from tests.builders import GIB, bound, pod, view_of, volume, waiting_pod, wants

NODES = 0b11
SHORT, TAGS = InsufficientStorage(size_bytes=GIB), NodeTags(selector=())


def names(waiting: WaitingPods) -> list[str]:
    return [each.pod.name for each in waiting]


def waiting_for(**since: float) -> WaitingPods:
    """Build the pods that were rejected, each at its time."""
    pods = WaitingPods()
    for name, now in since.items():
        pods.add(waiting_pod(pod(name=name), wants(), NODES, now))
    return pods


def test_a_rejected_pod_is_remembered_with_its_candidates():
    pods = waiting_for(one=3.0)

    [found] = pods
    assert found == WaitingPod(
        pod=pod(name="one"), wants=wants(), rejected={SHORT: NODES}, since=3.0, asked_at=3.0
    )
    assert found.candidates == NODES
    assert pods.is_asleep("uid-one")


def test_the_longest_wait_comes_first():
    assert names(waiting_for(d=0.5, b=1.0, a=2.0, c=2.0)) == ["d", "b", "a", "c"]


def test_the_longest_wait_counts_from_the_first_rejection():
    pods = waiting_for(one=1.0, two=2.0)
    pods.add(waiting_pod(pod(name="one"), wants(), NODES, 8.0))

    assert pods.longest_wait_seconds(10.0) == 9.0
    assert WaitingPods().longest_wait_seconds(10.0) == 0.0


def test_another_rejection_keeps_the_place_and_takes_the_new_candidates():
    pods = waiting_for(one=1.0, two=2.0)

    pods.add(waiting_pod(pod(name="one"), wants(), 0b100, 3.0))

    first = next(iter(pods))
    assert (first.pod.name, first.since, first.asked_at) == ("one", 1.0, 3.0)
    assert first.candidates == 0b100
    assert len(pods) == 2


@pytest.mark.parametrize(
    "status", [None, PodStatus(node=NodeName("node-1")), PodStatus(ended=True)]
)
def test_a_pod_that_is_seen_waits_only_if_nobody_has_found_a_node_for_it(status):
    pods = waiting_for(one=1.0, two=2.0)

    pods.see(pod(name="one"), status)
    pods.see(replace(pod(name="two"), namespace="other"), status)
    pods.see(pod(name="two"), PodStatus(version=1))
    pods.see(pod(name="gone"), None)

    assert names(pods) == ["two"]


def test_a_woken_pod_sleeps_again_only_when_it_is_rejected_again():
    pods = waiting_for(one=1.0)

    pods.mark_woken("uid-one")
    woken = pods.is_asleep("uid-one")
    pods.add(waiting_pod(pod(name="one"), wants(), NODES, 2.0))

    assert not woken
    assert pods.is_asleep("uid-one")


@pytest.mark.parametrize("uid", ["uid-two", ""])
def test_who_does_not_wait_is_not_asleep_and_cannot_be_woken(uid):
    pods = waiting_for(one=1.0)

    pods.mark_woken(uid)
    pods.forget(uid)

    assert uid not in {each.pod.uid for each in pods}
    assert names(pods) == ["one"]


def test_a_forgotten_pod_waits_no_more_and_loses_its_place():
    pods = waiting_for(one=1.0, two=2.0)

    pods.forget("uid-one")
    pods.add(waiting_pod(pod(name="one"), wants(), NODES, 3.0))

    assert names(pods) == ["two", "one"]


def test_all_pods_can_be_forgotten():
    pods = waiting_for(one=1.0, two=2.0)

    pods.forget_all()

    assert len(pods) == 0


def test_who_was_not_asked_about_for_long_is_forgotten_however_long_it_waits():
    pods = waiting_for(old=0.0, asked=0.0, new=10.0)
    pods.add(waiting_pod(pod(name="asked"), wants(), NODES, 10.0))

    pods.forget_old(FORGET_SECONDS)

    assert names(pods) == ["asked", "new"]


def fill(pods: WaitingPods) -> int:
    """Add large pods until no more are remembered; return how many are."""
    for number in count():
        large = wants(*[1] * 1_000, volumes=map(str, range(1_000)))
        if not pods.add(waiting_pod(pod(name=str(number)), large, NODES, float(number))):
            return number
    raise AssertionError


def test_who_came_last_is_left_out_if_all_take_too_much_memory():
    pods = WaitingPods()

    number = fill(pods)

    assert len(pods) == number
    assert 0.98 * MOST_BYTES < pods.size_bytes <= MOST_BYTES
    assert pods.get(f"uid-{number}") is None


def test_a_pod_that_is_remembered_is_not_lost_for_lack_of_memory():
    pods = WaitingPods()
    fill(pods)

    assert pods.add(waiting_pod(pod(name="3"), wants(), 1 << 5_000, 99_999.0))

    assert [(each.candidates, each.asked_at) for each in pods][3] == (1 << 5_000, 99_999.0)


def test_what_is_forgotten_makes_room():
    pods = WaitingPods()
    number = fill(pods)

    pods.set_wants("uid-0", wants())
    assert pods.add(waiting_pod(pod(name="another"), wants(), NODES, 0.0))
    pods.forget("uid-1")
    assert pods.add(waiting_pod(pod(name="large"), wants(volumes=map(str, range(900))), NODES, 0.0))

    for each in pods:
        pods.forget(each.pod.uid)
    assert pods.size_bytes == 0
    assert fill(pods) == number

    pods.forget_all()
    assert pods.size_bytes == 0


def claims(number: int, count: int) -> Iterator[AnyRecord]:
    for index in range(count):
        yield from bound(volume(f"volume-{number}-{index}", replicas=3))


@pytest.mark.parametrize("volumes", [1, 10])
def test_the_estimate_of_what_a_pod_takes_is_no_less_and_not_twice_as_much(volumes):
    numbers = range(50)
    view = view_of(*(each for number in numbers for each in claims(number, volumes)))
    nodes = [NodeName(f"node-{number}") for number in range(5_000)]
    pods = WaitingPods()
    pods.nodes.of(nodes, nodes)
    tracemalloc.start()
    before_bytes, _ = tracemalloc.get_traced_memory()
    for number in numbers:
        names = [f"volume-{number}-{index}" for index in range(volumes)]
        request = resolve(pod(*names, name=f"a-pod-of-some-workload-{number}"), view)
        candidates = pods.nodes.of(nodes[number:]) | pods.nodes.later
        pods.add(waiting_pod(request.pod, wants_of(request, view), candidates, 0.0))
    del names, request, candidates
    taken_bytes = tracemalloc.get_traced_memory()[0] - before_bytes
    tracemalloc.stop()

    assert taken_bytes <= pods.size_bytes < 2 * taken_bytes


def test_pods_may_come_and_go_while_one_looks_through_them():
    pods = waiting_for(a=1.0, b=2.0, c=3.0)
    seen = []

    for each in pods:
        seen.append(each.pod.name)
        pods.forget(each.pod.uid)
        pods.add(waiting_pod(pod(name=f"{each.pod.name}-again"), wants(), NODES, 9.0))

    assert seen == ["a", "b", "c"]


def test_a_pod_of_which_nothing_is_known_is_like_no_other():
    pods = waiting_for(one=1.0, two=2.0)

    pods.set_wants("uid-one", None)
    pods.set_wants("uid-two", wants(7))
    pods.set_wants("uid-gone", wants(7))

    one, two = pods
    assert one.wants.kind != wants().kind
    assert two.wants == wants(7)
