"""The manifests are valid, hardened, stay in their namespace and agree with the code."""

import pytest

from app.config import PREFIX
from app.settings import Settings, load
from supply.manifests import NAMESPACE
from tests.unit.manifests.rendered import (
    BASE,
    CERT_MANAGER,
    FIXED,
    MANIFESTS,
    MONITORING,
    SECONDARY,
    Object,
    container_of,
    one,
    render,
    rendered,
    write_overlay,
)

pytestmark = pytest.mark.tools

NAME = "longhorn-scheduler-extender"
FOLDERS = sorted(  # what can be installed; a component only as part of it
    path.parent.relative_to(MANIFESTS).as_posix()
    for path in MANIFESTS.rglob("kustomization.yaml")
    if "components" not in path.parts
)
OF_OPERATORS = ("cert-manager.io/", "monitoring.coreos.com/")  # have tests of their own
METRICS_PORT = 9505
OLDEST = "1.26"  # unhealthyPodEvictionPolicy is refused by older ones
DEPLOYMENTS = [(BASE, NAME), (SECONDARY, "longhorn-scheduler")]
CLUSTER_SCOPED = {"ClusterRole", "ClusterRoleBinding"}
RIGHTS = {(kind, f"{NAME}.{NAMESPACE}", "longhorn-system") for kind in ("Role", "RoleBinding")}
"""What the service may do with Longhorn's objects."""
ELSEWHERE = {
    MONITORING: set[tuple[str, str, str]](),
    # Kubernetes keeps that Role there, and a RoleBinding must be with its Role.
    SECONDARY: {
        ("RoleBinding", f"longhorn-scheduler-authentication-reader.{NAMESPACE}", "kube-system")
    },
}
"""What is in another namespace, of the folders that have not just `RIGHTS` there."""


def test_every_kustomization_is_known_to_these_tests():
    assert sorted([BASE, CERT_MANAGER, FIXED, MONITORING, SECONDARY]) == FOLDERS


@pytest.mark.parametrize("folder", FOLDERS)
def test_objects_stay_in_their_namespace(folder):
    strays = {
        (obj["kind"], obj["metadata"]["name"], obj["metadata"].get("namespace"))
        for obj in rendered(folder)
        if obj["kind"] not in CLUSTER_SCOPED and obj["metadata"].get("namespace") != NAMESPACE
    }

    assert strays == ELSEWHERE.get(folder, RIGHTS)


@pytest.mark.parametrize("folder", sorted({*FOLDERS} - {MONITORING}))
def test_bindings_are_for_the_account_of_the_pods(folder):
    [account] = [obj["metadata"] for obj in rendered(folder) if obj["kind"] == "ServiceAccount"]
    [deployment] = [obj for obj in rendered(folder) if obj["kind"] == "Deployment"]
    subject = {"kind": "ServiceAccount", "name": account["name"], "namespace": NAMESPACE}

    bindings = [obj["subjects"] for obj in rendered(folder) if obj["kind"].endswith("Binding")]

    assert deployment["spec"]["template"]["spec"]["serviceAccountName"] == account["name"]
    assert len(bindings) >= 2
    assert all(subjects == [subject] for subjects in bindings)


@pytest.mark.parametrize("folder", FOLDERS)
def test_roles_bound_in_the_folder_are_in_it(folder):
    of_kubernetes = {
        "system:kube-scheduler",
        "system:volume-scheduler",
        "extension-apiserver-authentication-reader",
    }
    roles = {
        (obj["kind"], obj["metadata"]["name"])
        for obj in rendered(folder)
        if obj["kind"] in {"Role", "ClusterRole"}
    }

    bound = {
        (obj["roleRef"]["kind"], obj["roleRef"]["name"])
        for obj in rendered(folder)
        if obj["kind"].endswith("Binding")
    }

    assert {role for role in bound if role[1] not in of_kubernetes} == roles


