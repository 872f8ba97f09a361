"""The certificates that the chart makes are what the service and kube-scheduler need."""

from base64 import b64decode
from datetime import UTC, date, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import NameOID

from supply.manifests import NAMESPACE
from tests.unit.manifests.charted import NAME, WITHOUT_INJECTION, charted, find
from tests.unit.manifests.rendered import Object

pytestmark = pytest.mark.tools

SELF_SIGNED = "tls-self-signed"


def secret(name: str, *options: str) -> Object:
    return find(charted(SELF_SIGNED, *options), "Secret", f"{NAME}-{name}")


def certificate(name: str, file: str = "tls.crt") -> x509.Certificate:
    return x509.load_pem_x509_certificate(b64decode(secret(name)["data"][file]))


def common_name(certificate: x509.Certificate) -> str:
    [attribute] = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(attribute.value)


def test_the_service_s_certificate_is_valid_for_every_way_to_call_it() -> None:
    names = certificate("tls").extensions.get_extension_for_class(x509.SubjectAlternativeName).value

    assert names.get_values_for_type(x509.DNSName) == [
        f"{NAME}.{NAMESPACE}.svc",
        f"{NAME}.{NAMESPACE}",
        f"{NAME}.{NAMESPACE}.svc.cluster.example",
    ]
    addresses = [str(address) for address in names.get_values_for_type(x509.IPAddress)]
    assert addresses == ["10.96.0.95", "fd00:10:96::95"]


def test_both_are_signed_by_the_ca_that_is_beside_them() -> None:
    authority = certificate("ca")

    for name in ("tls", "client"):
        assert certificate(name, "ca.crt") == authority
        certificate(name).verify_directly_issued_by(authority)
    constraints = authority.extensions.get_extension_for_class(x509.BasicConstraints).value
    assert constraints.ca
    assert [common_name(certificate(name)) for name in ("ca", "tls", "client")] == [
        f"{NAME}-ca",
        NAME,
        "kube-scheduler",
    ]


def test_the_keys_are_those_of_the_certificates() -> None:
    for name in ("ca", "tls", "client"):
        key = load_pem_private_key(b64decode(secret(name)["data"]["tls.key"]), password=None)
        assert isinstance(key, EllipticCurvePrivateKey)
        assert key.public_key() == certificate(name).public_key()


def test_the_ca_outlives_all_that_it_signs_for_years() -> None:
    lifetimes = {
        name: certificate(name).not_valid_after_utc - certificate(name).not_valid_before_utc
        for name in ("ca", "tls", "client")
    }

    assert {
        name: round(lifetime / timedelta(days=365)) for name, lifetime in lifetimes.items()
    } == {
        "ca": 20,
        "tls": 5,
        "client": 5,
    }


def test_it_is_noted_when_and_for_what_they_were_made() -> None:
    notes = secret("tls")["metadata"]["annotations"]
    made_on = date.fromisoformat(notes["longhorn-scheduler-extender/made-on"])

    # Not exactly: Helm's zone may be another one, and the day may have ended since.
    assert abs(datetime.now(UTC).date() - made_on) <= timedelta(days=1)
    assert notes["longhorn-scheduler-extender/made-for"].split(",") == [
        f"{NAME}.{NAMESPACE}.svc",
        f"{NAME}.{NAMESPACE}",
        f"{NAME}.{NAMESPACE}.svc.cluster.example",
        "10.96.0.95",
        "fd00:10:96::95",
    ]


def test_without_client_certificates_there_is_none() -> None:
    objects = charted(SELF_SIGNED, "--set=tls.clientCertificates=false", WITHOUT_INJECTION)

    secrets = {obj["metadata"]["name"] for obj in objects if obj["kind"] == "Secret"}

    assert secrets == {f"{NAME}-ca", f"{NAME}-tls"}


def test_an_issuer_of_the_user_signs_instead_of_ours() -> None:
    objects = charted("tls-issuer")
    made = [obj for obj in objects if obj["apiVersion"] == "cert-manager.io/v1"]

    [only] = made
    assert only["spec"]["issuerRef"] == {
        "group": "cert-manager.io",
        "kind": "ClusterIssuer",
        "name": "company",
    }
    assert only["spec"]["secretName"] == "extender-certificate"
