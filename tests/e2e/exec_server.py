"""The kubelets' part of `kubectl exec`: commands in the containers of the service.

Since 1.36 kube-apiserver passes a WebSocket on, as kubectl opened it, to a node that declares
ExtendWebSocketsToKubelet (kubernetes pkg/registry/core/pod/rest/subresources.go). So what is spoken
here is kubectl's own protocol: the first byte of a message names its stream. Nothing comes in.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import msgspec
import trustme
from aiohttp import web

from tests.actors.api import Object
from tests.e2e.service_pods import Container

_PROTOCOL = "v5.channel.k8s.io"
_STDOUT, _STDERR, _STATUS = b"\x01", b"\x02", b"\x03"


@asynccontextmanager
async def exec_server(container_of: Callable[[str], Container]) -> AsyncIterator[Object]:
    """Serve on a free port until the end of the block.

    Args:
        container_of: Returns the container of a pod by the pod's name.

    Yields:
        What belongs into the status of each Node whose kubelet this is.
    """

    async def handle(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(protocols=(_PROTOCOL,))
        await socket.prepare(request)
        container = container_of(request.match_info["pod"])
        process = await asyncio.create_subprocess_exec(
            *container.command(*request.query.getall("command")),
            env=container.environ,
            cwd=container.folder,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        stdout, stderr = await process.communicate()
        assert process.returncode is not None
        await socket.send_bytes(_STDOUT + stdout)
        await socket.send_bytes(_STDERR + stderr)
        await socket.send_bytes(_STATUS + msgspec.json.encode(_status(process.returncode)))
        await socket.close()
        return socket

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    application = web.Application()
    application.router.add_get("/exec/{namespace}/{pod}/{container}", handle)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        yield _node_status(runner.addresses[0][1])
    finally:
        await runner.cleanup()


def _node_status(port: int) -> Object:
    return {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        "declaredFeatures": ["ExtendWebSocketsToKubelet"],
    }


def _status(exit_status: int) -> Object:
    """Return the Status that ends a command (k8s.io/streaming, pkg/remotecommand)."""
    if exit_status == 0:
        return {"metadata": {}, "status": "Success"}
    cause = {"reason": "ExitCode", "message": str(exit_status)}
    return {
        "metadata": {},
        "status": "Failure",
        "reason": "NonZeroExitCode",
        "message": f"command terminated with exit code {exit_status}",
        "details": {"causes": [cause]},
    }
