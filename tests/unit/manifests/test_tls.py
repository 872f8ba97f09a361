"""The variants with HTTPS: files, ports and names agree with the code and with each other."""

import os
import re
from pathlib import Path

import pytest
import yaml

from app.settings import Settings, load
from tests.unit.manifests.rendered import (
    BASE,
    CERT_MANAGER,
    FIXED,
    MANIFESTS,
    TLS,
    Object,
    container_of,
    one,
    render,
    rendered,
    write_overlay,
)

pytestmark = pytest.mark.tools

NAME = "longhorn-scheduler-extender"
SECRET = f"{NAME}-tls"
FOLDER = f"/etc/{NAME}/tls"
METRICS_PORT = 9505
OF_HTTPS = ("EXTENDER_TLS_", "EXTENDER_CLIENT_", "EXTENDER_METRICS_")
CERTIFICATE_FIELDS = {
    *("secretName", "commonName", "duration", "renewBefore", "privateKey", "usages", "issuerRef"),
    *("isCA", "dnsNames", "ipAddresses"),
}
"""Those of cert-manager.io/v1 that are used here; its API refuses a field it does not know."""


def without_tls(obj: Object) -> Object:
    """Take out of the Deployment and the NetworkPolicy what HTTPS puts in."""
    if obj["kind"] == "NetworkPolicy":
        obj["spec"]["ingress"].remove({"ports": [{"port": METRICS_PORT, "protocol": "TCP"}]})
    if obj["kind"] == "Deployment":
        container = container_of(obj)
        del obj["spec"]["template"]["spec"]["volumes"], container["volumeMounts"]
        container["env"] = [
            item for item in container["env"] if not item["name"].startswith(OF_HTTPS)
        ]
        container["ports"] = [port for port in container["ports"] if port["name"] == "http"]
        for probe in ("readinessProbe", "livenessProbe"):
            container[probe]["httpGet"]["port"] = "http"
    return obj


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


def test_https_changes_the_deployment_and_the_network_policy_and_nothing_else() -> None:
    objects = render(MANIFESTS / TLS)  # not those of rendered(), which are shared

    assert tuple(without_tls(obj) for obj in objects) == rendered(FIXED)


def test_cert_manager_only_adds_its_own_objects() -> None:
    others = [obj for obj in rendered(CERT_MANAGER) if "cert-manager.io" not in obj["apiVersion"]]

    assert tuple(others) == rendered(TLS)


def test_the_variables_name_the_files_of_the_secret_and_the_port_of_the_metrics() -> None:
    variables = container_of(one(TLS, "Deployment", NAME))["env"]

    settings = load({item["name"]: item["value"] for item in variables if "value" in item})

    assert settings == Settings(
        tls_cert_file=f"{FOLDER}/tls.crt",
        tls_private_key_file=f"{FOLDER}/tls.key",
        client_ca_file=f"{FOLDER}/ca.crt",
        metrics_port=METRICS_PORT,
    )


def test_the_secret_is_mounted_as_a_folder_that_the_user_of_the_process_can_read() -> None:
    deployment = one(TLS, "Deployment", NAME)
    container = container_of(deployment)
    [volume] = deployment["spec"]["template"]["spec"]["volumes"]

    assert volume == {"name": "tls", "secret": {"secretName": SECRET, "defaultMode": 0o444}}
    # A file mounted with subPath would never be replaced.
    assert container["volumeMounts"] == [{"name": "tls", "mountPath": FOLDER, "readOnly": True}]


def test_probes_need_no_certificate() -> None:
    container = container_of(one(TLS, "Deployment", NAME))

    assert container["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "metrics"}
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "metrics"}


def test_the_second_port_is_open_and_not_in_the_service() -> None:
    rules = one(TLS, "NetworkPolicy", NAME)["spec"]["ingress"]
    ports = container_of(one(TLS, "Deployment", NAME))["ports"]

    # The Service leads to the leader alone, and every replica has metrics.
    assert one(TLS, "Service", NAME) == one(FIXED, "Service", NAME)
    assert {port["name"]: port["containerPort"] for port in ports} == {
        "http": Settings().port,
        "metrics": METRICS_PORT,
    }
    assert [port["port"] for rule in rules for port in rule["ports"]] == [
        Settings().port,
        METRICS_PORT,
    ]


def test_the_component_goes_on_top_of_the_base_too(tmp_path: Path) -> None:
    component = os.path.relpath(MANIFESTS / "components/tls", tmp_path)
    write_overlay(tmp_path, BASE, {"components": [component]})

    assert tuple(without_tls(obj) for obj in render(tmp_path)) == rendered(BASE)


def test_the_service_s_certificate_is_the_one_that_is_mounted() -> None:
    served = certificate(NAME)

    assert served["secretName"] == SECRET
    assert served["usages"] == ["digital signature", "server auth"]
    assert served["privateKey"]["rotationPolicy"] == "Always"


def test_the_service_s_certificate_is_valid_for_every_way_to_call_it() -> None:
    served = certificate(NAME)
    service = one(CERT_MANAGER, "Service", NAME)
    name, namespace = service["metadata"]["name"], service["metadata"]["namespace"]
    lines = yaml.safe_load((MANIFESTS / "scheduler" / "tls.yaml").read_text(encoding="utf-8"))

    assert served["dnsNames"] == [
        f"{name}.{namespace}.svc",
        f"{name}.{namespace}",
        f"{name}.{namespace}.svc.cluster.local",
    ]
    assert served["ipAddresses"] == [service["spec"]["clusterIP"]]
    assert lines["tlsConfig"]["serverName"] == served["dnsNames"][0]


def test_kube_scheduler_s_certificate_is_for_a_client_and_named_where_it_is_copied_from() -> None:
    client = certificate(f"{NAME}-client")
    text = (MANIFESTS / "scheduler" / "tls.yaml").read_text(encoding="utf-8")

    assert client["usages"] == ["digital signature", "client auth"]
    assert re.findall(r"get secret (\S+)", text) == [client["secretName"]]


def test_both_are_signed_by_a_ca_that_outlives_them_and_keeps_its_key() -> None:
    authority = certificate(f"{NAME}-ca")
    issuers = {
        obj["metadata"]["name"]: obj["spec"]
        for obj in rendered(CERT_MANAGER)
        if obj["kind"] == "Issuer"
    }
    signed = [certificate(NAME), certificate(f"{NAME}-client")]

    assert issuers == {
        authority["issuerRef"]["name"]: {"selfSigned": {}},
        NAME: {"ca": {"secretName": authority["secretName"]}},
    }
    assert authority["isCA"]
    assert authority["privateKey"]["rotationPolicy"] == "Never"
    assert [cert["issuerRef"]["name"] for cert in signed] == [NAME] * 2
    # What is signed on the day before the CA is renewed must not outlive the CA.
    assert max(hours(cert["duration"]) for cert in signed) <= hours(authority["renewBefore"])
    assert all(
        hours(cert["renewBefore"]) < hours(cert["duration"]) for cert in [authority, *signed]
    )
