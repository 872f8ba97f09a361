"""Which kinds there are of a version."""

import pytest

from tests.contract.exchange import ask


async def test_the_kinds_of_a_version_are_listed(api_client):
    reply = await ask(api_client, "GET", "/apis/longhorn.io/v1beta2")

    assert reply.status == 200
    assert (reply.json["kind"], reply.json["groupVersion"]) == (
        "APIResourceList",
        "longhorn.io/v1beta2",
    )
    kinds = {each["name"]: each["kind"] for each in reply.json["resources"]}
    assert kinds["volumes"] == "Volume"
    assert "diskschedules" not in kinds


@pytest.mark.parametrize("path", ["/apis/longhorn.io/v1beta9", "/apis/example.com/v1"])
async def test_a_version_without_kinds_is_not_found(api_client, path):
    assert (await ask(api_client, "GET", path)).status == 404
