"""What is given to `scheduler-config`, and what of it does not go together."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from app.config import NAME
from cli.options import Output, Printed, Quiet
from cli.scheduler_config.autoscaler import For
from cli.scheduler_config.wanted import Distribution


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """A field for each option."""

    distribution: Annotated[
        Distribution | None, typer.Option(help="What kube-scheduler is run by.")
    ] = None
    url: Annotated[
        str | None,
        typer.Option(
            "--url",
            metavar="URL",
            help="The service's address, like https://10.96.0.95:9504. With --check and --remove "
            "it says which entry is the service's.",
        ),
    ] = None
    merge: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Print this configuration with our entry in it."),
    ] = None
    check: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Say what is missing or wrong in this configuration."),
    ] = None
    remove: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Print this configuration without our entry."),
    ] = None
    replace: Annotated[
        list[str] | None,
        typer.Option(
            metavar="URL",
            help="With --merge: put our entry in the place of the one at this address, though it "
            "leads to Longhorn's own extender, or is not known to be ours. May be given several "
            "times.",
        ),
    ] = None
    talos_document: Annotated[
        bool,
        typer.Option(
            "--talos-document",
            help="For machine configurations that Talos 1.14 or newer has made: print a "
            "KubeSchedulerConfig, not a patch of cluster.scheduler.config.",
        ),
    ] = False
    tls_ca: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The CA of the service's certificate, as a file on the control-plane nodes, if "
            f"it is not in /etc/{NAME}. For Talos, which takes the contents, this and the next two "
            "are read here.",
        ),
    ] = None
    tls_cert: Annotated[
        str | None, typer.Option(metavar="FILE", help="kube-scheduler's certificate.")
    ] = None
    tls_key: Annotated[str | None, typer.Option(metavar="FILE", help="Its key.")] = None
    tls_server_name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="A name in the service's certificate, if it is not "
            f"{NAME}.NAMESPACE.svc with the namespace in EXTENDER_NAMESPACE.",
        ),
    ] = None
    no_capacity_score: Annotated[
        bool,
        typer.Option(
            "--no-capacity-score",
            help="Have kube-scheduler give no points for free storage, as it does from Kubernetes "
            "1.37 on: for EXTENDER_BALANCE=pack. A second scheduler never does.",
        ),
    ] = False
    for_: Annotated[
        For,
        typer.Option(
            "--for",
            help="Whose configuration. cluster-autoscaler's has no extender; the next three are "
            "for its new nodes.",
        ),
    ] = For.KUBE_SCHEDULER
    storage_class: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Print the CSIStorageCapacity that new nodes have for this class, not the "
            "configuration. May be given several times.",
        ),
    ] = None
    template_node_disk: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SIZE",
            help="What Longhorn may put on a disk of a new node, like 350Gi: its size less what is "
            "reserved, times over-provisioning. Once for each disk.",
        ),
    ] = None
    template_node_label: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="A label of the nodes of the node group; without, all new nodes have such disks.",
        ),
    ] = None
    output: Printed = Output.TABLE
    quiet: Quiet = False


def of_no_use(given: Options) -> Iterator[str]:
    """Say what is given that means nothing for whose configuration it is to be."""
    of_scheduler = {
        "--distribution": given.distribution,
        "--url": given.url,
        "--merge": given.merge,
        "--check": given.check,
        "--remove": given.remove,
        "--replace": given.replace,
        "--talos-document": given.talos_document,
        "--no-capacity-score": given.no_capacity_score,
        "--tls-ca": given.tls_ca,
        "--tls-cert": given.tls_cert,
        "--tls-key": given.tls_key,
        f"-o {given.output}": given.output is not Output.TABLE,
    }
    of_autoscaler = {
        "--storage-class": given.storage_class,
        "--template-node-disk": given.template_node_disk,
        "--template-node-label": given.template_node_label,
    }
    others = of_scheduler if given.for_ is For.CLUSTER_AUTOSCALER else of_autoscaler
    for name, is_given in others.items():
        if is_given:
            yield f"{name} is of no use with --for {given.for_}"


def contradictions(given: Options) -> Iterator[str]:
    """Say what does not go together, for a configuration of kube-scheduler."""
    merge, check, remove = given.merge, given.check, given.remove
    tls = given.tls_ca or given.tls_cert or given.tls_key
    wrong = {
        "--merge, --check and --remove exclude each other": (
            sum(file is not None for file in (merge, check, remove)) > 1
        ),
        "--replace is of no use without --merge": given.replace and merge is None,
        "--tls-ca, --tls-cert and --tls-key are of no use with --check or --remove": (
            (check or remove) and tls
        ),
        "--talos-document is of no use with --merge, --check or --remove: the file shows it": (
            given.talos_document and (merge or check or remove)
        ),
        f"--talos-document is of no use with --distribution {given.distribution}": (
            given.talos_document and given.distribution is not Distribution.TALOS
        ),
        "--no-capacity-score is of no use with --remove, which takes out what was added": (
            given.no_capacity_score and remove
        ),
        f"-o {given.output} is how --check prints what it finds; the rest is YAML anyway": (
            given.output is not Output.TABLE and check is None
        ),
    }
    return (text for text, is_so in wrong.items() if is_so)
