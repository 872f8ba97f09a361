"""Which certificate a handshake meets, and which clients it lets in, while files change."""

import contextlib
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)
from prometheus_client import CollectorRegistry

from app.config import Settings
from app.errors import InputError
from app.metrics import Metrics
from app.serving.tls import Tls

HOST = "127.0.0.1"


class Files:
    """The files that the settings name."""

    def __init__(self, folder: Path) -> None:
        self.cert, self.key, self.client_ca = (folder / name for name in ("crt", "key", "ca"))

    def write(self, ca: trustme.CA) -> int:
        """Write a certificate for the server; return its serial number."""
        issued = ca.issue_cert(HOST)
        self.cert.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
        self.key.write_bytes(issued.private_key_pem.bytes())
        return x509.load_pem_x509_certificate(self.cert.read_bytes()).serial_number


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(CollectorRegistry(), version="1")


@pytest.fixture
def ca() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def settings(files: Files, *, client_ca: bool = False) -> Settings:
    return Settings(
        tls_cert_file=str(files.cert),
        tls_private_key_file=str(files.key),
        client_ca_file=str(files.client_ca) if client_ca else "",
        metrics_port=9505,
    )


def client(ca: trustme.CA, certificate: trustme.LeafCert | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context()
    ca.configure_trust(context)
    if certificate is not None:
        certificate.configure_cert(context)
    return context


def handshake(context: ssl.SSLContext, tls: Tls) -> int:
    """Connect over memory; return the serial number of the server's certificate."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = context.wrap_bio(to_client, to_server, server_hostname=HOST)
    theirs = tls.context.wrap_bio(to_server, to_client, server_side=True)
    for step in (ours.do_handshake, theirs.do_handshake) * 3 + (lambda: ours.read(1),):
        _as_far_as_it_goes(step)
    return x509.load_der_x509_certificate(ours.getpeercert(binary_form=True) or b"").serial_number


def _as_far_as_it_goes(step: Callable[[], object]) -> None:
    with contextlib.suppress(ssl.SSLWantReadError):
        step()


def refused(metrics: Metrics) -> float:
    name = "longhorn_scheduler_extender_connections_ended_total"
    return metrics.registry.get_sample_value(name, {"cause": "handshake_failed"}) or 0.0


def reloads(metrics: Metrics, outcome: str) -> float:
    name = "longhorn_scheduler_extender_tls_reloads_total"
    return metrics.registry.get_sample_value(name, {"outcome": outcome}) or 0.0


def test_the_certificate_is_that_of_the_files(
    files: Files, ca: trustme.CA, metrics: Metrics
) -> None:
    serial = files.write(ca)

    assert handshake(client(ca), Tls(settings(files), metrics)) == serial


def test_a_new_certificate_is_served_after_the_next_look(
    files: Files, ca: trustme.CA, metrics: Metrics
) -> None:
    first = files.write(ca)
    tls = Tls(settings(files), metrics)
    second = files.write(ca)

    assert handshake(client(ca), tls) == first
    tls.look()
    assert handshake(client(ca), tls) == second
    assert (reloads(metrics, "loaded"), reloads(metrics, "unusable")) == (1, 0)


def test_files_that_stay_are_not_loaded_again(
    files: Files, ca: trustme.CA, metrics: Metrics
) -> None:
    files.write(ca)
    tls = Tls(settings(files), metrics)
    for _ in range(3):
        tls.look()

    assert (reloads(metrics, "loaded"), reloads(metrics, "unusable")) == (0, 0)


@pytest.mark.parametrize("broken", ["no file", "garbage", "the key of another", "half of it"])
def test_what_cannot_be_used_leaves_the_certificate_in_force_and_is_counted_while_it_lasts(
    files: Files, ca: trustme.CA, metrics: Metrics, broken: str
) -> None:
    serial = files.write(ca)
    tls = Tls(settings(files), metrics)
    match broken:
        case "no file":
            files.cert.unlink()
        case "garbage":
            files.cert.write_text("garbage")
        case "the key of another":
            files.key.write_bytes(ca.issue_cert(HOST).private_key_pem.bytes())
        case "half of it":
            files.cert.write_bytes(files.cert.read_bytes()[:200])
    for _ in range(5):
        tls.look()

    assert handshake(client(ca), tls) == serial
    assert (reloads(metrics, "loaded"), reloads(metrics, "unusable")) == (0, 4)

    second = files.write(ca)
    tls.look()
    assert handshake(client(ca), tls) == second
    assert (reloads(metrics, "loaded"), reloads(metrics, "unusable")) == (1, 4)


def test_files_that_are_replaced_one_after_another_are_no_trouble(
    files: Files, ca: trustme.CA, metrics: Metrics
) -> None:
    files.write(ca)
    tls = Tls(settings(files), metrics)
    key = files.key.read_bytes()
    files.write(ca)
    new_key = files.key.read_bytes()
    files.key.write_bytes(key)
    tls.look()
    files.key.write_bytes(new_key)
    tls.look()

    assert (reloads(metrics, "loaded"), reloads(metrics, "unusable")) == (1, 0)


def test_only_clients_with_a_certificate_of_the_named_ca_are_let_in(
    files: Files, ca: trustme.CA, metrics: Metrics
) -> None:
    serial = files.write(ca)
    clients, others = trustme.CA(), trustme.CA()
    clients.cert_pem.write_to_path(str(files.client_ca))
    tls = Tls(settings(files, client_ca=True), metrics)

    assert handshake(client(ca, clients.issue_cert("kube-scheduler")), tls) == serial
    assert refused(metrics) == 0
    with pytest.raises(ssl.SSLError):
        handshake(client(ca), tls)
    with pytest.raises(ssl.SSLError):
        handshake(client(ca, others.issue_cert("kube-scheduler")), tls)
    assert refused(metrics) == 2


def test_a_client_ca_that_is_replaced_lets_in_its_own_clients_only(
    files: Files, ca: trustme.CA, metrics: Metrics
) -> None:
    serial = files.write(ca)
    old, new = trustme.CA(), trustme.CA()
    old_client, new_client = (client(ca, each.issue_cert("kube-scheduler")) for each in (old, new))
    old.cert_pem.write_to_path(str(files.client_ca))
    tls = Tls(settings(files, client_ca=True), metrics)
    assert handshake(old_client, tls) == serial

    new.cert_pem.write_to_path(str(files.client_ca))
    tls.look()

    assert handshake(new_client, tls) == serial
    with pytest.raises(ssl.SSLError):
        handshake(old_client, tls)


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("crt", None, "crt cannot be read: No such file"),
        ("key", None, "key cannot be read: No such file"),
        ("ca", None, "ca cannot be read: No such file"),
        ("crt", b"", "the certificate in .*crt with the key in .*key cannot be used"),
        ("key", b"garbage", "the certificate in .*crt with the key in .*key cannot be used"),
        ("ca", b"garbage", "the certificates in .*ca cannot be used"),
    ],
)
def test_files_that_cannot_be_used_stop_the_start_by_their_name(
    files: Files, ca: trustme.CA, metrics: Metrics, name: str, content: bytes | None, why: str
) -> None:
    files.write(ca)
    ca.cert_pem.write_to_path(str(files.client_ca))
    path = files.cert.parent / name
    path.unlink() if content is None else path.write_bytes(content)

    with pytest.raises(InputError, match=why) as caught:
        Tls(settings(files, client_ca=True), metrics)
    assert "\n" not in str(caught.value)


def test_a_key_with_a_password_is_refused_and_nobody_asked_for_it(
    files: Files, ca: trustme.CA, metrics: Metrics
) -> None:
    files.write(ca)
    key = load_pem_private_key(files.key.read_bytes(), None)
    files.key.write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret"))
    )

    with pytest.raises(InputError, match="cannot be used"):
        Tls(settings(files), metrics)
