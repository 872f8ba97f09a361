"""The certificates that the chart makes are what the service and kube-scheduler need."""

from base64 import b64decode
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import NameOID

from supply.manifests import NAMESPACE
from tests.unit.manifests.charted import NAME, charted, find
from tests.unit.manifests.rendered import Object

pytestmark = pytest.mark.tools

SELF_SIGNED = "tls-self-signed"
NAMES = ("tls", "client", "kube-scheduler")


def secret(name: str, *options: str) -> Object:
    return find(charted(SELF_SIGNED, *options), "Secret", f"{NAME}-{name}")


def certificate(name: str, file: str = "tls.crt") -> x509.Certificate:
    return x509.load_pem_x509_certificate(b64decode(secret(name)["data"][file]))


def common_name(certificate: x509.Certificate) -> str:
    [attribute] = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(attribute.value)


def test_the_service_s_certificate_is_valid_for_every_way_to_call_it():
    names = certificate("tls").extensions.get_extension_for_class(x509.SubjectAlternativeName).value

    assert names.get_values_for_type(x509.DNSName) == [
        f"{NAME}.{NAMESPACE}.svc",
        f"{NAME}.{NAMESPACE}",
        f"{NAME}.{NAMESPACE}.svc.cluster.example",
    ]
    addresses = [str(address) for address in names.get_values_for_type(x509.IPAddress)]
    assert addresses == ["10.96.0.95", "fd00:10:96::95"]


def test_all_are_signed_by_a_ca_whose_key_is_nowhere():
    [authority] = {certificate(name, "ca.crt") for name in NAMES}
    secrets = [obj for obj in charted(SELF_SIGNED) if obj["kind"] == "Secret"]

    for name in NAMES:
        certificate(name).verify_directly_issued_by(authority)
    assert authority.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert {obj["metadata"]["name"] for obj in secrets} == {
        *(f"{NAME}-{name}" for name in NAMES),
        f"{NAME}-webhook",
    }
    assert all(obj["data"].keys() == {"ca.crt", "tls.crt", "tls.key"} for obj in secrets)


def test_the_keys_are_those_of_the_certificates():
    for name in NAMES:
        key = load_pem_private_key(b64decode(secret(name)["data"]["tls.key"]), password=None)
        assert isinstance(key, EllipticCurvePrivateKey)
        assert key.public_key() == certificate(name).public_key()


def test_a_client_is_known_by_a_name_that_the_service_has_not():
    assert [common_name(certificate(name)) for name in NAMES] == [
        NAME,
        "kube-scheduler",
        "kube-scheduler",
    ]


def test_they_last_five_years_and_their_ca_is_not_the_first_to_end():
    issued = [certificate(name) for name in NAMES]
    end = min(each.not_valid_after_utc for each in issued)

    assert round((end - issued[0].not_valid_before_utc) / timedelta(days=365)) == 5
    assert certificate("tls", "ca.crt").not_valid_after_utc > end


def test_it_is_noted_when_and_for_what_they_were_made():
    notes = secret("tls")["metadata"]["annotations"]
    changed_at = datetime.fromisoformat(notes["longhorn-scheduler-extender/changed-at"])

    assert abs(datetime.now(UTC) - changed_at) < timedelta(minutes=10)
    assert notes["longhorn-scheduler-extender/made-for"].split(",") == [
        f"{NAME}.{NAMESPACE}.svc",
        f"{NAME}.{NAMESPACE}",
        f"{NAME}.{NAMESPACE}.svc.cluster.example",
        "10.96.0.95",
        "fd00:10:96::95",
    ]


def test_another_ca_restarts_the_second_scheduler_which_reads_it_once():
    objects = charted(SELF_SIGNED)
    pods = find(objects, "Deployment", "longhorn-scheduler")["spec"]["template"]
    ca = find(objects, "Secret", f"{NAME}-client")["data"]["ca.crt"]

    assert pods["metadata"]["annotations"]["checksum/ca"] == sha256(ca.encode()).hexdigest()


def test_an_issuer_of_the_user_signs_instead_of_ours():
    objects = charted("tls-issuer", "--set=mode=cluster-scheduler")
    made = [obj for obj in objects if obj["apiVersion"] == "cert-manager.io/v1"]

    company = {"group": "cert-manager.io", "kind": "ClusterIssuer", "name": "company"}
    assert all(each["spec"]["issuerRef"] == company for each in made)
    assert {each["spec"]["secretName"] for each in made} == {
        "extender-certificate",
        f"{NAME}-client",
        f"{NAME}-kube-scheduler",
    }
