"""What the chart installs so that pods ask for the extender by themselves, and for which values."""

import base64
import contextlib
import ssl
from collections.abc import Sequence
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from app.config import PREFIX
from app.serving.metrics import Metrics
from app.serving.tls import Tls, TlsFiles
from app.settings import load
from cli.doctor.injecting import WISH
from supply.manifests import NAMESPACE, OWN
from tests.unit.manifests.charted import (
    CONFIGURED,
    WITH_ADDRESS,
    WITHOUT_INJECTION,
    annotations,
    charted,
    find,
    refusal,
    template,
)
from tests.unit.manifests.rendered import Object, check, container_of

pytestmark = pytest.mark.tools

GROUP = "admissionregistration.k8s.io"
V1, V1BETA1 = (f"{GROUP}/{version}/MutatingAdmissionPolicy" for version in ("v1", "v1beta1"))
SERVED = ("--api-versions", V1)
CERT_MANAGER = ("--api-versions=cert-manager.io/v1", "--set=injection.webhook.tls=certManager")
POLICY = "--set=injection.mode=policy"
WEBHOOK = ("--set", "injection.mode=webhook")
AUTO = (WITH_ADDRESS, CONFIGURED, *SERVED)
SECOND = ("--set", "secondaryScheduler.enabled=true")
NAME = "longhorn-scheduler-extender-webhook"
POLICY_KINDS = [V1, f"{V1}Binding"]
WEBHOOK_KINDS = [f"{GROUP}/v1/MutatingWebhookConfiguration", "v1/Secret", "v1/Service"]
CERT_MANAGER_KINDS = [
    f"{GROUP}/v1/MutatingWebhookConfiguration",
    *["cert-manager.io/v1/Certificate"] * 2,
    *["cert-manager.io/v1/Issuer"] * 2,
    "v1/Service",
]


def kinds(*options: str) -> list[str]:
    """Name the kinds of all objects that are about injection, and their versions."""
    found = [*template("injection-policy", *options), *template("injection-webhook", *options)]
    return sorted(f"{obj['apiVersion']}/{obj['kind']}" for obj in found)


def only(kind: str, *options: str) -> Object:
    found = [*template("injection-policy", *options), *template("injection-webhook", *options)]
    [obj] = [each for each in found if each["kind"] == kind]
    return obj


INSTALLED: dict[str, tuple[Sequence[str], list[str]]] = {
    "auto": (AUTO, POLICY_KINDS),
    "auto, v1beta1 alone": (
        [WITH_ADDRESS, CONFIGURED, "--api-versions", V1BETA1], [V1BETA1, f"{V1BETA1}Binding"]),
    "auto, both versions": ([*AUTO, "--api-versions", V1BETA1], POLICY_KINDS),
    "auto, not served": ([WITH_ADDRESS, CONFIGURED], WEBHOOK_KINDS),
    "auto, not configured": ([WITH_ADDRESS, *SERVED], []),
    "auto, not configured, not served": ([WITH_ADDRESS], []),
    "auto, configured without an address": ([OWN, CONFIGURED, *SERVED], []),
    "auto, no kube-scheduler can call": ([OWN, *SERVED], []),
    "auto, a second kube-scheduler": ([*SECOND, *SERVED], POLICY_KINDS),
    "auto, an address and a second kube-scheduler": (
        [WITH_ADDRESS, *SECOND, *SERVED], POLICY_KINDS),
    "auto, not served, a second kube-scheduler": ([], WEBHOOK_KINDS),
    "policy": ([POLICY, *SERVED], POLICY_KINDS),
    "policy, not configured": ([WITH_ADDRESS, POLICY, *SERVED], POLICY_KINDS),
    "webhook": (WEBHOOK, WEBHOOK_KINDS),
    "webhook, not configured": ([WITH_ADDRESS, *WEBHOOK], WEBHOOK_KINDS),
    "webhook, cert-manager": ([*WEBHOOK, *CERT_MANAGER], CERT_MANAGER_KINDS),
    "none": ([WITHOUT_INJECTION, *SERVED], []),
}  # fmt: skip


@pytest.mark.parametrize(("options", "expected"), INSTALLED.values(), ids=INSTALLED)
def test_each_mode_installs_what_it_needs(options, expected):
    assert kinds(*options) == expected


