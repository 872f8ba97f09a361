"""What is sent and answered in tests of the proxy, and what it must record of that."""

import time

import msgspec

from tests.e2e.calls import Call

ACCEPTING = {
    "Nodes": None,
    "NodeNames": ["node-1", "node-3"],
    "FailedNodes": {"node-2": "no room"},
    "FailedAndUnresolvableNodes": {"node-4": "no disk"},
    "Error": "",
}


def http_request(body: bytes, path: str = "/filter", method: str = "POST") -> bytes:
    """Write a request as Go's client does."""
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: 10.96.0.10:80\r\nUser-Agent: Go-http-client/1.1\r\n"
        f"Content-Length: {len(body)}\r\nContent-Type: application/json\r\n"
        "Accept-Encoding: gzip\r\n\r\n"
    )
    return head.encode() + body


def http_answer(body: object, status: str = "200 OK", *headers: str) -> bytes:
    """Write an answer; what is no bytes goes as JSON."""
    content = body if isinstance(body, bytes) else msgspec.json.encode(body)
    lines = [f"HTTP/1.1 {status}", *headers, f"content-length: {len(content)}", "", ""]
    return "\r\n".join(lines).encode() + content


def args(*names: str, pod: str = "db-0", nominated: str = "") -> bytes:
    """Write the body of a call of filter."""
    status = {"nominatedNodeName": nominated} if nominated else {}
    metadata = {"name": pod, "namespace": "shop", "uid": f"uid-of-{pod}"}
    return msgspec.json.encode(
        {"Pod": {"metadata": metadata, "status": status}, "Nodes": None, "NodeNames": names}
    )


ONE, TWO = "10.42.0.1", "10.42.0.2"
ASKED = http_request(args("node-1", "node-2", "node-3", "node-4", nominated="node-2"))
UNANSWERED = Call(
    at=0.0,
    seconds=0.0,
    pod="shop/db-0",
    uid="uid-of-db-0",
    candidates=4,
    nominated=True,
    backend=ONE,
)
ANSWERED = msgspec.structs.replace(
    UNANSWERED,
    status=200,
    accepted=["node-1", "node-3"],
    rejected={"node-2": "no room", "node-4": "no disk"},
)


def untimed(call: Call) -> Call:
    """Check the times of a call as far as can be known, and leave them out."""
    assert 0 <= call.seconds < 60
    assert abs(time.time() - call.at) < 60
    return msgspec.structs.replace(call, at=0.0, seconds=0.0)


def failed(error: str, **known: object) -> Call:
    return msgspec.structs.replace(UNANSWERED, error=error, **known)
