"""Certificates with kustomize: what makes them, what is mounted, and whose names they have."""

import base64
import os
import subprocess

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID

from tests import tools
from tests.unit.manifests.rendered import (
    CERT_MANAGER,
    FIXED,
    MANIFESTS,
    Object,
    container_of,
    documents,
    one,
    rendered,
)

pytestmark = pytest.mark.tools

NAME = "longhorn-scheduler-extender"
SECRET = f"{NAME}-tls"
CLIENTS = (f"{NAME}-client", f"{NAME}-kube-scheduler")
FOLDER = f"/etc/{NAME}/tls"
CERTIFICATE_FIELDS = {
    *("secretName", "commonName", "duration", "renewBefore", "privateKey", "usages", "issuerRef"),
    *("isCA", "dnsNames", "ipAddresses"),
}
"""Those of cert-manager.io/v1 that are used here; its API refuses a field it does not know."""


def certificate(name: str) -> Object:
    spec: Object = one(CERT_MANAGER, "Certificate", name)["spec"]
    assert spec.keys() <= CERTIFICATE_FIELDS
    assert spec["privateKey"].keys() == {"algorithm", "size", "rotationPolicy"}
    assert {**spec["issuerRef"], "name": ""} == {
        "group": "cert-manager.io",
        "kind": "Issuer",
        "name": "",
    }
    return spec


def hours(duration: str) -> int:
    return int(duration.removesuffix("h"))


def test_cert_manager_only_adds_its_own_objects():
    others = [obj for obj in rendered(CERT_MANAGER) if "cert-manager.io" not in obj["apiVersion"]]

    assert tuple(others) == rendered(FIXED)


def test_the_secret_is_mounted_as_a_folder_that_the_user_of_the_process_can_read():
    deployment = one(FIXED, "Deployment", NAME)
    container = container_of(deployment)
    [volume] = deployment["spec"]["template"]["spec"]["volumes"]

    assert volume == {"name": "tls", "secret": {"secretName": SECRET, "defaultMode": 0o444}}
    # A file mounted with subPath would never be replaced.
    assert container["volumeMounts"] == [{"name": "tls", "mountPath": FOLDER, "readOnly": True}]


def test_the_service_s_certificate_is_the_one_that_is_mounted():
    served = certificate(NAME)

    assert served["secretName"] == SECRET
    assert served["usages"] == ["digital signature", "server auth"]
    assert served["privateKey"]["rotationPolicy"] == "Always"


def test_the_service_s_certificate_is_valid_for_every_way_to_call_it():
    served = certificate(NAME)
    service = one(CERT_MANAGER, "Service", NAME)
    name, namespace = service["metadata"]["name"], service["metadata"]["namespace"]
    text = (MANIFESTS / "scheduler" / "kubeadm.yaml").read_text(encoding="utf-8")
    [extender] = yaml.safe_load(text)["extenders"]

    assert served["dnsNames"] == [
        f"{name}.{namespace}.svc",
        f"{name}.{namespace}",
        f"{name}.{namespace}.svc.cluster.local",
    ]
    assert served["ipAddresses"] == [service["spec"]["clusterIP"]]
    assert extender["tlsConfig"]["serverName"] == served["dnsNames"][0]


@pytest.mark.parametrize("name", CLIENTS)
def test_each_client_has_a_certificate_of_its_own(name):
    client = certificate(name)

    assert client["commonName"] == "kube-scheduler"
    assert client["secretName"] == name
    assert client["usages"] == ["digital signature", "client auth"]


def test_all_are_signed_by_a_ca_that_outlives_them_and_keeps_its_key():
    authority = certificate(f"{NAME}-ca")
    issuers = {
        obj["metadata"]["name"]: obj["spec"]
        for obj in rendered(CERT_MANAGER)
        if obj["kind"] == "Issuer"
    }
    signed = [certificate(name) for name in (NAME, *CLIENTS)]

    assert issuers == {
        authority["issuerRef"]["name"]: {"selfSigned": {}},
        NAME: {"ca": {"secretName": authority["secretName"]}},
    }
    assert authority["isCA"]
    assert authority["privateKey"]["rotationPolicy"] == "Never"
    assert [cert["issuerRef"]["name"] for cert in signed] == [NAME] * 3
    # What is signed on the day before the CA is renewed must not outlive the CA.
    assert max(hours(cert["duration"]) for cert in signed) <= hours(authority["renewBefore"])
    assert all(
        hours(cert["renewBefore"]) < hours(cert["duration"]) for cert in [authority, *signed]
    )


def secrets(*addresses: str, **environ: str) -> dict[str, Object]:
    """Return what the script makes with OpenSSL, by the name of the Secret."""
    tools.find("openssl")
    done = subprocess.run(
        [MANIFESTS / "certificates.sh", *addresses],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=True,
    )
    return {obj["metadata"]["name"]: obj for obj in documents(done.stdout)}


def pem(secret: Object, file: str) -> bytes:
    return base64.b64decode(secret["data"][file])


def test_the_script_makes_what_is_mounted_and_throws_the_key_of_the_ca_away(tmp_path):
    made = secrets("10.96.0.95", "fd00::95", TMPDIR=str(tmp_path))
    service = x509.load_pem_x509_certificate(pem(made[SECRET], "tls.crt"))
    names = service.extensions.get_extension_for_class(x509.SubjectAlternativeName).value

    assert made.keys() == {SECRET, *CLIENTS}
    assert [*tmp_path.iterdir()] == []
    assert names.get_values_for_type(x509.DNSName) == certificate(NAME)["dnsNames"]
    assert [str(each) for each in names.get_values_for_type(x509.IPAddress)] == [
        "10.96.0.95",
        "fd00::95",
    ]
    cas = {pem(secret, "ca.crt") for secret in made.values()}
    [authority] = [x509.load_pem_x509_certificate(ca) for ca in cas]
    keys = set()
    for secret in made.values():
        issued = x509.load_pem_x509_certificate(pem(secret, "tls.crt"))
        key = load_pem_private_key(pem(secret, "tls.key"), password=None)
        issued.verify_directly_issued_by(authority)
        assert key.public_key() == issued.public_key() != authority.public_key()
        keys.add(pem(secret, "tls.key"))
    assert len(keys) == 3


@pytest.mark.parametrize(
    ("secret", "name", "usage"),
    [
        (SECRET, NAME, ExtendedKeyUsageOID.SERVER_AUTH),
        *((client, "kube-scheduler", ExtendedKeyUsageOID.CLIENT_AUTH) for client in CLIENTS),
    ],
)
def test_the_script_makes_each_for_one_purpose(secret, name, usage):
    made = secrets(NAMESPACE="elsewhere")
    issued = x509.load_pem_x509_certificate(pem(made[secret], "tls.crt"))
    usages = issued.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value

    assert issued.subject.rfc4514_string() == f"CN={name}"
    assert [*usages] == [usage]
    assert made[secret]["metadata"]["namespace"] == "elsewhere"


def test_the_script_says_why_it_makes_nothing():
    with pytest.raises(subprocess.CalledProcessError) as raised:
        secrets("nowhere")

    assert raised.value.stdout == ""
    assert "bad ip address" in raised.value.stderr