@pytest.mark.parametrize(
    ("options", "wish"),
    [
        ([WITH_ADDRESS], "waiting"),
        ([WITH_ADDRESS, WITHOUT_INJECTION], "none"),
        ([WITH_ADDRESS, CONFIGURED], None),
        ([WITH_ADDRESS, *WEBHOOK], None),
        ([WITH_ADDRESS, *SECOND], None),
        ([], None),
    ],
)
def test_the_service_says_for_doctor_why_nothing_is_injected(options, wish):
    [service] = template("service", *options)

    assert annotations(service).get(WISH) == wish


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ([POLICY], "the cluster serves no MutatingAdmissionPolicy"),
        (["--set", "injection.mode=yes"], "'auto', 'policy', 'webhook', 'none'"),
        ([*WEBHOOK, *CERT_MANAGER[1:]], "Install cert-manager, or set injection.webhook.tls to"),
        ([*WEBHOOK, "--set", "injection.webhook.tls=x"], "'selfSigned', 'certManager'"),
    ],
)
def test_values_that_cannot_work_are_refused(options, why):
    assert why in refusal(*options)


@pytest.mark.parametrize("options", [AUTO, WEBHOOK], ids=["policy", "webhook"])
def test_namespaces_and_labels_that_opt_out(options):
    given = ["--set", "injection.excludedNamespaces={team,longhorn-scheduler}"]
    found = [*template("injection-policy", *options, *given)]
    found += template("injection-webhook", *options, *given)
    [rules] = [
        each
        for obj in found
        for each in (obj.get("spec", {}).get("matchConstraints"), *obj.get("webhooks", ()))
        if each
    ]

    label = {"key": "longhorn-scheduler-extender/injection", "operator": "NotIn"}
    opted_out = {**label, "values": ["disabled"]}
    by_name = {
        "key": "kubernetes.io/metadata.name",
        "operator": "NotIn",
        "values": ["kube-system", NAMESPACE, "longhorn-system", "team"],
    }
    assert rules["namespaceSelector"] == {"matchExpressions": [by_name, opted_out]}
    assert rules["objectSelector"] == {"matchExpressions": [opted_out]}


def test_a_pod_is_created_whatever_becomes_of_the_webhook_or_the_policy():
    [hook] = only("MutatingWebhookConfiguration", *WEBHOOK)["webhooks"]
    policy = only("MutatingAdmissionPolicy", *AUTO)["spec"]

    assert (hook["failurePolicy"], policy["failurePolicy"]) == ("Ignore", "Ignore")
    assert (hook["reinvocationPolicy"], policy["reinvocationPolicy"]) == ("IfNeeded", "IfNeeded")
    assert (hook["timeoutSeconds"], hook["sideEffects"]) == (2, "None")
    assert hook["matchPolicy"] == "Equivalent"


@pytest.mark.parametrize(("version", "is_known"), [("1.27.16", False), ("1.28.0", True)])
def test_match_conditions_are_for_api_servers_that_know_them(version, *, is_known):
    [hook] = only("MutatingWebhookConfiguration", "--kube-version", version, *WEBHOOK)["webhooks"]

    assert ("matchConditions" in hook) is is_known


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ([], None),
        (SECOND, "longhorn-scheduler"),
        ([*SECOND, "--set", "secondaryScheduler.schedulerName=mine"], "mine"),
    ],
)
def test_pods_get_the_name_of_a_second_scheduler_if_there_is_one(options, name):
    policy = only("MutatingAdmissionPolicy", *AUTO, *options)
    _, *more = (each["jsonPatch"]["expression"] for each in policy["spec"]["mutations"])

    assert [f"value: '{name}'" in each for each in more] == ([] if name is None else [True])


def parts(*options: str) -> dict[str, Any]:
    """Return what the Deployment and the NetworkPolicy have for the webhook, part by part."""
    objects = charted("", *options)
    deployment, policy = find(objects, "Deployment"), find(objects, "NetworkPolicy")
    container = container_of(deployment)
    ours = "webhook"
    return {
        "env": [each for each in container["env"] if "_WEBHOOK_" in each["name"]],
        "ports": [each for each in container["ports"] if each["name"] == "webhook"],
        "allowed": [
            each["port"]
            for rule in policy["spec"]["ingress"]
            for each in rule["ports"]
            if each["port"] not in (9504, 9505)
        ],
        "mounts": [each for each in container["volumeMounts"] if each["name"].startswith(ours)],
        "volumes": [
            each
            for each in deployment["spec"]["template"]["spec"]["volumes"]
            if each["name"].startswith(ours)
        ],
        "lifecycle": [*container.get("lifecycle", {})],
    }


@pytest.mark.parametrize("options", [[WITHOUT_INJECTION], [*AUTO]], ids=["none", "policy"])
def test_without_the_webhook_the_deployment_needs_nothing(options):
    assert not any(parts(*options).values())


def test_a_pod_ends_only_once_the_service_leads_elsewhere():
    assert parts(*WEBHOOK)["lifecycle"] == ["preStop"]


