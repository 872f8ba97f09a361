"""What /filter is compared with: the same server and decoder; it echoes what it got."""

import sys

import msgspec
import uvicorn
from fastapi import FastAPI, Request, Response

from app.serving.wire import AcceptedNodes, ExtenderArgs, ExtenderFilterResult, NodeList

app = FastAPI()
_decoder = msgspec.json.Decoder(ExtenderArgs)
_encoder = msgspec.json.Encoder()


@app.post("/filter")
async def echo(request: Request) -> Response:
    """Accept every candidate, unread."""
    args = _decoder.decode(await request.body())
    answer = ExtenderFilterResult(
        nodes=AcceptedNodes(args.nodes.items or []) if isinstance(args.nodes, NodeList) else None,
        node_names=args.node_names if isinstance(args.node_names, list) else None,
    )
    return Response(_encoder.encode(answer), media_type="application/json")


if __name__ == "__main__":
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=int(sys.argv[1]),
        http="h11",
        log_level="error",
        access_log=False,
        timeout_keep_alive=120,
    )
