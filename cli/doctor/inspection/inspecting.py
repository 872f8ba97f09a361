"""Reads everything at once: one reading does not wait for another, nor stop at its failure."""

import asyncio
from datetime import datetime

from app.kube.connection import Connection
from app.kube.longhorn.resources import NODES, SETTINGS
from app.settings import Settings
from cli.doctor.facts import Facts
from cli.doctor.inspection import cluster, instances, longhorn, reviews, scheduling, service
from cli.doctor.inspection.requests import Requests


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
    asked, namespace = Requests(connection), settings.namespace
    version = await cluster.version(asked)
    async with asyncio.TaskGroup() as tasks:
        kinds = tasks.create_task(longhorn.served_kinds(asked, settings))
        longhorn_nodes = tasks.create_task(longhorn.listed(NODES, asked, settings))
        longhorn_settings = tasks.create_task(longhorn.listed(SETTINGS, asked, settings))
        volumes = tasks.create_task(longhorn.volumes(asked, settings))
        disk_schedules = tasks.create_task(longhorn.disk_schedules(asked, settings))
        rights = tasks.create_task(reviews.rights(asked, settings, is_in_pod=is_in_pod))
        config_map = tasks.create_task(instances.config_map(asked, namespace))
        classes = tasks.create_task(cluster.classes(asked))
        nodes = tasks.create_task(cluster.nodes(asked))
        autoscalers = tasks.create_task(scheduling.autoscalers(asked))
        lease = tasks.create_task(instances.lease(asked, settings))
    async with asyncio.TaskGroup() as tasks:  # as of the holder that the Lease had at last
        holder = tasks.create_task(instances.holder(lease.result(), asked, namespace))
        endpoint = tasks.create_task(service.service(asked, namespace))
        slices = tasks.create_task(service.slices(asked, namespace))
        network_policies = tasks.create_task(service.network_policies(asked, namespace))
        pods = tasks.create_task(instances.instances(asked, namespace))
        injection = tasks.create_task(scheduling.injection(asked, namespace))
        second_scheduler = tasks.create_task(scheduling.second_scheduler(asked, namespace))
    there = (pods.result(), config_map.result(), second_scheduler.result())
    left_over = None
    if not any(there):  # what cannot be read may be there
        held = await instances.leases(asked, namespace)
        left_over = await scheduling.left_over(asked, held)
    return Facts(
        settings=settings,
        now=now,
        version=version,
        account=reviews.account_of(settings),
        kinds=kinds.result(),
        longhorn_nodes=longhorn_nodes.result(),
        longhorn_settings=longhorn_settings.result(),
        volumes=volumes.result(),
        disk_schedules=disk_schedules.result(),
        rights=rights.result(),
        config_map=config_map.result(),
        instances=pods.result(),
        lease=lease.result(),
        holder=holder.result(),
        service=endpoint.result(),
        slices=slices.result(),
        injection=injection.result(),
        second_scheduler=second_scheduler.result(),
        network_policies=network_policies.result(),
        classes=classes.result(),
        autoscalers=autoscalers.result(),
        kubernetes_nodes=nodes.result(),
        left_over=left_over,
    )
