"""What the chart makes of what it finds in the cluster: APIs that are served, and certificates."""

from base64 import b64decode
from collections.abc import AsyncIterator, Callable

import pytest
from cryptography import x509

from tests.actors.api import Api, Key, Kind, Object, key_of
from tests.e2e.control_plane import ControlPlane
from tests.e2e.users import ADMIN
from tests.fakes.installed import NAMESPACE
from tests.unit.manifests.charted import CONFIGURED, WITH_ADDRESS, template
from tests.unit.manifests.charted import NAME as RELEASE

SECRETS = Kind("v1", "secrets", "Secret")
NAME = "longhorn-scheduler-extender-webhook"
MADE_AT = "longhorn-scheduler-extender/made-at"
DAY_SECONDS = 86400

Render = Callable[..., list[Object]]


@pytest.fixture
def render(control_plane: ControlPlane) -> Render:
    """Return what renders a template as an upgrade does, with the cluster at hand."""
    kubeconfig = str(control_plane.users.kubeconfig(ADMIN))

    def with_cluster(name: str, *options: str) -> list[Object]:
        cluster = ("--dry-run=server", "--kubeconfig", kubeconfig, "--is-upgrade")
        return template(name, *cluster, *options)

    return with_cluster


@pytest.fixture
async def api(control_plane: ControlPlane) -> AsyncIterator[Api]:
    async with await control_plane.client() as client:
        yield Api(client)


@pytest.fixture
async def secrets(api: Api, render: Render) -> AsyncIterator[dict[str, Object]]:
    """Install the Secrets of the webhook, by name."""
    made = certificates(render)
    for secret in made.values():
        await api.create(owned(secret), SECRETS)
    yield made
    for secret in made.values():
        await api.delete(SECRETS, key_of(secret))


def owned(obj: Object) -> Object:
    """Mark an object as Helm does those that it installs."""
    metadata = {
        **obj["metadata"],
        "labels": {**obj["metadata"]["labels"], "app.kubernetes.io/managed-by": "Helm"},
        "annotations": {
            **obj["metadata"].get("annotations", {}),
            "meta.helm.sh/release-name": RELEASE,
            "meta.helm.sh/release-namespace": NAMESPACE,
        },
    }
    return {**obj, "metadata": metadata}


def webhook(render: Render) -> list[Object]:
    return render("injection-webhook", "--set", "injection.mode=webhook")


def certificates(render: Render) -> dict[str, Object]:
    return certificates_of(webhook(render))


def certificates_of(objects: list[Object]) -> dict[str, Object]:
    return {obj["metadata"]["name"]: obj for obj in objects if obj["kind"] == "Secret"}


def test_the_policy_is_installed_where_it_is_served(render):
    kinds = [obj["kind"] for obj in render("injection-policy", WITH_ADDRESS, CONFIGURED)]

    assert kinds == ["MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"]


async def test_an_upgrade_keeps_the_certificate(render, secrets):
    assert certificates(render) == secrets


@pytest.mark.parametrize(("age_days", "is_kept"), [(364, True), (366, False)])
async def test_the_api_server_trusts_the_old_and_the_new_certificate(
    api, render, secrets, age_days, *, is_kept
):
    now = int(secrets[NAME]["metadata"]["annotations"][MADE_AT])
    made_at = str(now - age_days * DAY_SECONDS)
    changes = {"metadata": {"annotations": {MADE_AT: made_at}}}
    await api.patch(SECRETS, Key(NAMESPACE, NAME), changes)

    objects = webhook(render)
    found = certificates_of(objects)

    assert (found[NAME]["data"] == secrets[NAME]["data"]) is is_kept
    noted = int(found[NAME]["metadata"]["annotations"][MADE_AT])
    assert noted == int(made_at) if is_kept else noted >= now
    first, *others = cas(objects)
    issued(secrets[NAME]).verify_directly_issued_by(first)
    issued(found[NAME]).verify_directly_issued_by([first, *others][-1])
    assert len(others) == (not is_kept)


def cas(objects: list[Object]) -> list[x509.Certificate]:
    """Return whom the API server trusts."""
    [bundle] = [
        hook["clientConfig"]["caBundle"] for obj in objects for hook in obj.get("webhooks", ())
    ]
    return x509.load_pem_x509_certificates(b64decode(bundle))


def issued(secret: Object) -> x509.Certificate:
    return x509.load_pem_x509_certificate(b64decode(secret["data"]["tls.crt"]))
