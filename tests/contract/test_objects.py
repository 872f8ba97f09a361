"""Reading and writing single objects: versions, conflicts and the forms of refusals."""

import pytest

from tests.actors.api import CONFIG_MAPS, LEASES, SETTINGS
from tests.contract.exchange import CUSTOM, ask, named


async def test_a_created_object_has_an_identity(api_client, namespace):
    created = await ask(
        api_client, "POST", CONFIG_MAPS.path(namespace), body=named("a", data={"k": "v"})
    )

    read = await ask(api_client, "GET", f"{CONFIG_MAPS.path(namespace)}/a")

    assert (created.status, read.status) == (201, 200)
    assert read.json == created.json
    assert (read.json["kind"], read.json["apiVersion"]) == ("ConfigMap", "v1")
    assert read.json["metadata"]["namespace"] == namespace
    assert read.json["metadata"]["creationTimestamp"].endswith("Z")
    assert len(read.json["metadata"]["uid"]) == 36
    assert read.version.isdecimal()


async def test_an_update_that_changes_nothing_keeps_the_version(api_client, namespace):
    path = CONFIG_MAPS.path(namespace)
    created = await ask(api_client, "POST", path, body=named("a", data={"k": "1"}))

    updated = await ask(api_client, "PUT", f"{path}/a", body=created.json)

    assert (updated.status, updated.version) == (200, created.version)


async def test_a_stale_update_is_refused_and_changes_nothing(api_client, namespace):
    path = CONFIG_MAPS.path(namespace)
    first = await ask(api_client, "POST", path, body=named("a", data={"k": "1"}))
    body = named("a", version=first.version, data={"k": "2"})
    second = await ask(api_client, "PUT", f"{path}/a", body=body)

    stale = await ask(
        api_client, "PUT", f"{path}/a", body=named("a", version=first.version, data={"k": "3"})
    )

    assert stale.refusal == (409, "Conflict")
    assert stale.json["message"] == (
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    assert stale.json["details"] == {"name": "a", "kind": "configmaps"}
    assert (await ask(api_client, "GET", f"{path}/a")).json == second.json


async def test_a_custom_resource_is_not_overwritten_without_a_version(api_client, namespace):
    path = SETTINGS.path(namespace)
    created = await ask(api_client, "POST", path, body=named("a", value="1", **CUSTOM))

    refused = await ask(api_client, "PUT", f"{path}/a", body=named("a", value="2", **CUSTOM))
    body = named("a", version=created.version, value="2", **CUSTOM)
    updated = await ask(api_client, "PUT", f"{path}/a", body=body)

    assert created.status == 201
    assert refused.refusal == (422, "Invalid")
    assert refused.wrong_fields == {"metadata.resourceVersion"}
    assert (updated.status, updated.json["value"]) == (200, "2")


async def test_what_does_not_exist_is_not_found(api_client, namespace):
    path = f"{LEASES.path(namespace)}/a"
    missing = await ask(api_client, "GET", path)
    deleted = await ask(api_client, "DELETE", path)
    patched = await ask(api_client, "PATCH", path, body={"spec": {"holderIdentity": "us"}})
    updated = await ask(api_client, "PUT", f"{CONFIG_MAPS.path(namespace)}/a", body=named("a"))

    assert missing.refusal == deleted.refusal == patched.refusal == (404, "NotFound")
    assert missing.json == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'leases.coordination.k8s.io "a" not found',
        "reason": "NotFound",
        "details": {"name": "a", "group": "coordination.k8s.io", "kind": "leases"},
        "code": 404,
    }
    assert updated.refusal == (404, "NotFound")


async def test_nothing_is_created_in_a_missing_namespace(api_client):
    refused = await ask(api_client, "POST", CONFIG_MAPS.path("no-such-namespace"), body=named("a"))

    assert refused.refusal == (404, "NotFound")
    assert refused.json["message"] == 'namespaces "no-such-namespace" not found'


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(named("b"), id="another-name"),
        pytest.param(named("a", metadata={"namespace": "default"}), id="another-namespace"),
        pytest.param(named("a", kind="Secret", apiVersion="v1"), id="another-kind"),
    ],
)
async def test_a_body_must_agree_with_the_path(api_client, namespace, body):
    path = CONFIG_MAPS.path(namespace)
    await ask(api_client, "POST", path, body=named("a"))

    refused = await ask(api_client, "PUT", f"{path}/a", body=body)

    assert refused.refusal == (400, "BadRequest")


async def test_a_patch_merges(api_client, namespace):
    path = CONFIG_MAPS.path(namespace)
    created = await ask(api_client, "POST", path, body=named("a", data={"k": "1", "l": "1"}))

    patched = await ask(
        api_client, "PATCH", f"{path}/a", body={"data": {"k": "2", "l": None, "m": "2"}}
    )
    stale = {"metadata": {"resourceVersion": created.version}, "data": {"k": "3"}}
    refused = await ask(api_client, "PATCH", f"{path}/a", body=stale)

    assert (patched.status, patched.json["data"]) == (200, {"k": "2", "m": "2"})
    assert refused.refusal == (409, "Conflict")


async def test_a_patch_does_not_change_the_uid(api_client, namespace):
    path = CONFIG_MAPS.path(namespace)
    await ask(api_client, "POST", path, body=named("a"))

    body = {"metadata": {"uid": "35bf992d-c9e9-4616-a12e-7696a6cecc1b"}}
    refused = await ask(api_client, "PATCH", f"{path}/a", body=body)

    assert refused.refusal == (422, "Invalid")
    assert refused.wrong_fields == {"metadata.uid"}


async def test_a_deleted_object_is_gone_and_its_name_free(api_client, namespace):
    path = SETTINGS.path(namespace)
    first = await ask(api_client, "POST", path, body=named("a", **CUSTOM))

    deleted = await ask(api_client, "DELETE", f"{path}/a")
    missing = await ask(api_client, "GET", f"{path}/a")
    second = await ask(api_client, "POST", path, body=named("a", **CUSTOM))

    uid = first.json["metadata"]["uid"]
    assert (deleted.status, deleted.json["status"]) == (200, "Success")
    assert deleted.json["details"] == {
        "name": "a",
        "group": "longhorn.io",
        "kind": "settings",
        "uid": uid,
    }
    assert missing.refusal == (404, "NotFound")
    assert second.json["metadata"]["uid"] != uid


async def test_a_deletion_can_ask_for_a_version_or_a_uid(api_client, namespace):
    path = CONFIG_MAPS.path(namespace)
    first = await ask(api_client, "POST", path, body=named("a"))
    second = await ask(api_client, "PUT", f"{path}/a", body=named("a", data={"k": "v"}))

    stale = {"preconditions": {"resourceVersion": first.version}}
    other = {"preconditions": {"uid": "35bf992d-c9e9-4616-a12e-7696a6cecc1b"}}
    refused = [await ask(api_client, "DELETE", f"{path}/a", body=body) for body in (stale, other)]
    uid = second.json["metadata"]["uid"]
    body = {"preconditions": {"resourceVersion": second.version, "uid": uid}}
    deleted = await ask(api_client, "DELETE", f"{path}/a", body=body)

    assert [reply.refusal for reply in refused] == [(409, "Conflict")] * 2
    assert deleted.status == 200


async def test_an_unknown_resource_is_a_page_not_found(api_client, namespace):
    path = f"/apis/longhorn.io/v1beta2/namespaces/{namespace}/no-such-things"

    missing = await ask(api_client, "GET", path)

    assert (missing.status, missing.data) == (404, b"404 page not found\n")
    assert missing.content_type.startswith("text/plain")
