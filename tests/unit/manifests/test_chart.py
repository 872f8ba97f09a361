"""The chart is valid with every set of values, refuses wrong ones, and agrees with the code."""

import json
import shlex
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import kubernetes_validate
import pytest
import typer
import yaml

from app.config import PREFIX
from app.instance.live_settings import LiveSettings, read_live_settings
from app.settings import Settings, load
from cli.commands import commands
from cli.scheduler_config import Distribution, make_wanted, tls_files, written
from extender import Balance, Mode
from supply.manifests import CHART, NAMESPACE
from tests import tools
from tests.unit.manifests.charted import (
    DEFAULTS,
    IMAGE,
    INSECURE,
    NAME,
    VALUES,
    WITH_ADDRESS,
    WITHOUT_INJECTION,
    charted,
    default_values,
    find,
    helm,
    hooks,
    options_of,
    refusal,
    values_option,
)
from tests.unit.manifests.rendered import Object, at, check, container_of, rows_of
from tests.unit.manifests.test_manifests import OF_OPERATORS, OLDEST

pytestmark = pytest.mark.tools

SCHEMA = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
LATEST = kubernetes_validate.latest_version()
SCHEDULER = "longhorn-scheduler"
FROM = "--set=networkPolicy.from[0].ipBlock.cidr=192.0.2.11/32"
API_SERVER = "--set=networkPolicy.apiServer[0].ipBlock.cidr=192.0.2.12/32"
EVERYTHING = "everything"
PROBES = ("readinessProbe", "livenessProbe")
GROUP = typer.main.get_command(commands)
SET_BY_CHART = {
    *("port", "metrics_port", "tls_cert_file", "tls_private_key_file", "client_ca_file"),
    *("client_names", "insecure", "plain_until", "webhook_client_ca_file", "wake_up"),
    "startup_taint",
    *("namespace", "longhorn_namespace", "pod_name", "node_name"),
    *("reservation_mode", "balance", "debug", "log_level"),
    *("webhook_port", "webhook_cert_file", "webhook_private_key_file", "webhook_scheduler_name"),
}
"""Settings that are not for extraEnv: they are fixed, or have a value of their own."""


def described(schema: Object, path: str = "") -> Iterator[tuple[str, Object]]:
    """Go through the schema of each value, by its path."""
    for name, value in schema.get("properties", {}).items():
        yield f"{path}{name}", value
        yield from described(value, f"{path}{name}.")


def variables(objects: tuple[Object, ...]) -> dict[str, str]:
    """Return the variables of the service that have a value in the chart."""
    env = container_of(find(objects, "Deployment"))["env"]
    return {item["name"]: item["value"] for item in env if "value" in item}


def scheduler_config(objects: tuple[Object, ...]) -> str:
    """Return the configuration of the secondary scheduler, below its first comment."""
    config = find(objects, "ConfigMap", "longhorn-scheduler-config")["data"]["config.yaml"]
    return str(config).split("\n", maxsplit=1)[1]


def notes(options: str) -> str:
    """Return what is printed after the installation with these options, in words."""
    values, *others = options_of(options)
    command = ("install", NAME, str(CHART), f"--namespace={NAMESPACE}", "--dry-run=client", IMAGE)
    return helm(*command, *values_option(values), *others).partition("\nNOTES:\n")[2]


@pytest.mark.parametrize("values", VALUES)
def test_helm_finds_nothing_to_complain_about(values):
    printed = helm("lint", "--strict", str(CHART), *values_option(values))

    assert "1 chart(s) linted, 0 chart(s) failed" in printed


@pytest.mark.parametrize("version", [OLDEST, LATEST])
@pytest.mark.parametrize("values", VALUES)
def test_kubernetes_accepts_every_object(values, version):
    of_cluster = version if version.count(".") == 2 else f"{version}.0"
    rendering = (values, f"--kube-version={of_cluster}")

    for obj in (*charted(*rendering), *hooks(*rendering)):
        if not obj["apiVersion"].startswith(OF_OPERATORS):
            check(obj, version)


