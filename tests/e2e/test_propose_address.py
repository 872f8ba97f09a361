"""`propose-address` on a real API server: it takes what is proposed, and the next one differs."""

import pytest

from app.kube.connecting import connect
from app.kube.errors import ApiError
from cli.address.command import Proposal, make_proposal
from cli.address.reading import read_addresses
from tests.actors import api as kinds
from tests.actors.api import Api, Key
from tests.e2e.control_plane import SERVICE_RANGE, ControlPlane
from tests.e2e.users import ADMIN, EXTENDER

PORTS = [{"name": "http", "port": 9504}]
TAKEN = Key("default", "takes-what-is-proposed")


async def propose(control_plane: ControlPlane, user: str = ADMIN) -> Proposal:
    connection = await connect(control_plane.users.kubeconfig(user), None)
    try:
        return make_proposal(await read_addresses(connection), "default/none")
    finally:
        await connection.close()


async def test_what_is_proposed_can_be_had(control_plane):
    proposed = await propose(control_plane)
    assert proposed.addresses == ["10.96.0.95"]
    assert f"number 95 of {SERVICE_RANGE}" in proposed.notes[0]

    async with await control_plane.client() as client:
        api = Api(client)
        spec = {"clusterIP": proposed.addresses[0], "ports": PORTS}
        metadata = {"name": TAKEN.name, "namespace": TAKEN.namespace}
        await api.create({"metadata": metadata, "spec": spec}, kinds.SERVICES)
        try:
            next_one = await propose(control_plane)
        finally:
            await api.delete(kinds.SERVICES, TAKEN)

    assert next_one.addresses == ["10.96.0.96"]


async def test_the_service_s_own_account_is_told_which_right_it_lacks(control_plane):
    with pytest.raises(ApiError, match=r"not allowed to list servicecidrs\.networking\.k8s\.io"):
        await propose(control_plane, EXTENDER)
