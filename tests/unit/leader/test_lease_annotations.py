"""What a leader notes on its lease for others to read, and what of it stays."""

from collections.abc import Mapping
from typing import Any

import pytest

from leader.lease import annotated
from tests.unit.leader.bench import Bench
from tests.unit.leader.leases import lease

OTHERS = {"kubectl.kubernetes.io/note": "mine", "count": "1"}


def count_up(found: Mapping[str, str]) -> dict[str, str]:
    return {"count": str(int(found.get("count", "0")) + 1)}


def nothing(_: Mapping[str, str]) -> dict[str, str]:
    return {}


@pytest.mark.parametrize("found", [{}, {"annotations": None}, {"annotations": {}}])
def test_annotations_are_made_where_there_are_none(found: dict[str, Any]) -> None:
    written = annotated(lease(**found), count_up)

    assert written == lease(annotations={"count": "1"})


def test_annotations_of_others_stay() -> None:
    written = annotated(lease(annotations=OTHERS), count_up)

    assert written["metadata"]["annotations"] == {**OTHERS, "count": "2"}


@pytest.mark.parametrize("found", [{}, {"annotations": None}, {"annotations": OTHERS}])
def test_who_has_nothing_to_note_changes_nothing(found: dict[str, Any]) -> None:
    assert annotated(lease(**found), nothing) == lease(**found)


def test_what_was_read_is_not_changed() -> None:
    body = lease(annotations=OTHERS)

    annotated(body, count_up)

    assert body == lease(annotations={**OTHERS})


async def test_a_claim_and_each_renewal_are_annotated() -> None:
    bench = Bench(annotate=count_up)

    for number in range(3):
        await bench.step(after=1.0)
        assert bench.lease["metadata"]["annotations"] == {"count": str(number + 1)}


async def test_a_new_holder_goes_on_from_the_annotations_it_finds() -> None:
    bench = Bench(annotate=count_up)
    bench.write(lease("them", annotations=OTHERS))
    await bench.step()

    await bench.step(after=9.0)

    assert bench.is_leading
    assert bench.lease["metadata"]["annotations"] == {**OTHERS, "count": "2"}


async def test_a_release_leaves_the_annotations_as_they_are() -> None:
    bench = Bench(annotate=count_up)
    await bench.step()

    await bench.election.release()

    assert bench.lease["spec"]["holderIdentity"] == ""
    assert bench.lease["metadata"]["annotations"] == {"count": "1"}


async def test_an_annotation_of_somebody_else_is_found_and_kept_by_the_leader() -> None:
    bench = Bench(annotate=count_up)
    await bench.step()
    body = bench.lease
    metadata = {**body["metadata"], "annotations": {**body["metadata"]["annotations"], **OTHERS}}
    bench.write({**body, "metadata": metadata})

    await bench.step(after=1.0)

    assert bench.is_leading
    assert bench.lease["metadata"]["annotations"] == {**OTHERS, "count": "2"}
