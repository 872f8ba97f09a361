"""Reading and writing single objects: versions, conflicts and the forms of refusals."""

import pytest

from tests.actors.api import CONFIG_MAPS
from tests.contract.exchange import Folder, ask, named

OTHER_UID = "35bf992d-c9e9-4616-a12e-7696a6cecc1b"


async def test_a_created_object_has_an_identity(config_maps, namespace):
    created = await config_maps.create(data={"k": "v"})

    read = await config_maps.read()

    assert read.status == 200
    assert read.json == created.json
    assert (read.json["kind"], read.json["apiVersion"]) == ("ConfigMap", "v1")
    assert read.json["metadata"]["namespace"] == namespace
    assert read.json["metadata"]["creationTimestamp"].endswith("Z")
    assert len(read.json["metadata"]["uid"]) == 36
    assert read.version.isdecimal()


async def test_an_update_that_changes_nothing_keeps_the_version(config_maps):
    created = await config_maps.create(data={"k": "1"})

    updated = await config_maps.put(created.json)

    assert (updated.status, updated.version) == (200, created.version)


async def test_a_stale_update_is_refused_and_changes_nothing(config_maps):
    first = await config_maps.create(data={"k": "1"})
    second = await config_maps.put(named("a", version=first.version, data={"k": "2"}))

    stale = await config_maps.put(named("a", version=first.version, data={"k": "3"}))

    assert stale.refusal == (409, "Conflict")
    assert stale.json["message"] == (
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    assert stale.json["details"] == {"name": "a", "kind": "configmaps"}
    assert (await config_maps.read()).json == second.json


async def test_a_custom_resource_is_not_overwritten_without_a_version(settings):
    created = await settings.create(value="1")

    refused = await settings.put(settings.body(value="2"))
    updated = await settings.put(settings.body(version=created.version, value="2"))

    assert refused.refusal == (422, "Invalid")
    assert refused.wrong_fields == {"metadata.resourceVersion"}
    assert (updated.status, updated.json["value"]) == (200, "2")


async def test_what_does_not_exist_is_not_found(leases, config_maps):
    missing = await leases.read()
    deleted = await leases.delete()
    patched = await leases.patch({"spec": {"holderIdentity": "us"}})
    updated = await config_maps.put(named("a"))

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
    nowhere = Folder(api_client, CONFIG_MAPS.path("no-such-namespace"))

    refused = await nowhere.post(named("a"))

    assert refused.refusal == (404, "NotFound")
    assert refused.json["message"] == 'namespaces "no-such-namespace" not found'


ANOTHER = {
    "name": named("b"),
    "namespace": named("a", metadata={"namespace": "default"}),
    "kind": named("a", kind="Secret", apiVersion="v1"),
}


@pytest.mark.parametrize("body", ANOTHER.values(), ids=ANOTHER)
async def test_a_body_must_agree_with_the_path(config_maps, body):
    await config_maps.create()

    refused = await config_maps.put(body)

    assert refused.refusal == (400, "BadRequest")


async def test_a_patch_merges(config_maps):
    created = await config_maps.create(data={"k": "1", "l": "1"})

    patched = await config_maps.patch({"data": {"k": "2", "l": None, "m": "2"}})
    stale = {"metadata": {"resourceVersion": created.version}, "data": {"k": "3"}}
    refused = await config_maps.patch(stale)

    assert (patched.status, patched.json["data"]) == (200, {"k": "2", "m": "2"})
    assert refused.refusal == (409, "Conflict")


async def test_a_patch_does_not_change_the_uid(config_maps):
    await config_maps.create()

    refused = await config_maps.patch({"metadata": {"uid": OTHER_UID}})

    assert refused.refusal == (422, "Invalid")
    assert refused.wrong_fields == {"metadata.uid"}


async def test_a_deleted_object_is_gone_and_its_name_free(settings):
    first = await settings.create()

    deleted = await settings.delete()
    missing = await settings.read()
    second = await settings.create()

    uid = first.json["metadata"]["uid"]
    assert (deleted.status, deleted.json["status"]) == (200, "Success")
    kind = {"group": "longhorn.io", "kind": "settings"}
    assert deleted.json["details"] == {"name": "a", "uid": uid, **kind}
    assert missing.refusal == (404, "NotFound")
    assert second.json["metadata"]["uid"] != uid


async def test_a_deletion_can_ask_for_a_version_or_a_uid(config_maps):
    first = await config_maps.create()
    second = await config_maps.put(named("a", data={"k": "v"}))

    def meant(**seen):
        return {"preconditions": seen}

    stale = await config_maps.delete(body=meant(resourceVersion=first.version))
    other = await config_maps.delete(body=meant(uid=OTHER_UID))
    uid = second.json["metadata"]["uid"]
    deleted = await config_maps.delete(body=meant(resourceVersion=second.version, uid=uid))

    assert stale.refusal == other.refusal == (409, "Conflict")
    assert deleted.status == 200


async def test_an_unknown_resource_is_a_page_not_found(api_client, namespace):
    path = f"/apis/longhorn.io/v1beta2/namespaces/{namespace}/no-such-things"

    missing = await ask(api_client, "GET", path)

    assert (missing.status, missing.data) == (404, b"404 page not found\n")
    assert missing.content_type.startswith("text/plain")
