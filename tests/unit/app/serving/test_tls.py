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

from app.errors import InputError
from app.process.http import names_of
from app.serving.metrics import Metrics
from app.serving.tls import Tls, TlsFiles

HOST = "127.0.0.1"
PREFIX = "longhorn_scheduler_extender_"


class Files:
    """The files that the settings name, the CA behind them, and what is counted."""

    def __init__(self, folder: Path) -> None:
        self.cert, self.key, self.client_ca = (folder / name for name in ("crt", "key", "ca"))
        self.ca = trustme.CA()
        self.metrics = Metrics(CollectorRegistry(), version="1")

    def write(self) -> int:
        """Write a new certificate for the server; return its serial number."""
        issued = self.ca.issue_cert(HOST)
        self.cert.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
        self.key.write_bytes(issued.private_key_pem.bytes())
        return x509.load_pem_x509_certificate(self.cert.read_bytes()).serial_number

    def tls(self, *, client_ca: bool = False) -> Tls:
        ca = str(self.client_ca) if client_ca else ""
        return Tls(TlsFiles(str(self.cert), str(self.key), ca), self.metrics)

    def client(self, client_ca: trustme.CA | None = None) -> ssl.SSLContext:
        """Return a client that trusts the server, with a certificate of *client_ca* if given."""
        context = ssl.create_default_context()
        self.ca.configure_trust(context)
        if client_ca is not None:
            client_ca.issue_cert("kube-scheduler").configure_cert(context)
        return context

    def reloads(self) -> tuple[float, float]:
        """Return how many looks found files to load, and how many found them unusable."""
        name, value = f"{PREFIX}tls_reloads_total", self.metrics.registry.get_sample_value
        loaded, unusable = (value(name, {"outcome": each}) for each in ("loaded", "unusable"))
        return loaded or 0.0, unusable or 0.0


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def handshake(context: ssl.SSLContext, tls: Tls) -> int:
    """Connect over memory; return the serial number of the server's certificate."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = context.wrap_bio(to_client, to_server, server_hostname=HOST)
    theirs = tls.context.wrap_bio(to_server, to_client, server_side=True)
    for step in (ours.do_handshake, theirs.do_handshake) * 3 + (lambda: ours.read(1),):
        with contextlib.suppress(ssl.SSLWantReadError):  # it goes as far as it can
            step()
    return x509.load_der_x509_certificate(ours.getpeercert(binary_form=True) or b"").serial_number


def test_a_new_certificate_is_served_after_the_next_look_and_loaded_once(files):
    first = files.write()
    tls = files.tls()
    tls.look()
    second = files.write()

    assert handshake(files.client(), tls) == first
    for _ in range(3):
        tls.look()
    assert handshake(files.client(), tls) == second
    assert files.reloads() == (1, 0)


BREAK: dict[str, Callable[[Files], object]] = {
    "file-not-there": lambda files: files.cert.unlink(),
    "garbage": lambda files: files.cert.write_text("garbage"),
    "key-of-another": lambda files: files.key.write_bytes(
        files.ca.issue_cert(HOST).private_key_pem.bytes()
    ),
    "half-of-it": lambda files: files.cert.write_bytes(files.cert.read_bytes()[:200]),
}


@pytest.mark.parametrize("break_", BREAK.values(), ids=BREAK)
def test_unusable_files_leave_the_certificate_in_force_and_are_counted_while_that_lasts(
    files, break_
):
    serial = files.write()
    tls = files.tls()
    break_(files)
    for _ in range(5):
        tls.look()

    assert handshake(files.client(), tls) == serial
    assert files.reloads() == (0, 4)

    second = files.write()
    tls.look()
    assert handshake(files.client(), tls) == second
    assert files.reloads() == (1, 4)


def test_files_that_are_replaced_one_after_another_are_no_trouble(files):
    files.write()
    tls = files.tls()
    key = files.key.read_bytes()
    files.write()
    new_key = files.key.read_bytes()
    files.key.write_bytes(key)
    tls.look()
    files.key.write_bytes(new_key)
    tls.look()

    assert files.reloads() == (1, 0)


def test_only_clients_with_a_certificate_of_the_ca_in_force_are_let_in(files):
    serial = files.write()
    old, new = trustme.CA(), trustme.CA()
    of_old, of_new, without = files.client(old), files.client(new), files.client()
    old.cert_pem.write_to_path(str(files.client_ca))
    tls = files.tls(client_ca=True)

    assert handshake(of_old, tls) == serial
    for client in (of_new, without):
        with pytest.raises(ssl.SSLError):
            handshake(client, tls)

    new.cert_pem.write_to_path(str(files.client_ca))
    tls.look()
    assert handshake(of_new, tls) == serial
    with pytest.raises(ssl.SSLError):
        handshake(of_old, tls)


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
def test_files_that_cannot_be_used_stop_the_start_by_their_name(files, name, content, why):
    files.write()
    files.ca.cert_pem.write_to_path(str(files.client_ca))
    path = files.cert.parent / name
    path.unlink() if content is None else path.write_bytes(content)

    with pytest.raises(InputError, match=why) as caught:
        files.tls(client_ca=True)
    assert "\n" not in str(caught.value)


IN_SUBJECT = {"subject": ((("organizationName", "org"),), (("commonName", "kube-scheduler"),))}
ALTERNATIVE = (("DNS", "a.example"), ("URI", "spiffe://b"), ("email", "c@d"))
DIRECTORY = (("DirName", ((("commonName", "kube-scheduler"),),)),)
CERTIFICATES: dict[str, tuple[dict[str, object], set[str]]] = {
    "none": ({}, set()),
    "common-name": ({**IN_SUBJECT}, {"kube-scheduler"}),
    "alternative-names": ({"subjectAltName": ALTERNATIVE}, {"a.example", "spiffe://b", "c@d"}),
    "directory-name": ({"subjectAltName": DIRECTORY}, set()),
}


@pytest.mark.parametrize(("certificate", "names"), CERTIFICATES.values(), ids=CERTIFICATES)
def test_certificate_is_for_its_common_name_and_its_alternative_names(certificate, names):
    assert names_of(certificate) == names


def test_a_key_with_a_password_is_refused_and_nobody_asked_for_it(files):
    files.write()
    key = load_pem_private_key(files.key.read_bytes(), None)
    files.key.write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret"))
    )

    with pytest.raises(InputError, match="cannot be used"):
        files.tls()
