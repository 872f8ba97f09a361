"""One examination: connect, read, judge."""

import asyncio
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from app.settings import Settings
from cli.doctor.findings import findings
from cli.doctor.inspection import inspect
from cli.findings import Finding

_IN_CLUSTER = "KUBERNETES_SERVICE_HOST"


def examine(settings: Settings, kubeconfig: Path | None, context: str | None) -> Sequence[Finding]:
    """Examine the wiring of the service in a live cluster; this takes some seconds.

    Raises:
        AppError: There is no cluster to connect to, or it does not let us.
    """
    from app.kube.connecting import connect  # noqa: PLC0415 (it takes long)

    is_in_pod = kubeconfig is None and context is None and _IN_CLUSTER in os.environ

    async def read() -> Sequence[Finding]:
        connection = await connect(kubeconfig, context)
        try:
            facts = await inspect(connection, settings, is_in_pod=is_in_pod, now=datetime.now(UTC))
        finally:
            await connection.close()
        return findings(facts)

    return asyncio.run(read())
