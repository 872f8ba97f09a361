"""Connects to a cluster: the one this process runs in, or the one of a kubeconfig.

Only this module imports kubernetes_asyncio, which takes longer than the rest of the start: seconds
on a busy machine. What needs no cluster does not import it: a decision from files, `--help`.
"""

import os
from pathlib import Path

import yaml
from kubernetes_asyncio import client
from kubernetes_asyncio.config import ConfigException, load_incluster_config, load_kube_config
from kubernetes_asyncio.config.kube_config import KubeConfigLoader

from app.errors import InputError
from app.kube.connection import Connection
from app.kube.kubeconfig import kubeconfig_files

_CONFIG_ERRORS = (
    ConfigException,
    OSError,
    yaml.YAMLError,
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    AssertionError,
)
"""What kubernetes_asyncio raises for kubeconfigs of another shape than it expects."""
_OF_SHAPE = (TypeError, KeyError, AttributeError, AssertionError)
"""Those of them whose text is about its own code."""
_IN_CLUSTER = "KUBERNETES_SERVICE_HOST"
_NAMESPACE = "default"
"""Where a context has none."""


async def connect(kubeconfig: Path | None, context: str | None) -> Connection:
    """Connect to the cluster this process runs in, or to the one of a kubeconfig.

    With neither argument: inside a cluster that one, else as kubectl does ($KUBECONFIG or
    ~/.kube/config). Nothing is sent yet.

    The namespace is that of the context, as for kubectl. Inside a cluster kubectl would take that
    of the service account; we do not, since no user has pods in the service's own namespace.

    Raises:
        InputError: There is no such configuration, or it cannot be used.
    """
    configuration = client.Configuration()
    in_cluster = kubeconfig is None and context is None and _IN_CLUSTER in os.environ
    files = "" if in_cluster else kubeconfig_files(kubeconfig, os.environ)
    namespace = None
    try:
        if in_cluster:
            load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
        else:
            loader = await load_kube_config(
                config_file=files,
                context=context,
                client_configuration=configuration,
                persist_config=False,
            )
            namespace = _namespace(loader)
        follow_token(configuration)
        # Each watch holds a connection; the lease must never wait for one to be free.
        configuration.connection_pool_maxsize = 0
        return Connection(client.ApiClient(configuration), namespace or _NAMESPACE)
    except _CONFIG_ERRORS as error:
        if in_cluster:
            origin, advice = "the service account", "is serviceAccountName of the pod right?"
        else:
            origin = f"kubeconfig {files}"
            advice = "correct it, or choose another with --kubeconfig and --context"
        raise InputError(
            f"cannot connect to a cluster by {origin}: {_why(error, context)}; {advice}"
        ) from error


def _namespace(loader: KubeConfigLoader) -> str | None:
    namespace = (loader.current_context or {})["context"].get("namespace")
    if not isinstance(namespace, str | None):
        raise TypeError
    return namespace


def _why(error: Exception, context: str | None) -> str:
    if f"object with name {context} in" in str(error):
        return f"it has no context {context}"
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    text = "" if isinstance(error, _OF_SHAPE) else " ".join(str(error).split())
    return text or "it is empty, or a field of it is missing or has the wrong type"


def follow_token(configuration: client.Configuration) -> None:
    """Take line breaks off the token, now and whenever its file is read again, as kubectl does.

    A request then raises OSError if the file cannot be read.
    """
    read_again = configuration.refresh_api_key_hook

    def refresh(configuration: client.Configuration) -> None:
        if read_again is not None:
            try:
                read_again(configuration)  # type: ignore[operator]  # typed as what it may return
            except ConfigException as error:
                raise OSError(str(error)) from error  # as for any file that cannot be read
        if token := configuration.api_key.get("BearerToken"):
            configuration.api_key["BearerToken"] = token.strip()

    configuration.refresh_api_key_hook = refresh
