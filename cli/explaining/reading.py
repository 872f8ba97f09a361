"""Which cluster a command is asked about, read with all that explains it."""

from collections.abc import Sequence
from datetime import UTC, datetime

from app.errors import InputError
from app.settings import Settings
from cli.explaining.answering import NOBODY_MISSING, Answering
from cli.explaining.explainer import Explainer
from cli.kube.resources import ASKED
from cli.missing import Kind
from cli.options import Warn, Where, check_origin, origin_of, read_files
from longhorn import Node


def read_explainer(
    given: Where,
    settings: Settings,
    rested_on: Sequence[Kind],
    warn: Warn,
    answering: Answering = NOBODY_MISSING,
) -> Explainer:
    """Read a cluster; *warn* of what is broken, and of what files lack of these kinds.

    Raises:
        InputError: There is no Longhorn Node.
    """
    check_origin(given.cluster_file, given.kubeconfig, given.context, given.also)
    if given.cluster_file is None:
        from cli.kube import snapshot  # noqa: PLC0415 (it takes long)

        cluster, problems, _ = snapshot.read_cluster(settings, given.kubeconfig, given.context)
        origin, utc = None, datetime.now(UTC)
    else:
        cluster, problems = read_files(given.cluster_file, given.also, rested_on, ASKED)
        origin, utc = origin_of(given.cluster_file, given.also), None
    warn(problems)
    if not cluster.of(Node):
        raise InputError("there is no Longhorn Node, so there is nothing to look at")
    return Explainer(cluster, settings, utc, origin, answering)
