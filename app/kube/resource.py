"""What is known of a kind of objects: where they are, in which version, and what they become."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from app.kube.paths import path_of

AnyRecord = msgspec.Struct
"""What an object becomes: a frozen record of its kind."""


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """One kind, in the one version that we read."""

    group: str = ""
    version: str = "v1"
    plural: str
    kind: str
    structure: type[Any]
    """The fields of it that we read."""
    record: type[AnyRecord]
    """What an object becomes; no two kinds become the same, but for workloads."""
    record_of: Callable[[Any], AnyRecord]
    has_namespaces: bool = False
    """Whether objects of several namespaces are read: then a record has a *key* with its namespace
    and name, joined by a slash. Of all others the name alone is the key."""
    is_optional: bool = False
    """Whether clusters may do without: an API server that does not serve the kind has no objects
    of it. Of any other kind that says nothing."""
    is_metadata_alone: bool = False
    """Whether nothing else of an object is read."""
    is_advisory: bool = False
    """Whether decisions do without: a kind that is not served, or may not be read, is one without
    objects."""

    @property
    def api_version(self) -> str:
        """As it is in objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def label(self) -> str:
        """The kind as texts for people have it: Kubernetes and Longhorn both have a Node."""
        return "Kubernetes Node" if self.kind == "Node" and not self.group else self.kind

    @property
    def name(self) -> str:
        """As kubectl and CRDs spell it: `volumes.longhorn.io`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def key_of(self, record: Any) -> str:
        """Return what other objects refer to *record* by."""
        key: str = record.key if self.has_namespaces else record.name
        return key

    @property
    def version_path(self) -> str:
        """The path where the API server lists the kinds of this version."""
        return f"/apis/{self.api_version}" if self.group else f"/api/{self.api_version}"

    def path(self, namespace: str = "", name: str | None = None, part: str = "") -> str:
        """Return the path of all objects, of those in *namespace*, or of one or a part of it.

        Raises:
            ImpossibleNameError: No object can have that name or namespace.
        """
        return path_of(self.version_path, self.plural, namespace=namespace, name=name, part=part)


Kinds = Mapping[tuple[str, str], Resource]
"""By group and kind."""
