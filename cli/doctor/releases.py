"""Who owns an object, and so which command changes it.

Helm 4 applies on the server's side: what a person has written with `kubectl patch` belongs to
kubectl, and each later `helm upgrade` that would change it is refused as a conflict. So what Helm
owns is changed by values of its release alone.
"""

from collections.abc import Mapping

import msgspec

_NAME, _NAMESPACE = "meta.helm.sh/release-name", "meta.helm.sh/release-namespace"
"""Annotations that Helm gives each object of a release."""


class Release(msgspec.Struct, frozen=True):
    """A release of Helm."""

    name: str
    namespace: str

    def __str__(self) -> str:
        return f"Helm's release {self.name} in {self.namespace}"

    def upgrade(self, *settings: str) -> str:
        """Return the command that gives it these values, and keeps the others."""
        given = "".join(f" --set {each}" for each in settings)
        return (
            f"helm upgrade {self.name} CHART --namespace {self.namespace} "
            f"--reset-then-reuse-values{given}"
        )


def release_of(annotations: Mapping[str, str] | None) -> Release | None:
    """Return the release that an object with these annotations belongs to, if it is Helm's."""
    found = annotations or {}
    name = found.get(_NAME)
    return Release(name, found.get(_NAMESPACE, "")) if name else None