@pytest.mark.parametrize(("folder", "name"), DEPLOYMENTS)
def test_pods_are_hardened(folder, name):
    deployment = one(folder, "Deployment", name)
    pod = deployment["spec"]["template"]["spec"]

    assert pod["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "runAsGroup": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert container_of(deployment)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not {"hostNetwork", "hostPID", "hostIPC", "initContainers"} & set(pod)
    assert all("hostPath" not in volume for volume in pod.get("volumes", []))


@pytest.mark.parametrize(("folder", "name"), DEPLOYMENTS)
def test_only_the_pods_of_the_deployment_get_the_token(folder, name):
    pod = one(folder, "Deployment", name)["spec"]["template"]["spec"]

    assert pod["automountServiceAccountToken"] is True
    assert one(folder, "ServiceAccount", name)["automountServiceAccountToken"] is False


@pytest.mark.parametrize(("folder", "name"), DEPLOYMENTS)
def test_a_roll_out_keeps_both_replicas_ready_and_needs_no_second_node(folder, name):
    spec = one(folder, "Deployment", name)["spec"]
    [spread] = spec["template"]["spec"]["topologySpreadConstraints"]

    assert spec["replicas"] == 2
    assert spec["strategy"] == {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    assert (spread["topologyKey"], spread["whenUnsatisfiable"]) == (
        "kubernetes.io/hostname",
        "ScheduleAnyway",
    )


@pytest.mark.parametrize(("folder", "name"), DEPLOYMENTS)
def test_everything_that_selects_the_pods_selects_them(folder, name):
    deployment = one(folder, "Deployment", name)
    pod = deployment["spec"]["template"]
    [spread] = pod["spec"]["topologySpreadConstraints"]
    policies = [obj for obj in rendered(folder) if obj["kind"] == "NetworkPolicy"]

    selectors = [
        deployment["spec"]["selector"],
        spread["labelSelector"],
        one(folder, "PodDisruptionBudget", name)["spec"]["selector"],
        *(policy["spec"]["podSelector"] for policy in policies),
    ]

    assert all(selector == {"matchLabels": {"app": name}} for selector in selectors)
    assert pod["metadata"]["labels"] == {"app": name, "app.kubernetes.io/name": name}


@pytest.mark.parametrize(("folder", "name"), DEPLOYMENTS)
def test_a_drain_is_never_blocked(folder, name):
    spec = one(folder, "PodDisruptionBudget", name)["spec"]

    assert spec["maxUnavailable"] == "100%"
    assert spec["unhealthyPodEvictionPolicy"] == "AlwaysAllow"


def test_the_container_runs_serve_within_its_memory_and_without_a_cpu_limit():
    deployment = one(BASE, "Deployment", NAME)
    container = container_of(deployment)

    assert container["command"] == [NAME, "serve"]
    assert container["resources"] == {
        "requests": {"cpu": "100m", "memory": "256Mi"},
        "limits": {"memory": "1Gi"},
    }
    assert deployment["spec"]["template"]["spec"]["priorityClassName"] == "system-cluster-critical"


def test_probes_ask_our_endpoints():
    container = container_of(one(BASE, "Deployment", NAME))

    assert container["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "metrics"}
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "metrics"}


def test_a_tolerated_taint_never_keeps_a_pod_on_a_dead_node_for_ever():
    tolerations = one(BASE, "Deployment", NAME)["spec"]["template"]["spec"]["tolerations"]

    assert all("key" in toleration for toleration in tolerations)  # no key tolerates all taints
    assert {
        toleration["key"]: toleration["tolerationSeconds"]
        for toleration in tolerations
        if toleration["key"].startswith("node.kubernetes.io/")
    } == {"node.kubernetes.io/not-ready": 30, "node.kubernetes.io/unreachable": 30}


def test_variables_of_the_deployment_are_settings():
    variables = container_of(one(BASE, "Deployment", NAME))["env"]

    given = {item["name"]: item["value"] for item in variables if "value" in item}
    paths = {
        item["name"]: item["valueFrom"]["fieldRef"]["fieldPath"]
        for item in variables
        if item["name"] not in given
    }

    folder = f"/etc/{NAME}/tls"
    assert load(given) == Settings(
        tls_cert_file=f"{folder}/tls.crt",
        tls_private_key_file=f"{folder}/tls.key",
        client_ca_file=f"{folder}/ca.crt",
        client_names="kube-scheduler",
        metrics_port=METRICS_PORT,
    )
    assert paths == {
        "EXTENDER_POD_NAME": "metadata.name",
        "EXTENDER_NAMESPACE": "metadata.namespace",
        "EXTENDER_NODE_NAME": "spec.nodeName",
    }
    settings = load(dict.fromkeys(paths, "some-name"))
    for variable in paths:
        assert getattr(settings, variable.removeprefix(PREFIX).lower()) == "some-name"


def test_variables_of_services_are_not_taken_for_settings():
    pod = one(BASE, "Deployment", NAME)["spec"]["template"]["spec"]

    assert pod["enableServiceLinks"] is False


@pytest.mark.parametrize("folder", [BASE, FIXED])
def test_the_service_leaves_its_endpoints_to_the_leader(folder):
    spec = one(folder, "Service", NAME)["spec"]

    assert "selector" not in spec
    assert "targetPort" not in spec["ports"][0]


def test_the_ports_are_the_same_everywhere():
    default = Settings().port
    port = {"name": "http", "protocol": "TCP"}

    assert one(BASE, "Service", NAME)["spec"]["ports"] == [{**port, "port": default}]
    assert container_of(one(BASE, "Deployment", NAME))["ports"] == [
        {**port, "containerPort": default},
        {"name": "metrics", "containerPort": METRICS_PORT, "protocol": "TCP"},
    ]
    assert one(BASE, "NetworkPolicy", NAME)["spec"]["ingress"] == [
        {"ports": [{"port": each, "protocol": "TCP"}]} for each in (default, METRICS_PORT)
    ]


def test_the_network_policy_leaves_the_way_out_open():
    spec = one(BASE, "NetworkPolicy", NAME)["spec"]

    assert sorted(spec["policyTypes"]) == ["Egress", "Ingress"]
    assert spec["egress"] == [{}]


def test_live_settings_are_left_to_whoever_uses_kubectl():
    assert one(BASE, "ConfigMap", NAME)["data"] == {}


@pytest.mark.parametrize("folder", [BASE, FIXED])
def test_an_overlay_can_name_another_image(folder, tmp_path):
    write_overlay(
        tmp_path,
        folder,
        {"images": [{"name": NAME, "newName": "images.test/storage/extender", "newTag": "7"}]},
    )

    [deployment] = [obj for obj in render(tmp_path) if obj["kind"] == "Deployment"]

    assert container_of(deployment)["image"] == "images.test/storage/extender:7"


def test_an_overlay_can_move_everything_to_another_namespace(tmp_path):
    write_overlay(tmp_path, BASE, {"namespace": "elsewhere"})

    objects = render(tmp_path)

    named = [obj["metadata"] for obj in objects if obj["kind"] not in CLUSTER_SCOPED]
    named += [subject for obj in objects for subject in obj.get("subjects", [])]
    assert {place["namespace"] for place in named} == {"elsewhere"}


def test_the_fixed_address_is_all_that_the_overlay_adds():
    def without_address(obj: Object) -> Object:
        if obj["kind"] != "Service":
            return obj
        return {**obj, "spec": {k: v for k, v in obj["spec"].items() if k != "clusterIP"}}

    assert tuple(without_address(obj) for obj in rendered(FIXED)) == rendered(BASE)
    assert "clusterIP" in one(FIXED, "Service", NAME)["spec"]
