"""The proxy as a process: it says where it listens, writes calls down, and ends when told to."""

import http.client
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import yaml

from tests.e2e.calls import read_calls
from tests.integration.api_stub import api_stub
from tests.integration.instances import service
from tests.integration.server import PATIENCE_SECONDS, ROOT
from tests.unit.e2e.exchange import args


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_process_from_its_start_to_its_end(tmp_path: Path, number: int) -> None:
    record, kubeconfig = tmp_path / "calls.jsonl", tmp_path / "kubeconfig"
    with api_stub(service()) as stub:
        kubeconfig.write_text(yaml.safe_dump(_kubeconfig(stub.port)))
        with subprocess.Popen(
            [
                *(sys.executable, "-m", "tests.e2e.proxy", "--kubeconfig", str(kubeconfig)),
                *("--namespace", "longhorn-system", "--service", "longhorn-scheduler-extender"),
                *("--endpoint", "10.42.0.1:1", "--record", str(record)),
            ],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            guard = threading.Timer(30, process.kill)
            guard.start()
            try:
                assert process.stdout is not None
                words = process.stdout.readline().split()
                assert words[:-1] == ["listening", "on"]
                client = http.client.HTTPConnection(
                    "127.0.0.1", int(words[-1]), timeout=PATIENCE_SECONDS
                )
                with pytest.raises(ConnectionResetError):
                    _call(client)
                client.close()
                process.send_signal(number)

                assert process.wait(PATIENCE_SECONDS) == 0
            finally:
                guard.cancel()
                process.kill()

    assert [(call.pod, call.error) for call in read_calls(record)] == [("shop/db-0", "refused")]


def _call(client: http.client.HTTPConnection) -> None:
    client.request("POST", "/filter", args("node-1"))
    client.getresponse()


def _kubeconfig(port: int) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "it", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "it", "user": {"token": "any"}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
        "current-context": "it",
    }
