"""What /filter is compared with: the same server and decoder; it echoes what it got."""

import sys

import msgspec
import uvicorn
from fastapi import FastAPI, Request, Response

from app.kube.objects import Pod
from app.serving.arguments import NodeList
from app.serving.wire import AcceptedNodes, ExtenderFilterResult
from longhorn import NodeName


class Call(msgspec.Struct, rename="pascal"):
    """All of a call, decoded in one go."""

    pod: Pod
    nodes: NodeList | None
    node_names: list[NodeName] | None


app = FastAPI()
_decoder = msgspec.json.Decoder(Call)
_encoder = msgspec.json.Encoder()


@app.post("/filter")
async def echo(request: Request) -> Response:
    """Accept every candidate, unread."""
    call = _decoder.decode(await request.body())
    nodes = None if call.nodes is None else AcceptedNodes(call.nodes.items or [])
    answer = ExtenderFilterResult(nodes=nodes, node_names=call.node_names)
    return Response(_encoder.encode(answer), media_type="application/json")


if __name__ == "__main__":
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=int(sys.argv[1]),
        http="httptools",
        log_level="error",
        access_log=False,
        timeout_keep_alive=120,
    )