@pytest.mark.parametrize(("options", "name"), [([OWN], ""), (SECOND, "longhorn-scheduler")])
def test_the_variables_of_the_webhook_are_settings_of_the_service(options, name):
    found = parts(*WEBHOOK, *options)
    environ = {each["name"]: each["value"] for each in found["env"]}

    settings = load(environ)

    [folder] = [each["mountPath"] for each in found["mounts"]]
    assert settings.webhook_cert_file == f"{folder}/tls.crt"
    assert settings.webhook_private_key_file == f"{folder}/tls.key"
    assert settings.webhook_scheduler_name == name


def test_the_service_leads_to_the_port_and_the_pods():
    found = parts(*WEBHOOK)
    service = only("Service", *WEBHOOK)
    [hook] = only("MutatingWebhookConfiguration", *WEBHOOK)["webhooks"]

    [port] = service["spec"]["ports"]
    [container_port] = [each["containerPort"] for each in found["ports"]]
    [allowed] = found["allowed"]
    [listened] = [each["value"] for each in found["env"] if each["name"] == f"{PREFIX}WEBHOOK_PORT"]
    assert port["targetPort"] == container_port == allowed == int(listened)
    assert hook["clientConfig"]["service"] == {
        "name": service["metadata"]["name"],
        "namespace": service["metadata"]["namespace"],
        "path": "/mutate",
        "port": port["port"],
    }
    assert service["spec"]["selector"] == {"app": "longhorn-scheduler-extender"}


@pytest.mark.parametrize("options", [[], CERT_MANAGER], ids=["self-signed", "cert-manager"])
def test_the_pods_mount_the_certificate_and_not_its_ca(options):
    found = parts(*WEBHOOK, *options)
    objects = template("injection-webhook", *WEBHOOK, *options)
    secrets = {
        each["spec"]["secretName"] if each["kind"] == "Certificate" else each["metadata"]["name"]
        for each in objects
        if each["kind"] in ("Certificate", "Secret")
    }

    [volume] = found["volumes"]
    [mount] = found["mounts"]
    mounted = volume["secret"]["secretName"]
    assert volume["name"] == mount["name"]
    # The key of a CA that Helm has made is thrown away.
    assert secrets == ({mounted, f"{mounted}-ca"} if options else {mounted})


def test_only_api_servers_may_ask_if_they_are_known_by_a_ca():
    found = parts(*WEBHOOK, "--set=injection.webhook.clientCASecretName=api-servers")

    [file] = [each["value"] for each in found["env"] if each["name"].endswith("CLIENT_CA_FILE")]
    [_, volume] = found["volumes"]
    [_, mount] = found["mounts"]
    assert file == f"{mount['mountPath']}/ca.crt"
    assert volume["secret"]["secretName"] == "api-servers"


def test_the_certificate_made_by_the_chart_is_trusted_by_the_api_server(tmp_path):
    objects = template("injection-webhook", *WEBHOOK)
    [hook] = [obj for obj in objects if obj["kind"] == "MutatingWebhookConfiguration"]
    [secret] = [obj for obj in objects if obj["metadata"]["name"] == NAME and "data" in obj]
    for name, content in secret["data"].items():
        (tmp_path / name).write_bytes(base64.b64decode(content))
    tls = Tls(
        TlsFiles(str(tmp_path / "tls.crt"), str(tmp_path / "tls.key")),
        Metrics(CollectorRegistry(), version="1"),
    )
    bundle = hook["webhooks"][0]["clientConfig"]["caBundle"]
    client = ssl.create_default_context(cadata=base64.b64decode(bundle).decode())

    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = client.wrap_bio(to_client, to_server, server_hostname=f"{NAME}.{NAMESPACE}.svc")
    theirs = tls.context.wrap_bio(to_server, to_client, server_side=True)
    for step in (ours.do_handshake, theirs.do_handshake) * 3:
        with contextlib.suppress(ssl.SSLWantReadError):
            step()
    assert ours.version() == "TLSv1.3"


def test_cert_manager_puts_the_ca_into_the_configuration():
    options = [*WEBHOOK, *CERT_MANAGER]
    configuration = only("MutatingWebhookConfiguration", *options)
    [certificate] = [
        obj
        for obj in template("injection-webhook", *options)
        if obj["kind"] == "Certificate" and not obj["spec"].get("isCA")
    ]

    assert configuration["metadata"]["annotations"] == {
        "cert-manager.io/inject-ca-from": f"{NAMESPACE}/{certificate['metadata']['name']}"
    }
    assert "caBundle" not in configuration["webhooks"][0]["clientConfig"]
    assert certificate["spec"]["dnsNames"] == [f"{NAME}.{NAMESPACE}.svc"]


@pytest.mark.parametrize("version", ["v1.36", "v1.37"])
@pytest.mark.parametrize("options", [[*AUTO], WEBHOOK], ids=["policy", "webhook"])
def test_kubernetes_accepts_the_objects(options, version):
    found = [*template("injection-policy", *options), *template("injection-webhook", *options)]

    for obj in found:
        check(obj, version.removeprefix("v"))
