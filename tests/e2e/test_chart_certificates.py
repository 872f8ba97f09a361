"""Certificates that the chart makes, over upgrades: nobody sees one that he does not trust yet.

Helm renders with the cluster at hand, and what it makes is put there, as an upgrade does.
"""

from base64 import b64decode
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.exceptions import InvalidSignature

from tests.actors.api import Api, Key, Kind, Object
from tests.e2e.control_plane import ControlPlane
from tests.e2e.users import ADMIN
from tests.fakes.installed import NAMESPACE
from tests.unit.manifests.charted import IMAGE, NAME, WITH_ADDRESS, template

SECRETS = Kind("v1", "secrets", "Secret")
SERVED, CLIENT, COPIED = f"{NAME}-tls", f"{NAME}-client", f"{NAME}-kube-scheduler"
CHANGED_AT, MADE_ON = f"{NAME}/changed-at", f"{NAME}/made-on"
OTHER_NAMES = "--set=clusterDomain=cluster.example"
NEVER, TOO_SOON, LATER, A_DAY_LATER, A_YEAR_LATER = (
    timedelta(0),
    timedelta(minutes=9),
    timedelta(minutes=11),
    timedelta(hours=25),
    timedelta(days=366),
)

State = Mapping[str, Object]
"""The Secrets, by name."""
Upgrade = Callable[..., Awaitable[State]]


@pytest.fixture
async def upgrade(control_plane: ControlPlane) -> AsyncIterator[Upgrade]:
    """Return what an upgrade does to the Secrets some time after the last change of them."""
    kubeconfig = str(control_plane.users.kubeconfig(ADMIN))
    cluster = ("--dry-run=server", "--kubeconfig", kubeconfig, "--is-upgrade", IMAGE)
    async with await control_plane.client() as client:
        api = Api(client)

        async def upgrade(*options: str, after: timedelta = NEVER) -> State:
            there = await api.get(SECRETS, SERVED, NAMESPACE)
            if there is not None and CHANGED_AT in notes_of(there):
                at = datetime.fromisoformat(notes_of(there)[CHANGED_AT]) - after
                notes = {CHANGED_AT: at.strftime("%Y-%m-%dT%H:%M:%SZ")}
                await api.patch(
                    SECRETS, Key(NAMESPACE, SERVED), {"metadata": {"annotations": notes}}
                )
            made = template("tls-self-signed", *cluster, *options)
            for secret in made:
                await api.delete(SECRETS, Key(NAMESPACE, secret["metadata"]["name"]))
                await api.create(with_namespace(secret), SECRETS)
            return {secret["metadata"]["name"]: secret for secret in made}

        yield upgrade
        for name in (SERVED, CLIENT, COPIED):
            await api.delete(SECRETS, Key(NAMESPACE, name))


async def test_an_upgrade_keeps_what_is_there(upgrade):
    first = await upgrade()

    assert await upgrade(after=timedelta(days=364)) == dated(first, timedelta(days=364))


@pytest.mark.parametrize(
    ("options", "after"), [([], A_YEAR_LATER), ([OTHER_NAMES], TOO_SOON)], ids=["age", "names"]
)
async def test_new_certificates_are_trusted_by_all_before_they_are_used(upgrade, options, after):
    first = await upgrade()
    staged = await upgrade(*options, after=after)
    too_soon = await upgrade(*options, after=TOO_SOON)
    used = await upgrade(*options, after=LATER)
    still = await upgrade(*options, after=LATER)
    alone = await upgrade(*options, after=A_DAY_LATER)

    assert [in_use(staged, name) == in_use(first, name) for name in (SERVED, CLIENT)] == [True] * 2
    assert too_soon == dated(staged, TOO_SOON)
    assert {in_use(used, name) for name in (SERVED, CLIENT)} == {
        staged[name]["data"]["next.crt"] for name in (SERVED, CLIENT)
    }
    assert still == dated(used, LATER)
    assert [len(cas(each)) for each in (first, staged, used, alone)] == [1, 2, 2, 1]
    assert all(
        secret["data"].keys() == {"ca.crt", "tls.crt", "tls.key"} for secret in used.values()
    )
    for before, later in ((first, staged), (staged, used), (used, alone)):
        assert all_trust(before, later)
    # Nor does anybody still have the first ones.
    assert not all_trust(first, alone)


