"""The fields that `doctor` reads of ConfigMaps, as in JSON."""

from datetime import datetime
from typing import Any

import msgspec

from app.kube.objects import KubeStruct, Metadata, Text
from cli.doctor.facts import ConfigMapSeen
from cli.doctor.releases import release_of

_PEOPLE = "kubectl"
"""Field managers of people begin with it."""


class ManagedFields(KubeStruct, frozen=True):
    manager: Text = None
    time: datetime | None = None
    fields: dict[str, Any] | None = msgspec.field(default=None, name="fieldsV1")


class ConfigMapMetadata(Metadata, frozen=True, rename="camel"):
    annotations: dict[str, str] | None = None
    managed_fields: list[ManagedFields] | None = None


class ConfigMap(KubeStruct, frozen=True):
    metadata: ConfigMapMetadata
    data: dict[str, str] | None = None

    @property
    def seen(self) -> ConfigMapSeen:
        written = self.metadata.managed_fields or ()
        return ConfigMapSeen(
            name=self.metadata.name,
            data=self.data or {},
            release=release_of(self.metadata.annotations),
            changed=max((each.time for each in written if each.time is not None), default=None),
            by_people=frozenset(
                key.removeprefix("f:")
                for each in written
                if (each.manager or "").startswith(_PEOPLE)
                for key in (each.fields or {}).get("f:data") or ()
            ),
        )


class ConfigMaps(KubeStruct, frozen=True):
    items: list[ConfigMap] | None = None
