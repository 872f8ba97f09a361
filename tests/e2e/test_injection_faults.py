"""A webhook that gives no answer costs pods the resource and, at most, two seconds."""

import asyncio
import socket

import pytest
import trustme

from tests.admission import of_claim
from tests.e2e.control_plane import ControlPlane
from tests.e2e.injecting import (
    WEBHOOK,
    Way,
    a_pod,
    answering,
    asks,
    create,
    failures_ignored,
    installed,
    webhook,
)
from tests.e2e.waiting import until
from tests.ports import free_ports

pytestmark = pytest.mark.alone

PATIENCE_SECONDS = 60.0
SLOW_SECONDS = 2.0
"""timeoutSeconds of the configuration."""


async def expect_ignored(control_plane: ControlPlane) -> float:
    """Expect pods to be created as they are, without a warning; return how long one takes."""
    before = await failures_ignored(control_plane)

    async def has_failed() -> bool:
        await create(control_plane, a_pod(of_claim("x")), dry_run=True)
        return await failures_ignored(control_plane) > before

    await until(has_failed, within=PATIENCE_SECONDS, what="calls of the webhook")
    created = await create(control_plane, a_pod(of_claim("x")), dry_run=True)
    others = await create(control_plane, a_pod(), dry_run=True)

    assert (created.status, created.warnings, asks(created.body)) == (201, [], False)
    assert others.seconds < SLOW_SECONDS  # they are not sent
    return created.seconds


def test_while_the_webhook_is_down_pods_are_created_as_they_are(control_plane):
    [port] = free_ports(1)
    with installed(control_plane, [webhook(Way(WEBHOOK), port, trustme.CA())], works=False):
        assert asyncio.run(expect_ignored(control_plane)) < SLOW_SECONDS


def test_so_they_are_with_a_certificate_of_somebody_else(control_plane, tmp_path):
    way = Way(WEBHOOK)
    with answering(way, control_plane, tmp_path) as (port, _):
        configuration = webhook(way, port, trustme.CA())
        with installed(control_plane, [configuration], works=False):
            assert asyncio.run(expect_ignored(control_plane)) < SLOW_SECONDS


def test_for_an_answer_that_does_not_come_the_api_server_waits_two_seconds(control_plane):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        configuration = webhook(Way(WEBHOOK), silent.getsockname()[1], trustme.CA())
        with installed(control_plane, [configuration], works=False):
            seconds = asyncio.run(expect_ignored(control_plane))

    assert SLOW_SECONDS <= seconds < SLOW_SECONDS + 1


@pytest.mark.gate
def test_webhook_with_a_client_ca_answers_the_api_server_that_has_a_certificate_of_it(
    control_plane, tmp_path
):
    """And one of somebody else's CA does not; the API server then goes on without it."""
    way, file = Way(WEBHOOK), tmp_path / "clients.crt"
    for signer, works in ((control_plane.authority, True), (trustme.CA(), False)):
        signer.cert_pem.write_to_path(file)
        with (
            answering(way, control_plane, tmp_path, webhook_client_ca_file=str(file)) as (port, ca),
            installed(control_plane, [webhook(way, port, ca)], works=works),
        ):
            if not works:
                assert asyncio.run(expect_ignored(control_plane)) < SLOW_SECONDS