def test_the_validator_refuses_unknown_fields():
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {}, "spec": {"slector": {}}}

    with pytest.raises(kubernetes_validate.ValidationError, match="slector"):
        check(service, OLDEST)


def test_an_older_kubernetes_is_refused():
    assert "incompatible with Kubernetes v1.25.0" in refusal("--kube-version=v1.25.0")


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("replica=3", "at '': additional properties 'replica' not allowed"),
        ("replicas=0", "at '/replicas': minimum: got 0, want 1"),
        ("image.tag=7", "at '/image/tag': got number, want string"),
        ("image.digest=sha256:12", "at '/image/digest': 'sha256:12' does not match"),
        ("service.clusterIP=10.96.0.95", "at '/service/clusterIP': got string, want object"),
        ("service.clusterIP.ipv4=10.96.0.300", "at '/service/clusterIP/ipv4': '10.96.0.300' does"),
        ("service.clusterIP.ipv6=10.96.0.95", "at '/service/clusterIP/ipv6': '10.96.0.95' does"),
        ("balance=best", "at '/balance': value must be one of 'spread', 'pack', 'off', false"),
        ("liveSettings.podSchedulingTimeoutSeconds=601", "maximum: got 601, want 600"),
        ("extraEnv.EXTENDER_FOO=1", "at '/extraEnv': additional properties 'EXTENDER_FOO' not"),
        ("extraEnv.EXTENDER_PORT=1", "at '/extraEnv': additional properties 'EXTENDER_PORT' not"),
        ("injection.mode=on", "value must be one of 'auto', 'policy', 'webhook', 'none'"),
        ("tls.mode=on", "one of 'selfSigned', 'certManager', 'secret', 'insecure', 'none'"),
        ("tls.mode=none", "tls.mode none is called insecure now"),
        ("tls.clientCertificates=false", "tls.clientCertificates is gone: only clients with a"),
        ("tls.plainUntil=tomorrow", "at '/tls/plainUntil': 'tomorrow' does not match pattern"),
        ("tls.clientNames[0]=a\\,b", "at '/tls/clientNames/0': 'a,b' does not match pattern"),
        ("tls.mode=insecure,tls.clientNames[0]=a", "tls.clientNames needs certificates"),
        ("networkPolicy.from[0].cidr=::/0", "at '/networkPolicy/from/0': additional properties"),
        ("networkPolicy.apiServer[0].cidr=::/0", "at '/networkPolicy/apiServer/0': additional"),
        ("extraEnv.EXTENDER_WAKE_UP=1", "additional properties 'EXTENDER_WAKE_UP' not allowed"),
        ("startupTaint=a:NoSchedule", "at '/startupTaint': 'a:NoSchedule' does not match pattern"),
        ("tls.secretName=", "at '/tls/secretName': '' does not match pattern"),
        ("tls=null", "at '': missing property 'tls'"),
        ("resources.limit.cpu=1", "at '/resources': additional properties 'limit' not allowed"),
        ("metrics.podMonitor.interval=5m", "at '/metrics/podMonitor/interval': '5m' does not"),
        ("commonLabels.app=mine", "commonLabels and podLabels cannot have the label app"),
        ("podLabels.app=mine", "commonLabels and podLabels cannot have the label app"),
    ],
)
def test_a_wrong_value_is_refused_by_its_name(option, text):
    assert text in refusal(f"--set={option}")


def test_every_value_is_described_and_no_other_is_taken():
    values = dict(described(SCHEMA))
    settings = {path for path in values if "extraEnv." in path}

    assert [path for path in values.keys() - settings if not values[path].get("description")] == []
    assert [
        path
        for path, value in values.items()
        if "properties" in value and value.get("additionalProperties") is not False
    ] == []
    assert SCHEMA["additionalProperties"] is False


