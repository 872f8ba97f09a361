"""What RBAC cannot say and the shipped policies do: fields of pods, and who writes our slices."""

from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack

import pytest

from app.config import NAME
from app.kube.pods import WOKEN_AT
from tests.actors import api as kinds
from tests.actors.api import Api, Key, Kind, Object, RefusedError, key_of
from tests.e2e.control_plane import ControlPlane
from tests.e2e.users import ADMIN, EXTENDER
from tests.e2e.waiting import until
from tests.fakes.installed import NAMESPACE

pytestmark = pytest.mark.gate

ROLES = Kind("rbac.authorization.k8s.io/v1", "roles", "Role")
ROLE_BINDINGS = Kind("rbac.authorization.k8s.io/v1", "rolebindings", "RoleBinding")
EDITOR = "editor"
"""Somebody who may write EndpointSlices in Longhorn's namespace."""
MIRRORING = "system:serviceaccount:kube-system:endpointslicemirroring-controller"
"""What Kubernetes makes slices of Endpoints as."""
SERVICE_LABEL = "kubernetes.io/service-name"
REFUSED = 422
POD = Key("default", "guarded")
OURS, OF_ANOTHER = Key(NAMESPACE, "of-the-service"), Key(NAMESPACE, "of-another")


class Users:
    """The API as each of those who write."""

    def __init__(self, admin: Api, account: Api, editor: Api) -> None:
        self.admin = admin
        self.account = account
        self.editor = editor


@pytest.fixture
async def users(control_plane: ControlPlane) -> AsyncIterator[Users]:
    """Have a pod with an annotation, a slice of ours and one of another Service."""
    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(await control_plane.client(user))
            for user in (ADMIN, EXTENDER, ADMIN)
        ]
        clients[2].set_default_header("Impersonate-User", EDITOR)
        users = Users(*map(Api, clients))
        admin = users.admin
        await admin.ensure(role(), ROLES)
        await admin.ensure(binding(), ROLE_BINDINGS)
        made: list[tuple[Object, Kind]] = [
            (a_pod(), kinds.PODS),
            (a_slice(OURS, NAME), kinds.ENDPOINT_SLICES),
            (a_slice(OF_ANOTHER, "another"), kinds.ENDPOINT_SLICES),
        ]
        for obj, kind in made:
            await admin.create(obj, kind)
        await until(lambda: applies(users), within=30, what="the policies")
        yield users
        for obj, kind in made:
            await admin.delete(kind, key_of(obj), at_once=kind is kinds.PODS)


async def applies(users: Users) -> bool:
    """Whether the API server has taken up both policies."""
    editing = users.editor.patch(kinds.ENDPOINT_SLICES, OURS, {"endpoints": []})
    changing = users.account.patch(kinds.PODS, POD, {"metadata": {"labels": {"app": "x"}}})
    return await is_refused(editing) and await is_refused(changing)


async def is_refused(request: Awaitable[object]) -> bool:
    """Whether a policy refuses a request, and not the right to make it."""
    try:
        await request
    except RefusedError as error:
        if error.status == REFUSED and "ValidatingAdmissionPolicy" in str(error):
            return True
        raise
    return False


@pytest.mark.parametrize("value", ["2026-01-01T00:00:00Z", None], ids=["set", "removed"])
async def test_the_account_may_set_its_annotation(users, value):
    changes = {"metadata": {"annotations": {WOKEN_AT: value}}}

    assert not await is_refused(users.account.patch(kinds.PODS, POD, changes))


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"metadata": {"labels": {"app": "other"}}}, id="label"),
        pytest.param({"metadata": {"labels": None}}, id="labels"),
        pytest.param({"metadata": {"annotations": {"mine": "x"}}}, id="annotation-changed"),
        pytest.param({"metadata": {"annotations": {"mine": None}}}, id="annotation-removed"),
        pytest.param({"metadata": {"annotations": {"new": "x"}}}, id="annotation-added"),
        pytest.param({"metadata": {"annotations": None}}, id="annotations"),
        pytest.param({"metadata": {"finalizers": ["example.com/x"]}}, id="finalizer"),
        pytest.param(
            {"spec": {"containers": [{"name": "app", "image": "evil"}]}},
            id="image",
        ),
        pytest.param({"spec": {"activeDeadlineSeconds": 1}}, id="deadline"),
    ],
)
async def test_the_account_may_change_nothing_else_of_a_pod(users, changes):
    before = await users.admin.get(kinds.PODS, POD.name, POD.namespace)

    assert await is_refused(users.account.patch(kinds.PODS, POD, changes))
    assert await users.admin.get(kinds.PODS, POD.name, POD.namespace) == before


async def test_others_may_change_pods_as_before(users):
    changes = {"metadata": {"labels": {"app": "other"}}}

    assert not await is_refused(users.admin.patch(kinds.PODS, POD, changes))


