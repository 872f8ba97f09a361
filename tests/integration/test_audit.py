"""`make audit`'s command with the real pip-audit, and services of every kind on a loopback port."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
ADVISORY = {
    "id": "TEST-2026-1",
    "aliases": ["CVE-2026-1"],
    "summary": "answers too much",
    "affected": [
        {
            "package": {"name": "bad", "ecosystem": "PyPI"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "1.1"}]}],
        }
    ],
}


class _Osv(BaseHTTPRequestHandler):
    """Knows one advisory, or answers each question with the same status."""

    status = 200

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        is_bad = asked["package"]["name"] == "bad"
        body = json.dumps({"vulns": [ADVISORY]} if is_bad else {}).encode()
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing: the tests look at what pip-audit made of it."""


class _Broken(_Osv):
    status = 503


@contextmanager
def osv(handler: type[_Osv]) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1/query"
        server.shutdown()


def audit(folder: Path, url: str, names: str, *options: str) -> subprocess.CompletedProcess[str]:
    lock = folder / "lock.txt"
    lines = [f"{name}==1.0 --hash=sha256:{'0' * 64}\n" for name in names.split()]
    lock.write_text("".join(lines), encoding="utf-8")
    service = {"PIP_AUDIT_VULNERABILITY_SERVICE": "osv", "PIP_AUDIT_OSV_URL": url}
    return subprocess.run(
        [sys.executable, "-m", "supply.audit", *options, str(lock)],
        cwd=ROOT,
        env={**service, "HOME": str(folder), "PATH": "", "NO_PROXY": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_no_known_vulnerability(tmp_path):
    with osv(_Osv) as url:
        done = audit(tmp_path, url, "fine good", "--require")

    assert done.stdout == "audit: known vulnerabilities in 2 packages: none\n"
    assert done.returncode == 0


def test_a_known_vulnerability(tmp_path):
    with osv(_Osv) as url:
        done = audit(tmp_path, url, "fine bad")

    assert done.stdout.splitlines() == [
        "audit: bad 1.0: CVE-2026-1, TEST-2026-1; fixed in 1.1",
        "audit: known vulnerabilities in 2 packages: 1",
    ]
    assert done.returncode == 1


@pytest.mark.parametrize(("options", "status"), [((), 0), (("--require",), 1)])
def test_a_service_that_fails(tmp_path, options, status):
    with osv(_Broken) as url:
        done = audit(tmp_path, url, "fine", *options)

    assert done.stdout.startswith("audit: NOTHING AUDITED, the service was not reached: ")
    assert done.returncode == status


def test_a_service_that_is_not_there(tmp_path):
    with osv(_Osv) as url:
        pass  # its port is closed again

    done = audit(tmp_path, url, "fine")

    assert done.stdout.startswith("audit: NOTHING AUDITED, the service was not reached: ")
    assert done.returncode == 0