def test_every_value_has_a_default():
    def missing(schema: Object, values: Any, path: str) -> Iterator[str]:
        for name, value in schema.get("properties", {}).items():
            if name not in values:
                yield f"{path}{name}"
            elif values[name]:  # an empty one is the user's to fill
                yield from missing(value, values[name], f"{path}{name}.")

    # `global` is there for charts above this one, which may set it, and the other one for those who
    # have set it: they are told what has become of it.
    assert [*missing(SCHEMA, default_values(), "")] == ["global", "tls.clientCertificates"]


def test_one_file_has_another_value_for_each():
    def same(schema: Object, values: Any, others: Any, path: str) -> Iterator[str]:
        for name, value in values.items():
            below = schema["properties"][name]
            if value and "properties" in below:
                yield from same(below, value, others.get(name, {}), f"{path}{name}.")
            elif others.get(name, value) == value:
                yield f"{path}{name}"

    text = (CHART / "ci" / "everything-values.yaml").read_text(encoding="utf-8")

    # Names are refused.
    assert [*same(SCHEMA, default_values(), yaml.safe_load(text), "")] == [
        "nameOverride",
        "fullnameOverride",
    ]


def test_every_setting_can_be_set():
    mapped, listed = SCHEMA["properties"]["extraEnv"]["oneOf"]
    extra = mapped["properties"]
    assert [*extra] == listed["items"]["properties"]["name"]["anyOf"][0]["enum"]
    fields = set(Settings.__struct_fields__)

    assert {name.removeprefix(PREFIX).lower() for name in extra} == fields - SET_BY_CHART
    assert fields >= SET_BY_CHART


def test_defaults_are_those_of_the_service():
    values, settings = default_values(), Settings()

    # What is left out has the service's default.
    assert variables(charted(DEFAULTS, WITHOUT_INJECTION, INSECURE)) == {
        "EXTENDER_LONGHORN_NAMESPACE": settings.longhorn_namespace,
        "EXTENDER_INSECURE": "true",
        "EXTENDER_METRICS_PORT": "9505",
    }
    assert settings.namespace == NAMESPACE
    assert (values["reservationMode"], values["balance"]) == (
        settings.reservation_mode,
        settings.balance,
    )
    assert (values["logLevel"], values["debug"]) == (settings.log_level, settings.debug)
    assert values["wakeUp"] == settings.wake_up
    assert values["startupTaint"] == settings.startup_taint


def test_what_is_chosen_reaches_the_service():
    settings = load(variables(charted(EVERYTHING)))

    assert settings == Settings(
        longhorn_namespace="longhorn-elsewhere",
        reservation_mode=Mode.NODE,
        balance=Balance.OFF,
        log_level="debug",
        debug=True,
        body_limit_bytes=2**28,
        filter_wait_seconds=0.5,
        host="0.0.0.0",  # noqa: S104 (compared, not bound)
        wake_up=False,
        startup_taint="startup-taint.example/longhorn",
        tls_cert_file=f"/etc/{NAME}/tls/tls.crt",
        tls_private_key_file=f"/etc/{NAME}/tls/tls.key",
        client_ca_file=f"/etc/{NAME}/tls/ca.crt",
        client_names="scheduler.example",
        plain_until=datetime(2027, 1, 31, 12, tzinfo=UTC),
        metrics_port=9505,
    )


OTHER_LIVE = LiveSettings(
    enabled=False, pod_scheduling_timeout_seconds=7, node_reservation_timeout_seconds=0
)


@pytest.mark.parametrize(
    ("values", "expected"), [(DEFAULTS, LiveSettings()), (EVERYTHING, OTHER_LIVE)]
)
def test_live_settings_reach_the_service(values, expected):
    data = find(charted(values), "ConfigMap")["data"]

    assert read_live_settings(data, LiveSettings()) == (expected, [])


def test_the_image_is_found_by_its_digest_if_there_is_one():
    image = at(find(charted(EVERYTHING), "Deployment"), "container.image")

    name = "registry.example/longhorn/scheduler-extender"
    assert image == f"{name}@sha256:{'0123456789abcdef' * 4}"