async def test_copies_are_waited_for_until_the_user_says_that_they_are_there(upgrade):
    first = await upgrade(WITH_ADDRESS)
    staged = await upgrade(WITH_ADDRESS, after=A_YEAR_LATER)
    waiting = await upgrade(WITH_ADDRESS, after=A_YEAR_LATER)
    at = notes_of(waiting[SERVED])[CHANGED_AT]
    used = await upgrade(WITH_ADDRESS, f"--set=tls.selfSigned.copied={at}")

    assert in_use(waiting, SERVED) == in_use(first, SERVED)
    assert in_use(used, SERVED) == staged[SERVED]["data"]["next.crt"]
    # Whoever has copied them at once, and whoever has not yet, are served until then.
    assert in_use(first, COPIED) != in_use(staged, COPIED) == in_use(used, COPIED)
    for copies in (first, staged):
        assert trusts(copies[COPIED], waiting[SERVED])
        assert trusts(waiting[SERVED], copies[COPIED])
    assert trusts(staged[COPIED], used[SERVED])
    assert not trusts(first[COPIED], used[SERVED])


async def test_certificates_of_0_2_0_stay_and_the_clusters_own_scheduler_gets_its_own(
    control_plane, upgrade
):
    first = await upgrade()
    async with await control_plane.client() as client:
        api = Api(client)
        await api.delete(SECRETS, Key(NAMESPACE, COPIED))
        notes = {CHANGED_AT: None, MADE_ON: datetime.now(UTC).strftime("%Y-%m-%d")}
        await api.patch(SECRETS, Key(NAMESPACE, SERVED), {"metadata": {"annotations": notes}})

    found = await upgrade()

    assert [in_use(found, name) == in_use(first, name) for name in (SERVED, CLIENT)] == [True] * 2
    assert all_trust(first, found)
    assert found[COPIED]["data"]["tls.key"] != found[CLIENT]["data"]["tls.key"]
    assert trusts(found[COPIED], found[SERVED])
    assert trusts(found[SERVED], found[COPIED])


@pytest.mark.parametrize("lost", [SERVED, CLIENT])
async def test_all_are_made_anew_if_one_in_use_is_deleted(control_plane, upgrade, lost):
    first = await upgrade()
    async with await control_plane.client() as client:
        await Api(client).delete(SECRETS, Key(NAMESPACE, lost))

    found = await upgrade()

    assert len(cas(found)) == 1
    assert all_trust(found, found)
    assert not trusts(found[SERVED], first[CLIENT])
    assert not trusts(found[SERVED], first[COPIED])


def with_namespace(secret: Object) -> Object:
    return {**secret, "metadata": {**secret["metadata"], "namespace": NAMESPACE}}


def notes_of(secret: Object) -> Mapping[str, str]:
    notes: Mapping[str, str] = secret["metadata"].get("annotations") or {}
    return notes


def dated(state: State, before: timedelta) -> State:
    """Return the same as it would have been made so much earlier."""
    served = state[SERVED]
    at = datetime.fromisoformat(notes_of(served)[CHANGED_AT]) - before
    notes = {**notes_of(served), CHANGED_AT: at.strftime("%Y-%m-%dT%H:%M:%SZ")}
    return {**state, SERVED: {**served, "metadata": {**served["metadata"], "annotations": notes}}}


def in_use(state: State, name: str) -> str:
    found: str = state[name]["data"]["tls.crt"]
    return found


def cas(state: State) -> list[x509.Certificate]:
    [bundle] = {secret["data"]["ca.crt"] for secret in state.values()}
    return x509.load_pem_x509_certificates(b64decode(bundle))


def trusts(one: Object, other: Object) -> bool:
    """Whether who has one Secret takes the certificate of who has the other."""
    issued = x509.load_pem_x509_certificate(b64decode(other["data"]["tls.crt"]))
    for ca in x509.load_pem_x509_certificates(b64decode(one["data"]["ca.crt"])):
        try:
            issued.verify_directly_issued_by(ca)
        except (InvalidSignature, ValueError):
            continue
        return True
    return False


def all_trust(before: State, later: State) -> bool:
    """Whether all trust each other while some have the Secrets before, and some the later ones."""
    states = (before, later)
    return all(
        trusts(one[SERVED], other[CLIENT]) and trusts(other[CLIENT], one[SERVED])
        for one in states
        for other in states
    )
