"""What a Lease may hold, and who may write one."""

import asyncio
from typing import Any

import pytest

from tests.actors.api import LEASES
from tests.contract.exchange import ask, named

NOW = "2026-03-01T10:00:00.123456Z"


def lease(*, version: str | None = None, **spec: Any) -> dict[str, Any]:
    fields = {"holderIdentity": "us", "leaseDurationSeconds": 15, "renewTime": NOW, **spec}
    return named("a", version=version, spec=fields)


async def test_a_lease_reads_back_as_written(api_client, namespace):
    spec = {
        "holderIdentity": "us",
        "leaseDurationSeconds": 15,
        "acquireTime": NOW,
        "renewTime": NOW,
        "leaseTransitions": 0,
    }
    await ask(api_client, "POST", LEASES.path(namespace), body=named("a", spec=spec))

    read = await ask(api_client, "GET", f"{LEASES.path(namespace)}/a")

    assert read.json["spec"] == spec


async def test_of_two_candidates_for_a_missing_lease_one_creates_it(api_client, namespace):
    path = LEASES.path(namespace)

    replies = await asyncio.gather(
        *(ask(api_client, "POST", path, body=lease(holderIdentity=who)) for who in ("us", "them"))
    )

    [created] = [reply for reply in replies if reply.status == 201]
    [refused] = [reply for reply in replies if reply.status != 201]
    assert refused.refusal == (409, "AlreadyExists")
    assert (await ask(api_client, "GET", f"{path}/a")).json == created.json


async def test_a_lease_is_renewed_with_the_metadata_it_was_read_with(api_client, namespace):
    path = LEASES.path(namespace)
    await ask(api_client, "POST", path, body=lease())
    read = await ask(api_client, "GET", f"{path}/a")
    later = "2026-03-01T10:00:05.000001Z"

    body = {**lease(renewTime=later), "metadata": read.json["metadata"]}
    renewed = await ask(api_client, "PUT", f"{path}/a", body=body)

    assert renewed.status == 200
    assert renewed.json["spec"]["renewTime"] == later
    assert renewed.json["metadata"]["uid"] == read.json["metadata"]["uid"]
    assert renewed.version != read.version


@pytest.mark.parametrize(
    "time",
    [
        pytest.param("2026-03-01T10:00:00Z", id="no-fraction"),
        pytest.param("2026-03-01T10:00:00.123Z", id="three-digits"),
        pytest.param("2026-03-01T10:00:00.123456789Z", id="nine-digits"),
        pytest.param("2026-03-01T10:00:00.123456", id="no-zone"),
    ],
)
async def test_a_time_has_six_digits_and_a_zone(api_client, namespace, time):
    refused = await ask(api_client, "POST", LEASES.path(namespace), body=lease(renewTime=time))

    assert refused.refusal == (400, "BadRequest")


@pytest.mark.parametrize(
    ("field", "value"),
    [("leaseDurationSeconds", 0), ("leaseDurationSeconds", -1), ("leaseTransitions", -1)],
)
async def test_durations_are_positive_and_transitions_not_negative(
    api_client, namespace, field, value
):
    body = named("a", spec={"leaseDurationSeconds": 15, field: value})

    refused = await ask(api_client, "POST", LEASES.path(namespace), body=body)

    assert refused.refusal == (422, "Invalid")
    assert refused.wrong_fields == {f"spec.{field}"}
    assert refused.json["message"].startswith('Lease.coordination.k8s.io "a" is invalid: ')


async def test_a_renewal_of_an_older_version_is_refused(api_client, namespace):
    path = LEASES.path(namespace)
    created = await ask(api_client, "POST", path, body=lease())
    taken = lease(version=created.version, holderIdentity="them")
    await ask(api_client, "PUT", f"{path}/a", body=taken)

    refused = await ask(api_client, "PUT", f"{path}/a", body=lease(version=created.version))

    assert refused.refusal == (409, "Conflict")
    read = await ask(api_client, "GET", f"{path}/a")
    assert read.json["spec"]["holderIdentity"] == "them"


async def test_a_renewal_without_a_version_is_refused(api_client, namespace):
    """Unlike most built-in kinds: `AllowUnconditionalUpdate` of the Lease strategy is false."""
    path = LEASES.path(namespace)
    await ask(api_client, "POST", path, body=lease())

    refused = await ask(api_client, "PUT", f"{path}/a", body=lease())

    assert refused.refusal == (422, "Invalid")
    assert refused.wrong_fields == {"metadata.resourceVersion"}


async def test_a_put_creates_a_missing_lease(api_client, namespace):
    """So a renewal brings back a Lease that somebody deleted, unless it says which one it meant."""
    path = LEASES.path(namespace)
    created = await ask(api_client, "POST", path, body=lease())
    uid = created.json["metadata"]["uid"]
    await ask(api_client, "DELETE", f"{path}/a")

    which = lease(version=created.version)
    which["metadata"]["uid"] = uid
    refused = await ask(api_client, "PUT", f"{path}/a", body=which)
    brought_back = await ask(api_client, "PUT", f"{path}/a", body=lease(version=created.version))

    assert refused.refusal == (409, "Conflict")
    assert brought_back.status == 201
    assert brought_back.json["metadata"]["uid"] != uid