REACHED = rows_of("""
- --set-string=image.tag=7 | Deployment container.image | longhorn-scheduler-extender:7
everything | Deployment pod.volumes.scratch | {name: scratch, emptyDir: {}}
everything | Deployment container.volumeMounts.scratch | {name: scratch, mountPath: /scratch}
everything | Deployment pod.topologySpreadConstraints.*.topologyKey | [topology.kubernetes.io/zone]
everything | Deployment pod.priorityClassName | null
- podSecurityContext.runAsUser=null | Deployment pod.securityContext.runAsUser | null
- replicaCount=4 | Deployment spec.replicas | 4
- imagePullSecrets[0].name=mine | Deployment pod.imagePullSecrets | [name: mine]
everything | ServiceAccount metadata.annotations | {owner.example/team: storage}
everything | PodMonitor metadata.labels.release | kube-prometheus-stack
everything | PrometheusRule metadata.labels.release | kube-prometheus-stack
everything | ConfigMap/longhorn-scheduler-extender-dashboard metadata.labels.dashboards | storage
everything | Deployment/longhorn-scheduler container.image | registry.example/kube-scheduler:v1.35.1
everything | Deployment/longhorn-scheduler container.resources.limits | {memory: 256Mi}
everything | Deployment/longhorn-scheduler spec.replicas | 1
everything | Deployment/longhorn-scheduler pod.imagePullSecrets | [name: registry, name: mirror]
""")
"""Of each: the options, the place that a value comes to, and what is there."""


@pytest.mark.parametrize(("options", "place", "expected"), REACHED.values(), ids=REACHED)
def test_a_value_reaches_its_place(options, place, expected):
    which, path = place.split()
    kind, _, name = which.partition("/")

    found = at(find(charted(*options_of(options)), kind, name or NAME), path)

    assert found == yaml.safe_load(expected)


@pytest.mark.parametrize("version", ["v1.33.4", "v1.33.4-gke.1000", "v1.33.4+k3s1", "v1.33.4-rc.1"])
def test_the_secondary_scheduler_has_the_version_of_the_cluster(version):
    objects = charted("secondary-scheduler", f"--kube-version={version}")

    image = container_of(find(objects, "Deployment", SCHEDULER))["image"]

    assert image == "registry.k8s.io/kube-scheduler:v1.33.4"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (DEFAULTS, {}),
        ("fixed-address", {"clusterIP": "10.96.0.95"}),
        ("ipv6", {"clusterIP": "fd00:10:96::95"}),
        (
            "tls-self-signed",
            {
                "clusterIP": "10.96.0.95",
                "clusterIPs": ["10.96.0.95", "fd00:10:96::95"],
                "ipFamilies": ["IPv4", "IPv6"],
                "ipFamilyPolicy": "RequireDualStack",
            },
        ),
    ],
)
def test_the_service_has_the_addresses_that_are_given(values, expected):
    spec = find(charted(values), "Service")["spec"]

    assert {name: spec[name] for name in spec.keys() - {"type", "ports"}} == expected


def test_a_cluster_that_does_not_say_its_version_needs_a_tag():
    text = refusal(*values_option("secondary-scheduler"), "--kube-version=1.33")

    assert (
        "set secondaryScheduler.image.tag: the cluster's version, v1.33, is not a whole one" in text
    )


def test_the_profile_of_the_second_scheduler_has_the_name_that_is_given():
    [profile] = yaml.safe_load(scheduler_config(charted(EVERYTHING)))["profiles"]

    assert profile["schedulerName"] == "storage-scheduler"


