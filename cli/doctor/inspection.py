"""Reads what `doctor` judges. A reading that fails does not stop the others."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from app.config import NAME
from app.kube.connection import Connection, Query
from app.kube.discovery import is_served
from app.kube.errors import ApiError, StatusError
from app.kube.feed import Source
from app.kube.listing import list_records
from app.kube.longhorn.resources import DISK_SCHEDULES, LONGHORN_RESOURCES, NODES, SETTINGS
from app.kube.mirror import Known
from app.kube.paths import path_of
from app.kube.resource import Resource
from app.kube.resources import CONFIG_MAPS, STORAGE_CLASSES
from app.kube.translate import ConfigMap, storage_class_record
from app.settings import Settings
from cli.doctor import objects
from cli.doctor.autoscaler import SELECTORS
from cli.doctor.facts import (
    AutoscalerSeen,
    ClassSeen,
    Facts,
    InjectionSeen,
    InstanceSeen,
    LeaseSeen,
    Unread,
)
from cli.doctor.policies import NetworkPolicies, NetworkPolicy
from cli.doctor.reading import Read, decoded, reading, why_unread
from cli.doctor.rights import INJECTION, SECOND_SCHEDULER, Right, needed_rights
from cli.kube.resources import KUBERNETES_NODES, PODS
from leader import Body
from leader.endpointslice import SERVICE_LABEL

_REQUEST_SECONDS = 10.0
_LOOK_SECONDS = 0.5
"""Pause between two looks at the Lease; leaders renew it every second."""
_LONGEST_WATCH_SECONDS = 30.0
_NOT_FOUND, _UNAUTHORIZED = 404, 401
_GROUPS = ("system:serviceaccounts", "system:authenticated")


async def inspect(
    connection: Connection, settings: Settings, *, is_in_pod: bool, now: datetime
) -> Facts:
    """Read everything; this takes some seconds, in which the Lease must be renewed.

    Args:
        connection: To the API server.
        settings: Of this process; the namespaces count.
        is_in_pod: Whether the connection is the one of a pod's service account, which matters for
            Kubernetes before 1.28: it cannot be asked who the caller is.
        now: UTC.

    Raises:
        ApiError: The API server cannot be reached, or does not know who this is.
    """
    inspection = _Inspection(connection, settings, is_in_pod=is_in_pod)
    version = await inspection.version()
    async with asyncio.TaskGroup() as tasks:
        kinds = {
            resource.name: tasks.create_task(inspection.is_served(resource))
            for resource in LONGHORN_RESOURCES
            if not (resource.is_optional or resource.is_advisory)
        }
        longhorn_nodes = tasks.create_task(inspection.longhorn(NODES))
        longhorn_settings = tasks.create_task(inspection.longhorn(SETTINGS))
        disk_schedules = tasks.create_task(inspection.disk_schedules())
        rights = tasks.create_task(inspection.rights())
        config_map = tasks.create_task(inspection.config_map())
        classes = tasks.create_task(inspection.classes())
        nodes = tasks.create_task(inspection.kubernetes_nodes())
        autoscalers = tasks.create_task(inspection.autoscalers())
        lease = tasks.create_task(inspection.lease())
    async with asyncio.TaskGroup() as tasks:  # as of the holder that the Lease had at last
        holder = tasks.create_task(inspection.holder(lease.result()))
        service = tasks.create_task(inspection.service())
        slices = tasks.create_task(inspection.slices())
        network_policies = tasks.create_task(inspection.network_policies())
        instances = tasks.create_task(inspection.instances())
        injection = tasks.create_task(inspection.injection())
        second_scheduler = tasks.create_task(inspection.second_scheduler())
    return Facts(
        settings=settings,
        now=now,
        version=version,
        account=inspection.account,
        kinds={name: kind.result() for name, kind in kinds.items()},
        longhorn_nodes=longhorn_nodes.result(),
        longhorn_settings=longhorn_settings.result(),
        disk_schedules=disk_schedules.result(),
        rights=rights.result(),
        config_map=config_map.result(),
        instances=instances.result(),
        lease=lease.result(),
        holder=holder.result(),
        service=service.result(),
        slices=slices.result(),
        injection=injection.result(),
        second_scheduler=second_scheduler.result(),
        network_policies=network_policies.result(),
        classes=classes.result(),
        autoscalers=autoscalers.result(),
        kubernetes_nodes=nodes.result(),
    )


class _Inspection:
    """The readings, each of which returns what it read or why it could not."""

    def __init__(self, connection: Connection, settings: Settings, *, is_in_pod: bool) -> None:
        self._connection = connection
        self._settings = settings
        self._is_in_pod = is_in_pod
        self.account = f"system:serviceaccount:{settings.namespace}:{NAME}"

    async def version(self) -> str | Unread:
        try:
            return (await self._get("/version", objects.Version)).git_version
        except StatusError as error:
            if error.status == _UNAUTHORIZED:
                raise
            return why_unread("get /version", error)

    async def is_served(self, resource: Resource) -> bool | Unread:
        path = resource.path(self._settings.longhorn_namespace)

        async def read() -> bool:
            try:
                await self._get(path, objects.Count, query=[("limit", "1")])
            except StatusError as error:
                if error.status == _NOT_FOUND:
                    return False
                raise
            return True

        return await reading(self._list(resource.name, longhorn=True), read())

    async def longhorn(self, resource: Resource) -> Sequence[Known] | Unread:
        source = Source(resource=resource, namespace=self._settings.longhorn_namespace)
        return await reading(self._list(resource.name, longhorn=True), self._records(source))

    async def disk_schedules(self) -> Sequence[Known] | Unread | None:
        source = Source(resource=DISK_SCHEDULES, namespace=self._settings.longhorn_namespace)

        async def read() -> Sequence[Known] | None:
            if not await is_served(self._connection, source, deadline_seconds=_REQUEST_SECONDS):
                return None
            return await self._records(source)

        return await reading(self._list(DISK_SCHEDULES.name, longhorn=True), read())

    async def config_map(self) -> Mapping[str, str] | Unread | None:
        source = Source(
            resource=CONFIG_MAPS,
            namespace=self._settings.namespace,
            fields=f"metadata.name={NAME}",
        )

        async def read() -> Mapping[str, str] | None:
            for record in await self._records(source):
                if isinstance(record, ConfigMap):
                    return record.data
            return None

        return await reading(self._list(f"configmaps/{NAME}"), read())

    async def classes(self) -> Sequence[ClassSeen] | Unread:
        async def read() -> Sequence[ClassSeen]:
            listed = await self._get(STORAGE_CLASSES.path(), objects.Classes)
            return [
                ClassSeen(
                    record=storage_class_record(each),
                    binding_mode=each.volume_binding_mode or "Immediate",
                )
                for each in listed.items or ()
            ]

        return await reading("list storageclasses.storage.k8s.io", read())

    async def kubernetes_nodes(self) -> int | Unread:
        """Count them without reading them: of large clusters they are tens of megabytes."""

        async def read() -> int:
            page = await self._get(KUBERNETES_NODES.path(), objects.Count, query=[("limit", "1")])
            left = page.metadata.remaining
            if left is None and page.metadata.token:
                return len(await self._records(Source(resource=KUBERNETES_NODES)))
            return len(page.items or ()) + (left or 0)

        return await reading("list nodes", read())

    async def rights(self) -> Mapping[Right, bool] | Unread:
        """Ask for each right of the service's account, as itself or as an administrator."""
        groups = [*_GROUPS, f"system:serviceaccounts:{self._settings.namespace}"]
        kind, user = "SubjectAccessReview", {"user": self.account, "groups": groups}
        if await self._is_account():
            kind, user = "SelfSubjectAccessReview", {}
        plural = f"{kind.lower()}s"
        path = f"/apis/authorization.k8s.io/v1/{plural}"

        async def read() -> Mapping[Right, bool]:
            # One after another over one connection: as many handshakes would cost more.
            return {
                right: await self._review(
                    path, kind, {**user, "resourceAttributes": right._asdict()}
                )
                for right in needed_rights(self._settings)
            }

        return await reading(f"create {plural}.authorization.k8s.io", read())

    async def lease(self) -> LeaseSeen | Unread | None:
        """Read the Lease, and watch it until it is renewed or others should have taken it over."""
        return await reading(f"get {self._named('leases.coordination.k8s.io')}", self._lease())

    async def holder(self, lease: LeaseSeen | Unread | None) -> Body | Unread | None:
        """Return the pod of the lease's holder."""
        if lease is None or isinstance(lease, Unread) or not lease.holder:
            return None
        namespace, pod = self._settings.namespace, lease.pod

        async def read() -> Body | None:
            return await self._object(PODS.path(namespace, pod), dict[str, Any])

        return await reading(f"get pods in {namespace}", read())

    async def service(self) -> Body | Unread | None:
        path = path_of("/api/v1", "services", namespace=self._settings.namespace, name=NAME)
        return await reading(f"get {self._named('services')}", self._object(path, dict[str, Any]))

    async def slices(self) -> Sequence[Body] | Unread:
        path = path_of(
            "/apis/discovery.k8s.io/v1", "endpointslices", namespace=self._settings.namespace
        )

        async def read() -> Sequence[Body]:
            query = [("labelSelector", f"{SERVICE_LABEL}={NAME}")]
            return (await self._get(path, objects.Bodies, query=query)).items or []

        return await reading(self._list("endpointslices.discovery.k8s.io"), read())

    async def network_policies(self) -> Sequence[NetworkPolicy] | Unread:
        path = path_of(
            "/apis/networking.k8s.io/v1", "networkpolicies", namespace=self._settings.namespace
        )

        async def read() -> Sequence[NetworkPolicy]:
            return (await self._get(path, NetworkPolicies)).items or ()

        return await reading(self._list("networkpolicies.networking.k8s.io"), read())

    async def injection(self) -> InjectionSeen | Unread:
        """Look for the policy in the versions that the chart installs, and for the webhook."""

        async def is_there(version: str, plural: str) -> bool:
            group = f"/apis/admissionregistration.k8s.io/{version}"
            path = path_of(group, plural, name=INJECTION)
            return await self._object(path, dict[str, Any]) is not None

        async def read() -> InjectionSeen:
            policy = binding = False
            for version in ("v1", "v1beta1"):
                policy = policy or await is_there(version, "mutatingadmissionpolicies")
                binding = binding or await is_there(version, "mutatingadmissionpolicybindings")
            path = path_of(
                "/apis/admissionregistration.k8s.io/v1",
                "mutatingwebhookconfigurations",
                name=INJECTION,
            )
            webhook = await self._object(path, objects.WebhookConfiguration)
            return InjectionSeen(
                has_policy=policy,
                has_binding=binding,
                has_webhook=webhook is not None,
                is_trusted=webhook is not None and webhook.is_trusted,
            )

        what = "get mutatingadmissionpolicies, their bindings and mutatingwebhookconfigurations"
        return await reading(f"{what} {INJECTION}", read())

    async def second_scheduler(self) -> str | Unread | None:
        """Return the image of the second kube-scheduler, if there is one."""
        namespace = self._settings.namespace
        path = path_of("/apis/apps/v1", "deployments", namespace=namespace, name=SECOND_SCHEDULER)

        async def read() -> str | None:
            deployment = await self._object(path, objects.Deployment)
            return None if deployment is None else deployment.image

        return await reading(f"get deployments.apps/{SECOND_SCHEDULER} in {namespace}", read())

    async def instances(self) -> Sequence[InstanceSeen] | Unread:
        async def read() -> Sequence[InstanceSeen]:
            path = PODS.path(self._settings.namespace)
            pods = await self._get(path, objects.Pods, query=[("labelSelector", f"app={NAME}")])
            return [
                objects.instance_seen(pod) for pod in pods.items or () if not objects.is_over(pod)
            ]

        return await reading(self._list("pods"), read())

    async def autoscalers(self) -> Sequence[AutoscalerSeen] | Unread:
        """Find them by their labels: the service may list pods everywhere, and no Deployments."""

        async def read() -> Sequence[AutoscalerSeen]:
            found = dict[str, AutoscalerSeen]()
            for selector in SELECTORS:
                query = [("labelSelector", selector)]
                for pod in (await self._get(PODS.path(), objects.Pods, query=query)).items or ():
                    if not objects.is_over(pod):
                        seen = objects.autoscaler_seen(pod)
                        found[seen.name] = seen
            return [found[name] for name in sorted(found)]

        return await reading("list pods in all namespaces", read())

    async def _lease(self) -> LeaseSeen | None:
        path = path_of(
            "/apis/coordination.k8s.io/v1",
            "leases",
            namespace=self._settings.namespace,
            name=NAME,
        )
        loop = asyncio.get_running_loop()
        first = last = await self._object(path, objects.Lease)
        began = loop.time()
        while last is not None and last.holder and last.renewal == (first and first.renewal):
            duration = last.spec.lease_duration_seconds or self._settings.lease_duration_seconds
            watched = loop.time() - began
            if watched > min(duration, _LONGEST_WATCH_SECONDS):
                return last.seen(is_renewed=False, watched_seconds=watched)
            await asyncio.sleep(_LOOK_SECONDS)
            last = await self._object(path, objects.Lease)
        if last is None:
            return None
        return last.seen(is_renewed=True, watched_seconds=loop.time() - began)

    async def _is_account(self) -> bool:
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
        try:
            review = await self._post(path, body, objects.SelfReview)
        except ApiError:  # before Kubernetes 1.28 there is no such thing
            return self._is_in_pod
        return review.status.user_info.username == self.account

    async def _review(self, path: str, kind: str, spec: Mapping[str, Any]) -> bool:
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
        return bool((await self._post(path, body, objects.Review)).status.allowed)

    async def _records(self, source: Source) -> list[Known]:
        return await list_records(
            self._connection, source, on_skipped=lambda _: None, page_seconds=_REQUEST_SECONDS
        )

    async def _object(self, path: str, type_: type[Read]) -> Read | None:
        try:
            return await self._get(path, type_)
        except StatusError as error:
            if error.status == _NOT_FOUND:
                return None
            raise

    async def _get(self, path: str, type_: type[Read], *, query: Query = ()) -> Read:
        return decoded(
            await self._connection.request(
                "GET", path, query=query, deadline_seconds=_REQUEST_SECONDS
            ),
            type_,
        )

    async def _post(self, path: str, body: Mapping[str, Any], type_: type[Read]) -> Read:
        return decoded(
            await self._connection.request(
                "POST", path, body=body, deadline_seconds=_REQUEST_SECONDS
            ),
            type_,
        )

    def _list(self, objects: str, *, longhorn: bool = False) -> str:
        namespace = self._settings.longhorn_namespace if longhorn else self._settings.namespace
        return f"list {objects} in {namespace}"

    def _named(self, kind: str) -> str:
        return f"{kind}/{NAME} in {self._settings.namespace}"
