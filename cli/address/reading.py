"""Reads what addresses for Services there are, and which are taken."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from ipaddress import ip_address, ip_network
from typing import Generic, TypeVar

import msgspec

from app.kube.connection import Connection, Query
from app.kube.errors import ApiError, MalformedError, StatusError
from app.kube.objects import Condition, KubeStruct, Metadata, Text
from cli.address.proposing import Address, Range, assumed_range

Item = TypeVar("Item")

_PAGE_OBJECTS = 500
_PAGE_SECONDS = 10.0
_FORBIDDEN, _NOT_FOUND = 403, 404
_NO_ADDRESS = "None"
"""The clusterIP of a headless Service."""
_API_SERVER = "default/kubernetes"
"""The Service that has the first address of the range."""
_DEFAULT_RANGE = "kubernetes"
"""The ServiceCIDR that the API server makes of its --service-cluster-ip-range."""


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What a cluster says of the addresses of its Services."""

    ranges: Sequence[Range]
    """The default one first, and of that the family that Services get by default."""
    is_told: bool
    """Whether the cluster tells its ranges; else they are what one address lets know."""
    taken: Mapping[Address, str]
    """By which Service, as NAMESPACE/NAME; the addresses of one come in their order."""


class ServiceSpec(KubeStruct, frozen=True):
    cluster_ip: Text = msgspec.field(default=None, name="clusterIP")
    cluster_ips: list[str] | None = msgspec.field(default=None, name="clusterIPs")


class Service(KubeStruct, frozen=True):
    metadata: Metadata
    spec: ServiceSpec = ServiceSpec()

    @property
    def name(self) -> str:
        return f"{self.metadata.namespace}/{self.metadata.name}"


class ServiceCidrSpec(KubeStruct, frozen=True):
    cidrs: list[str] | None = None


class ServiceCidrStatus(KubeStruct, frozen=True):
    conditions: list[Condition] | None = None


class ServiceCidr(KubeStruct, frozen=True):
    metadata: Metadata
    spec: ServiceCidrSpec = ServiceCidrSpec()
    status: ServiceCidrStatus = ServiceCidrStatus()

    @property
    def gives_addresses(self) -> bool:
        """Whether it is Ready, or nobody has said so yet, and is not being deleted.

        Source: kubernetes pkg/registry/core/service/ipallocator/cidrallocator.go, `isReady`.
        """
        conditions = self.status.conditions or ()
        is_refused = any(each.type == "Ready" and each.status != "True" for each in conditions)
        return not is_refused and self.metadata.deletion_timestamp is None


class PageMetadata(KubeStruct, frozen=True):
    token: Text = msgspec.field(default=None, name="continue")


class Page(KubeStruct, Generic[Item], frozen=True):
    metadata: PageMetadata
    items: list[Item] | None = None


async def read_addresses(connection: Connection) -> Seen:
    """List the ServiceCIDRs and the Services of all namespaces.

    ServiceCIDRs are served from Kubernetes 1.33 on. Without them the range begins one address
    before that of the API server's own Service.

    Raises:
        ApiError: Something could not be listed, and with which right it could; or nothing tells a
            range.
    """
    cidrs = await _listed(
        connection,
        "/apis/networking.k8s.io/v1/servicecidrs",
        Page[ServiceCidr],
        "servicecidrs.networking.k8s.io",
        may_be_absent=True,
    )
    services = await _listed(
        connection, "/api/v1/services", Page[Service], "services in all namespaces"
    )
    taken = dict(_taken(services))
    if ranges := [*_ranges(cidrs)]:
        return Seen(ranges=ranges, is_told=True, taken=taken)
    first = [address for address, name in taken.items() if name == _API_SERVER]
    if not first:
        raise ApiError(
            f"there is no ServiceCIDR and no Service {_API_SERVER} with an address, so the range "
            f"of Services is not known; see --service-cluster-ip-range of kube-apiserver"
        )
    return Seen(ranges=[assumed_range(each) for each in first], is_told=False, taken=taken)


async def _listed(
    connection: Connection,
    path: str,
    type_: type[Page[Item]],
    what: str,
    *,
    may_be_absent: bool = False,
) -> list[Item]:
    """List all objects of a kind, page by page; none if it may be absent and is not served."""
    items, token = list[Item](), ""
    while True:
        query: Query = [("limit", str(_PAGE_OBJECTS)), *([("continue", token)] if token else [])]
        try:
            content = await connection.request(
                "GET", path, query=query, deadline_seconds=_PAGE_SECONDS
            )
            page = msgspec.json.decode(content, type=type_)
        except StatusError as error:
            if error.status == _NOT_FOUND and may_be_absent:
                return []
            if error.status == _FORBIDDEN:
                raise ApiError(
                    f"not allowed to list {what}; run this as a user who may: {error}"
                ) from error
            raise ApiError(f"cannot list {what}: {error}") from error
        except ApiError as error:
            raise ApiError(f"cannot list {what}: {error}") from error
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            raise MalformedError(
                f"cannot list {what}: the answer cannot be decoded: {error}"
            ) from error
        items += page.items or ()
        token = page.metadata.token or ""
        if not token:
            return items


def _ranges(cidrs: Iterable[ServiceCidr]) -> Iterator[Range]:
    for each in sorted(
        cidrs, key=lambda each: (each.metadata.name != _DEFAULT_RANGE, each.metadata.name)
    ):
        if each.gives_addresses:
            for cidr in each.spec.cidrs or ():
                try:
                    yield ip_network(cidr)
                except ValueError as error:
                    raise MalformedError(f"ServiceCIDR {each.metadata.name}: {error}") from error


def _taken(services: Iterable[Service]) -> Iterator[tuple[Address, str]]:
    for each in services:
        for address in each.spec.cluster_ips or [each.spec.cluster_ip or ""]:
            if address and address != _NO_ADDRESS:
                try:
                    yield ip_address(address), each.name
                except ValueError as error:
                    raise MalformedError(f"Service {each.name}: {error}") from error