@pytest.mark.parametrize(
    ("option", "scheme"),
    [(INSECURE, "http"), ("--set=tls.mode=selfSigned", "https")],
)
def test_its_configuration_is_what_is_printed_for_it(option, scheme):
    url = f"{scheme}://{NAME}.{NAMESPACE}.svc:9504"
    folder = f"/etc/{NAME}"
    files = (f"{folder}/ca.crt", f"{folder}/tls.crt", f"{folder}/tls.key")
    tls = tls_files(*files, f"{NAME}.{NAMESPACE}.svc") if url.startswith("https") else None

    expected = written(make_wanted(Distribution.SECONDARY, url, tls))

    assert scheduler_config(charted("secondary-scheduler", option)) == expected


def test_its_pods_have_the_certificate_that_its_configuration_names():
    objects = charted("tls-self-signed")
    pod = find(objects, "Deployment", SCHEDULER)["spec"]["template"]["spec"]
    folders = {each["name"]: each["mountPath"] for each in pod["containers"][0]["volumeMounts"]}
    files = {
        f"{folders[volume['name']]}/{file}"
        for volume in pod["volumes"]
        if "secret" in volume
        for file in find(objects, "Secret", volume["secret"]["secretName"])["data"]
    }

    [extender] = yaml.safe_load(scheduler_config(objects))["extenders"]

    assert files == {extender["tlsConfig"][f"{each}File"] for each in ("ca", "cert", "key")}


@pytest.mark.parametrize("name", [NAME, SCHEDULER])
def test_labels_of_the_user_change_no_selector(name):
    deployment = find(charted(EVERYTHING), "Deployment", name)
    labels = deployment["spec"]["template"]["metadata"]["labels"]

    assert deployment["spec"]["selector"] == {"matchLabels": {"app": name}}
    assert labels["app"] == name
    assert all(
        obj["metadata"]["labels"]["team"] == "storage"
        for obj in (*charted(EVERYTHING), *hooks(EVERYTHING))
    )


def test_what_is_turned_off_is_left_out():
    kinds = {obj["kind"] for obj in charted(EVERYTHING)}

    assert not {"NetworkPolicy", "PodDisruptionBudget"} & kinds


@pytest.mark.parametrize("option", [INSECURE, "--set=tls.mode=selfSigned"])
def test_probes_and_prometheus_ask_a_port_that_is_open_to_all(option):
    objects = charted("monitoring", option, FROM, WITHOUT_INJECTION)
    container = container_of(find(objects, "Deployment"))
    [endpoint] = find(objects, "PodMonitor")["spec"]["podMetricsEndpoints"]
    asked = {endpoint["port"], *(container[each]["httpGet"]["port"] for each in PROBES)}

    assert asked == {"metrics"}
    assert load(variables(objects)).metrics_port == 9505
    assert {"name": "metrics", "containerPort": 9505, "protocol": "TCP"} in container["ports"]
    assert {"ports": [{"port": 9505, "protocol": "TCP"}]} in (
        find(objects, "NetworkPolicy")["spec"]["ingress"]
    )


URLS = rows_of("""
fixed-address | https://10.96.0.95:9504
fixed-address INSECURE | http://10.96.0.95:9504
ipv6 | https://[fd00:10:96::95]:8443
""")


@pytest.mark.parametrize(("options", "url"), URLS.values(), ids=URLS)
def test_the_notes_say_how_to_configure_kube_scheduler(options, url):
    text = notes(options)
    [command] = [part for part in text.split("\n\n") if "scheduler-config" in part]
    name = "scheduler-config"
    given = shlex.split(command.replace("\\\n", "").partition(name)[2])

    context = getattr(GROUP, "commands", {})[name].make_context(name, given)

    assert context.params["url"] == url
    assert "has no fixed address" not in text
    assert ("2. Copy ca.crt, tls.crt and tls.key" in text) == url.startswith("https")


