"""What a Lease may hold, and who may write one."""

import asyncio
from typing import Any

import pytest

from tests.contract.exchange import named

NOW = "2026-03-01T10:00:00.123456Z"


def lease(*, version: str | None = None, **spec: Any) -> dict[str, Any]:
    fields = {"holderIdentity": "us", "leaseDurationSeconds": 15, "renewTime": NOW, **spec}
    return named("a", version=version, spec=fields)


async def test_a_lease_reads_back_as_written(leases):
    spec = {
        "holderIdentity": "us",
        "leaseDurationSeconds": 15,
        "acquireTime": NOW,
        "renewTime": NOW,
        "leaseTransitions": 0,
    }
    await leases.post(named("a", spec=spec))

    assert (await leases.read()).json["spec"] == spec


async def test_of_two_candidates_for_a_missing_lease_one_creates_it(leases):

    replies = await asyncio.gather(
        *(leases.post(lease(holderIdentity=who)) for who in ("us", "them"))
    )

    [created] = [reply for reply in replies if reply.status == 201]
    [refused] = [reply for reply in replies if reply.status != 201]
    assert refused.refusal == (409, "AlreadyExists")
    assert (await leases.read()).json == created.json


async def test_a_lease_is_renewed_with_the_metadata_it_was_read_with(leases):
    await leases.post(lease())
    read = await leases.read()
    later = "2026-03-01T10:00:05.000001Z"

    renewed = await leases.put({**lease(renewTime=later), "metadata": read.json["metadata"]})

    assert renewed.status == 200
    assert renewed.json["spec"]["renewTime"] == later
    assert renewed.json["metadata"]["uid"] == read.json["metadata"]["uid"]
    assert renewed.version != read.version


WRONG_TIMES = {
    "no fraction": "2026-03-01T10:00:00Z",
    "three digits": "2026-03-01T10:00:00.123Z",
    "nine digits": "2026-03-01T10:00:00.123456789Z",
    "no zone": "2026-03-01T10:00:00.123456",
}


@pytest.mark.parametrize("time", WRONG_TIMES.values(), ids=WRONG_TIMES)
async def test_a_time_has_six_digits_and_a_zone(leases, time):
    assert (await leases.post(lease(renewTime=time))).refusal == (400, "BadRequest")


@pytest.mark.parametrize(
    ("field", "value"),
    [("leaseDurationSeconds", 0), ("leaseDurationSeconds", -1), ("leaseTransitions", -1)],
)
async def test_durations_are_positive_and_transitions_not_negative(leases, field, value):
    refused = await leases.post(named("a", spec={"leaseDurationSeconds": 15, field: value}))

    assert refused.refusal == (422, "Invalid")
    assert refused.wrong_fields == {f"spec.{field}"}
    assert refused.json["message"].startswith('Lease.coordination.k8s.io "a" is invalid: ')


async def test_a_renewal_of_an_older_version_is_refused(leases):
    created = await leases.post(lease())
    await leases.put(lease(version=created.version, holderIdentity="them"))

    refused = await leases.put(lease(version=created.version))

    assert refused.refusal == (409, "Conflict")
    assert (await leases.read()).json["spec"]["holderIdentity"] == "them"


async def test_a_renewal_without_a_version_is_refused(leases):
    """Unlike most built-in kinds: `AllowUnconditionalUpdate` of the Lease strategy is false."""
    await leases.post(lease())

    refused = await leases.put(lease())

    assert refused.refusal == (422, "Invalid")
    assert refused.wrong_fields == {"metadata.resourceVersion"}


async def test_a_put_creates_a_missing_lease(leases):
    """So a renewal brings back a Lease that somebody deleted, unless it says which one it meant."""
    created = await leases.post(lease())
    uid = created.json["metadata"]["uid"]
    await leases.delete()

    which = lease(version=created.version)
    which["metadata"]["uid"] = uid
    refused = await leases.put(which)
    brought_back = await leases.put(lease(version=created.version))

    assert refused.refusal == (409, "Conflict")
    assert brought_back.status == 201
    assert brought_back.json["metadata"]["uid"] != uid