async def test_the_account_writes_the_slices_of_its_service(users):
    mine = a_slice(Key(NAMESPACE, "of-the-leader"), NAME)
    account = users.account

    created = await account.create(mine, kinds.ENDPOINT_SLICES)
    await account.replace({**created, "endpoints": []}, kinds.ENDPOINT_SLICES)
    await account.delete(kinds.ENDPOINT_SLICES, key_of(mine))

    assert await users.admin.get(kinds.ENDPOINT_SLICES, *reversed(key_of(mine))) is None


async def test_the_account_writes_no_slice_of_another_service(users):
    account, new = users.account, a_slice(Key(NAMESPACE, "new"), "another")
    theirs = await users.admin.get(kinds.ENDPOINT_SLICES, OF_ANOTHER.name, NAMESPACE)
    ours = await users.admin.get(kinds.ENDPOINT_SLICES, OURS.name, NAMESPACE)
    assert theirs is not None
    assert ours is not None

    assert await is_refused(account.create(new, kinds.ENDPOINT_SLICES))
    assert await is_refused(account.replace({**theirs, "endpoints": []}, kinds.ENDPOINT_SLICES))
    for slice_, service in ((theirs, NAME), (ours, "another")):
        moved = {**slice_["metadata"], "labels": {SERVICE_LABEL: service}}
        assert await is_refused(
            account.replace({**slice_, "metadata": moved}, kinds.ENDPOINT_SLICES)
        )
    assert await is_refused(account.delete(kinds.ENDPOINT_SLICES, OF_ANOTHER))


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"endpoints": [{"addresses": ["10.9.9.9"]}]}, id="endpoints"),
        pytest.param({"ports": [{"name": "http", "port": 80}]}, id="ports"),
        pytest.param({"metadata": {"labels": {SERVICE_LABEL: "another"}}}, id="taken-away"),
    ],
)
async def test_nobody_else_changes_where_the_service_leads(users, changes):
    assert await is_refused(users.editor.patch(kinds.ENDPOINT_SLICES, OURS, changes))


async def test_nobody_else_adds_or_deletes_a_slice_of_the_service(users):
    editor, stray = users.editor, a_slice(Key(NAMESPACE, "stray"), NAME)
    joined = {"metadata": {"labels": {SERVICE_LABEL: NAME}}}

    assert await is_refused(editor.create(stray, kinds.ENDPOINT_SLICES))
    assert await is_refused(editor.patch(kinds.ENDPOINT_SLICES, OF_ANOTHER, joined))
    assert await is_refused(editor.delete(kinds.ENDPOINT_SLICES, OURS))


@pytest.mark.usefixtures("users")
async def test_nor_does_the_controller_that_makes_slices_of_endpoints(control_plane):
    async with await control_plane.client(ADMIN) as client:
        client.set_default_header("Impersonate-User", MIRRORING)
        mirrored = a_slice(Key(NAMESPACE, "mirrored"), NAME)

        assert await is_refused(Api(client).create(mirrored, kinds.ENDPOINT_SLICES))


async def test_others_write_what_does_not_lead_and_the_slices_of_other_services(users):
    of_garbage_collector = {"metadata": {"annotations": {"any": "thing"}, "ownerReferences": []}}
    endpoints = {"endpoints": [{"addresses": ["10.9.9.9"]}]}

    for key, changes in ((OURS, of_garbage_collector), (OF_ANOTHER, endpoints)):
        assert not await is_refused(users.editor.patch(kinds.ENDPOINT_SLICES, key, changes))


async def test_an_administrator_repairs_them_by_hand(users):
    endpoints = {"endpoints": [{"addresses": ["10.9.9.9"]}]}

    assert not await is_refused(users.admin.patch(kinds.ENDPOINT_SLICES, OURS, endpoints))


async def test_kubernetes_deletes_the_slices_of_a_service_that_is_deleted(users):
    async def is_gone() -> bool:
        return await users.admin.get(kinds.ENDPOINT_SLICES, "owned", NAMESPACE) is None

    gone = {"apiVersion": "v1", "kind": "Service", "name": "gone", "uid": "no-such-uid"}
    owned = a_slice(Key(NAMESPACE, "owned"), NAME)
    owned["metadata"]["ownerReferences"] = [gone]

    await users.admin.create(owned, kinds.ENDPOINT_SLICES)

    await until(is_gone, within=60, what="the slice without an owner")


def a_pod() -> Object:
    return {
        "metadata": {
            "name": POD.name,
            "namespace": POD.namespace,
            "labels": {"app": "guarded"},
            "annotations": {"mine": "1"},
        },
        "spec": {
            "schedulerName": "none",
            "activeDeadlineSeconds": 3600,
            "containers": [{"name": "app", "image": "none"}],
        },
    }


def a_slice(key: Key, service: str) -> Object:
    return {
        "metadata": {
            "name": key.name,
            "namespace": key.namespace,
            "labels": {SERVICE_LABEL: service},
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.42.0.1"]}],
        "ports": [{"name": "http", "port": 9504}],
    }


def role() -> Object:
    rule = {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["*"]}
    return {"metadata": {"name": EDITOR, "namespace": NAMESPACE}, "rules": [rule]}


def binding() -> Object:
    return {
        "metadata": {"name": EDITOR, "namespace": NAMESPACE},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": EDITOR},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": EDITOR}],
    }