PHRASES = {
    "address": "WARNING: the Service has no fixed address",
    "open": "WARNING: tls.mode is insecure",
    "copy": "for file in ca.crt tls.crt tls.key; do",
    "get": f"get secret {NAME}-kube-scheduler \\",
    "own": f"once the Secrets {NAME}-tls and",
    "by-hand": 'longhorn.io/scheduler-extender: "1"',
    "webhook": "a webhook adds it",
    "waits": "INJECTION WAITS",
    "begin": "--reset-then-reuse-values --set kubeSchedulerConfigured=true",
    "test": f"helm test {NAME} --namespace {NAMESPACE} --filter name={NAME}-test\n",
    "pending": "WARNING: a kube-scheduler that does not know the extender",
    "replicaCount": "replicaCount is taken for replicas",
    "imagePullSecrets": "imagePullSecrets are added to image.pullSecrets",
    "mode": "say mode=second-scheduler instead",
}
NOTES = rows_of("""
- | webhook
- mode=cluster-scheduler | address by-hand
- networkPolicy.from[0].ipBlock.cidr=192.0.2.11/32 INSECURE | open webhook
tls-cert-manager | copy get waits begin test
fixed-address | copy get waits begin test
tls-secret | own waits begin test
- injection.mode=none | by-hand
- injection.mode=webhook | webhook
- ADDRESS | copy get waits begin test
- ADDRESS CONFIGURED | copy get webhook
- ADDRESS injection.mode=webhook | copy get webhook pending
- ADDRESS injection.mode=none | copy get by-hand
- replicaCount=4 | webhook replicaCount
- imagePullSecrets[0].name=mine | webhook imagePullSecrets
- secondaryScheduler.enabled=true | webhook mode
""")


@pytest.mark.parametrize(("options", "said"), NOTES.values(), ids=NOTES)
def test_the_notes_say_what_is_still_to_do(options, said):
    text = notes(options)

    assert [name for name, phrase in PHRASES.items() if phrase in text] == said.split()


def test_the_notes_name_the_test():
    [of_test] = [obj for obj in hooks(DEFAULTS) if obj["metadata"]["name"] == f"{NAME}-test"]

    assert of_test["kind"] == "Pod"


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ([DEFAULTS], {"kube-scheduler"}),
        (["tls-cert-manager"], {"kube-scheduler"}),
        (["tls-secret"], set()),
        (["tls-secret", "--set=tls.clientNames={a,other scheduler}"], {"a", "other scheduler"}),
    ],
)
def test_the_names_of_clients_reach_the_service(options, names):
    settings = load(variables(charted(*options, WITHOUT_INJECTION)))

    assert settings.client_ca_file == f"/etc/{NAME}/tls/ca.crt"
    assert settings.allowed_clients == names


@pytest.mark.parametrize(
    ("options", "called", "webhook"),
    [
        ([], [SCHEDULER, f"{NAME}-test"], None),
        ([INSECURE], [SCHEDULER, f"{NAME}-test"], None),
        ([FROM, API_SERVER], ["192.0.2.11/32", SCHEDULER, f"{NAME}-test"], ["192.0.2.12/32"]),
        ([WITH_ADDRESS], None, None),
        ([WITH_ADDRESS, FROM], ["192.0.2.11/32", f"{NAME}-test"], None),
    ],
    ids=["second scheduler", "insecure", "and others", "the cluster's own", "from its nodes"],
)
def test_who_may_reach_which_port(options, called, webhook):
    objects = charted(DEFAULTS, "--set=injection.mode=webhook", *options)
    allowed = {
        rule["ports"][0]["port"]: rule.get("from")
        for rule in find(objects, "NetworkPolicy")["spec"]["ingress"]
    }

    def names(peers: Any) -> list[str] | None:
        """Return addresses, and the labels of pods; None for everybody."""
        if peers is None:
            return None
        found = (each.get("ipBlock") or each["podSelector"]["matchLabels"] for each in peers)
        return [value for each in found for value in each.values()]

    assert {port: names(peers) for port, peers in allowed.items()} == {
        9504: called,
        9505: None,
        9506: webhook,
    }


