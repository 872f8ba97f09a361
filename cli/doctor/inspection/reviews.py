"""Asks the API server what the account of the service may do."""

from collections.abc import Mapping

from app.config import NAME
from app.kube.errors import ApiError
from app.settings import Settings
from cli.doctor import objects
from cli.doctor.facts import Unread
from cli.doctor.inspection.requests import Requests
from cli.doctor.reading import reading
from cli.doctor.rights import Right, needed_rights

_GROUPS = ("system:serviceaccounts", "system:authenticated")


def account_of(settings: Settings) -> str:
    """Return the user that the service is for the API server."""
    return f"system:serviceaccount:{settings.namespace}:{NAME}"


async def rights(
    requests: Requests, settings: Settings, *, is_in_pod: bool
) -> Mapping[Right, bool] | Unread:
    """Ask for each right of the service's account, as itself or as an administrator."""
    account = account_of(settings)
    groups = [*_GROUPS, f"system:serviceaccounts:{settings.namespace}"]
    kind, user = "SubjectAccessReview", {"user": account, "groups": groups}
    if await _is_user(account, requests, is_in_pod=is_in_pod):
        kind, user = "SelfSubjectAccessReview", {}
    plural = f"{kind.lower()}s"
    path = f"/apis/authorization.k8s.io/v1/{plural}"

    async def is_granted(right: Right) -> bool:
        spec = {**user, "resourceAttributes": right._asdict()}
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
        return bool((await requests.post(path, body, objects.Review)).status.allowed)

    async def read() -> Mapping[Right, bool]:
        # One after another over one connection: as many handshakes would cost more.
        return {right: await is_granted(right) for right in needed_rights(settings)}

    return await reading(f"create {plural}.authorization.k8s.io", read())


async def _is_user(account: str, requests: Requests, *, is_in_pod: bool) -> bool:
    """Whether this process comes as *account*."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    try:
        review = await requests.post(path, body, objects.SelfReview)
    except ApiError:  # before Kubernetes 1.28 there is no such thing
        return is_in_pod
    return review.status.user_info.username == account