def test_pods_that_may_reach_the_port_have_these_labels():
    objects = charted(DEFAULTS)
    [of_scheduler, of_test] = [
        each["podSelector"]["matchLabels"].items()
        for each in find(objects, "NetworkPolicy")["spec"]["ingress"][0]["from"]
    ]

    template = find(objects, "Deployment", SCHEDULER)["spec"]["template"]
    assert of_scheduler <= template["metadata"]["labels"].items()
    assert of_test <= find(hooks(DEFAULTS), "Pod", f"{NAME}-test")["metadata"]["labels"].items()


MISSING = {
    "wakeUp": "pods/patch",
    "commandsInPod": (
        "networkpolicies/list deployments/get configmaps/get csidrivers/list "
        "csistoragecapacities/list volumeattachments/list mutatingadmissionpolicies/get "
        "mutatingadmissionpolicybindings/get mutatingwebhookconfigurations/get"
    ),
}


@pytest.mark.parametrize(("option", "missing"), MISSING.items(), ids=MISSING)
def test_who_does_without_has_fewer_rights(option, missing):
    before, after = rights(charted(DEFAULTS)), rights(charted(DEFAULTS, f"--set={option}=false"))

    assert {right.partition(" ")[2] for right in before - after} == {*missing.split()}
    assert after < before


def rights(objects: tuple[Object, ...]) -> set[str]:
    """Return what the roles of the service grant, such as `Role leases/get`.

    That in Longhorn's namespace is not among them.
    """
    return {
        f"{role['kind']} {resource}/{verb}"
        for role in (find(objects, "ClusterRole", f"{NAME}.{NAMESPACE}"), find(objects, "Role"))
        for rule in role["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


STARTUP_TAINT = "--set=startupTaint=startup-taint.example/longhorn"
POLICIES_SERVED = "--api-versions=admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy"


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ([], 0),
        ([POLICIES_SERVED], 2),
        ([POLICIES_SERVED, "--set=admissionPolicy.enabled=false"], 0),
    ],
)
def test_the_policies_are_installed_where_they_are_served(options, count):
    kinds = [obj["kind"] for obj in charted(DEFAULTS, *options)]

    assert kinds.count("ValidatingAdmissionPolicy") == count
    assert kinds.count("ValidatingAdmissionPolicyBinding") == count


def test_the_policies_are_for_the_account_in_the_namespace_of_the_release():
    objects = charted(DEFAULTS, POLICIES_SERVED, "--namespace=storage")

    for name in (f"{NAME}-account.storage", f"{NAME}-endpoints.storage"):
        spec = find(objects, "ValidatingAdmissionPolicy", name)["spec"]
        assert f"'system:serviceaccount:storage:{NAME}'" in spec["matchConditions"][0]["expression"]


@pytest.mark.parametrize(
    ("options", "is_there"),
    [
        pytest.param([], False, id="as-shipped"),
        pytest.param([STARTUP_TAINT], True, id="on"),
        pytest.param([STARTUP_TAINT, "--set=admissionPolicy.enabled=false"], True, id="on-alone"),
        pytest.param([STARTUP_TAINT, "--kube-version=v1.29.9"], False, id="without-policies"),
    ],
)
def test_nodes_may_be_patched_only_where_a_policy_says_how(options, *, is_there):
    objects = charted(DEFAULTS, *options)
    name = f"{NAME}-startup-taint.{NAMESPACE}"
    kinds = {obj["kind"] for obj in objects if obj["metadata"]["name"] == name}
    policy = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    roles = [obj["rules"] for obj in objects if obj["kind"] == "ClusterRole"]

    assert kinds == ({"ClusterRole", "ClusterRoleBinding", *policy} if is_there else set())
    assert ("EXTENDER_STARTUP_TAINT" in variables(objects)) is is_there
    assert is_there is any(
        "nodes" in rule["resources"] and "patch" in rule["verbs"]
        for rules in roles
        for rule in rules
    )


@pytest.mark.parametrize(
    ("options", "deployments", "scheduler"),
    [
        ([], {NAME, SCHEDULER}, SCHEDULER),
        (["--set=mode=cluster-scheduler"], {NAME}, None),
        ([WITH_ADDRESS], {NAME}, None),
        ([WITH_ADDRESS, "--set=mode=second-scheduler"], {NAME, SCHEDULER}, SCHEDULER),
        ([WITH_ADDRESS, "--set=secondaryScheduler.enabled=true"], {NAME, SCHEDULER}, SCHEDULER),
    ],
    ids=["default", "own", "an address", "an address and the second one", "the older name"],
)
def test_who_asks_follows_from_the_mode_and_the_address(options, deployments, scheduler):
    objects = charted(DEFAULTS, *options, "--set=injection.mode=webhook")

    assert {obj["metadata"]["name"] for obj in objects if obj["kind"] == "Deployment"} == (
        deployments
    )
    assert variables(objects).get("EXTENDER_WEBHOOK_SCHEDULER_NAME") == scheduler


def test_an_image_is_needed():
    done = subprocess.run(
        [tools.find("helm"), "template", NAME, str(CHART)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode != 0
    assert "set image.repository: there is no public image" in done.stderr


def test_names_cannot_be_chosen():
    assert "nameOverride and fullnameOverride must be empty" in refusal("--set=nameOverride=mine")


def test_variables_can_be_a_list():
    from_elsewhere = '{"name":"TOKEN","valueFrom":{"secretKeyRef":{"name":"a","key":"b"}}}'
    named = '{"name":"EXTENDER_HOST","value":"::"}'
    objects = charted(DEFAULTS, f"--set-json=extraEnv=[{from_elsewhere},{named}]")
    env = container_of(find(objects, "Deployment"))["env"]

    assert [json.loads(from_elsewhere), json.loads(named)] == [
        each for each in env if each["name"] in ("TOKEN", "EXTENDER_HOST")
    ]
    unknown = '{"name":"EXTENDER_FOO","value":"1"}'
    assert "at '/extraEnv" in refusal(f"--set-json=extraEnv=[{unknown}]")


def test_a_service_monitor_finds_all_instances():
    objects = charted(DEFAULTS, "--set=metrics.serviceMonitor.enabled=true")
    service = find(objects, "Service", f"{NAME}-metrics")
    spec = find(objects, "ServiceMonitor")["spec"]
    [port] = service["spec"]["ports"]
    [endpoint] = spec["endpoints"]

    pods = find(objects, "Deployment")["spec"]["template"]
    assert service["spec"]["selector"].items() <= pods["metadata"]["labels"].items()
    assert spec["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert service["metadata"]["labels"][spec["jobLabel"]] == NAME
    assert (endpoint["port"], port["targetPort"]) == (port["name"], "metrics")
    # The Service that kube-scheduler calls is not selected: it has one instance.
    assert not (
        spec["selector"]["matchLabels"].items()
        <= find(objects, "Service")["metadata"]["labels"].items()
    )


def test_the_test_runs_only_where_kube_scheduler_knows_the_extender():
    pod = find(hooks("secondary-scheduler"), "Pod", f"{NAME}-test")["spec"]

    assert pod["schedulerName"] == SCHEDULER
    assert pod["containers"][0]["resources"]["limits"] == {"longhorn.io/scheduler-extender": "1"}


def test_alerts_and_dashboard_lead_to_where_the_runbooks_are():
    place = "https://docs.test/runbooks.html"
    objects = charted("monitoring", FROM, f"--set=metrics.runbooks={place}")
    [group] = find(objects, "PrometheusRule")["spec"]["groups"]
    panels = str(find(objects, "ConfigMap", f"{NAME}-dashboard")["data"])

    links = [rule["annotations"]["runbook_url"] for rule in group["rules"]]
    assert f"{place}#no-leader" in links
    assert all(link.startswith(f"{place}#") for link in links)
    assert f"{place}#no-leader" in panels
    assert "docs/runbooks.md" not in panels
