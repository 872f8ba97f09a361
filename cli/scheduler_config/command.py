"""The command `scheduler-config`: options, files, and what is printed where."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from app.errors import InputError
from cli.documents import read_bytes
from cli.options import Output, Printed, Quiet, load_settings, print_answer, warn
from cli.paragraphs import output_width, paragraph
from cli.scheduler_config.autoscaler import CONFIGURATION, For, template_capacities
from cli.scheduler_config.checking import Flaw, flaws
from cli.scheduler_config.editing import merged, removed
from cli.scheduler_config.given import SIZE_LIMIT_BYTES, Given, read_given
from cli.scheduler_config.wanted import (
    SERVER_NAME,
    Distribution,
    Wanted,
    check_reachable,
    checked_url,
    make_wanted,
    tls_contents,
    tls_files,
    written,
)
from cli.stdin import name_of

_RIGHT, _WRONG = 0, 1


class Checked(msgspec.Struct, frozen=True, kw_only=True):
    """What --check finds."""

    file: str
    flaws: Sequence[Flaw]


def configure_scheduler(
    distribution: Annotated[
        Distribution | None, typer.Option(help="What kube-scheduler is run by.")
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(
            "--url", metavar="URL", help="The service's address, like http://10.96.0.95:9504."
        ),
    ] = None,
    merge: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Print this configuration with our entry in it."),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Say what is missing or wrong in this configuration."),
    ] = None,
    remove: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Print this configuration without our entry."),
    ] = None,
    talos_document: Annotated[  # noqa: FBT002 (a flag)
        bool,
        typer.Option(
            "--talos-document",
            help="For machine configurations that Talos 1.14 or newer has made: print a "
            "KubeSchedulerConfig, not a patch of cluster.scheduler.config.",
        ),
    ] = False,
    tls_ca: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The CA of the service's certificate, as a file on the control-plane nodes. For "
            "Talos, which takes the contents, this and the next two are read here.",
        ),
    ] = None,
    tls_cert: Annotated[
        str | None, typer.Option(metavar="FILE", help="kube-scheduler's certificate.")
    ] = None,
    tls_key: Annotated[str | None, typer.Option(metavar="FILE", help="Its key.")] = None,
    tls_server_name: Annotated[
        str, typer.Option(metavar="NAME", help="A name in the service's certificate.")
    ] = SERVER_NAME,
    for_: Annotated[
        For,
        typer.Option(
            "--for",
            help="Whose configuration. cluster-autoscaler's has no extender; the next three are "
            "for its new nodes.",
        ),
    ] = For.KUBE_SCHEDULER,
    storage_class: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Print the CSIStorageCapacity that new nodes have for this class, not the "
            "configuration. May be given several times.",
        ),
    ] = None,
    template_node_disk: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SIZE",
            help="What Longhorn may put on a disk of a new node, like 350Gi: its size less what is "
            "reserved, times over-provisioning. Once for each disk.",
        ),
    ] = None,
    template_node_label: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE",
            help="A label of the nodes of the node group; without, all new nodes have such disks.",
        ),
    ] = None,
    output: Printed = Output.TABLE,
    quiet: Quiet = False,  # noqa: FBT002 (a flag)
) -> None:
    """Print kube-scheduler's configuration with the extender in it; change no file.

    With --for cluster-autoscaler print the one for its --scheduler-config-file.

    FILE may be -, which is what comes in on stdin.

    Exit status: 0 printed, or nothing is wrong, 1 --check found something, 2 the input cannot be
    used.
    """
    of_scheduler = {
        "--distribution": distribution,
        "--url": url,
        "--merge": merge,
        "--check": check,
        "--remove": remove,
        "--talos-document": talos_document,
        "--tls-ca": tls_ca,
        "--tls-cert": tls_cert,
        "--tls-key": tls_key,
        f"-o {output}": output is not Output.TABLE,
    }
    of_autoscaler = {
        "--storage-class": storage_class,
        "--template-node-disk": template_node_disk,
        "--template-node-label": template_node_label,
    }
    others = of_scheduler if for_ is For.CLUSTER_AUTOSCALER else of_autoscaler
    _refuse(f"{name} is of no use with --for {for_}" for name, given in others.items() if given)
    if for_ is For.CLUSTER_AUTOSCALER:
        _print_for_autoscaler(
            storage_class or [], template_node_disk or [], template_node_label or []
        )
        return
    if distribution is None:
        raise InputError(
            f"--distribution is missing: what kube-scheduler is run by, one of "
            f"{', '.join(Distribution)}"
        )
    wrong = {
        "--merge, --check and --remove exclude each other": (
            sum(file is not None for file in (merge, check, remove)) > 1
        ),
        "--tls-ca, --tls-cert and --tls-key are of no use with --check or --remove": (
            (check or remove) and (tls_ca or tls_cert or tls_key)
        ),
        "--talos-document is of no use with --merge, --check or --remove: the file shows it": (
            talos_document and (merge or check or remove)
        ),
        f"--talos-document is of no use with --distribution {distribution}": (
            talos_document and distribution is not Distribution.TALOS
        ),
        f"-o {output} is how --check prints what it finds; the rest is YAML anyway": (
            output is not Output.TABLE and check is None
        ),
    }
    _refuse(text for text, is_so in wrong.items() if is_so)
    address = None if url is None else _address(url, distribution)
    if check is not None:
        raise typer.Exit(_check(check, distribution, address, output))
    if remove is not None:
        _print_file(removed(_read(remove, distribution), address))
        return
    if url is None:
        raise InputError("--url is missing: the address that kube-scheduler calls")
    tls = _tls(distribution, tls_ca, tls_cert, tls_key, tls_server_name)
    wanted = make_wanted(distribution, url, tls)
    if merge is None:
        _print_file(written(wanted, own_document=talos_document))
        return
    _print_merged(merge, wanted, address, quiet=quiet)


def _refuse(found: Iterable[str]) -> None:
    """Refuse what is given for the first reason found, if there is one."""
    for text in found:
        raise InputError(text)


def _print_for_autoscaler(
    classes: Sequence[str], disks: Sequence[str], labels: Sequence[str]
) -> None:
    if classes or disks or labels:
        namespace = load_settings().longhorn_namespace
        _print_file(template_capacities(classes, disks, labels, namespace))
    else:
        _print_file(CONFIGURATION)


def _check(file: Path, distribution: Distribution, address: str | None, output: Output) -> int:
    """Print what is missing or wrong in a configuration; return the exit status."""
    found = Checked(
        file=name_of(file), flaws=flaws(_read(file, distribution), distribution, address)
    )
    print_answer(found, output, _lines(found))
    return _WRONG if found.flaws else _RIGHT


def _print_merged(file: Path, wanted: Wanted, address: str | None, *, quiet: bool) -> None:
    """Print a configuration with our entry in it, and warn of what is not ours to set."""
    distribution = wanted.distribution
    text = merged(_read(file, distribution), wanted)
    left = flaws(read_given(name_of(file), text.encode(), distribution), distribution, address)
    warn((f"{each.text} -> {each.remedy}" for each in left), quiet=quiet)
    _print_file(text)


def _address(url: str, distribution: Distribution) -> str:
    """Return the address, if kube-scheduler would reach the service there."""
    address = checked_url(url)
    check_reachable(address, distribution)
    return address


def _lines(found: Checked) -> Iterator[str]:
    """Write how many there are, and a line for each with its remedy below."""
    count = len(found.flaws)
    yield f"{found.file}: {f'{count} found' if count else 'nothing is missing or wrong'}"
    for flaw in found.flaws:
        yield from paragraph("", flaw.text, output_width(), indent=0)
        yield from paragraph("  -> ", flaw.remedy, output_width())


def _read(path: Path, distribution: Distribution) -> Given:
    return read_given(name_of(path), read_bytes(path, SIZE_LIMIT_BYTES), distribution)


def _tls(
    distribution: Distribution,
    ca: str | None,
    certificate: str | None,
    key: str | None,
    server_name: str,
) -> dict[str, str] | None:
    """Return tlsConfig, or none if there is no CA; only Talos takes what is in the files."""
    if (certificate is None) != (key is None):
        raise InputError("--tls-cert and --tls-key go together; give both, or none")
    if ca is None:
        if certificate is not None:
            raise InputError("--tls-cert needs --tls-ca: the CA of the service's certificate")
        return None
    if distribution is not Distribution.TALOS:
        return tls_files(ca, certificate, key, server_name)
    return tls_contents(
        _pem(ca),
        None if certificate is None else _pem(certificate),
        None if key is None else _pem(key),
        server_name,
    )


def _pem(file: str) -> bytes:
    content = read_bytes(Path(file), SIZE_LIMIT_BYTES)
    if b"-----BEGIN " not in content:
        raise InputError(f"{file} is not PEM; give the file as docs/tls.md makes it")
    return content


def _print_file(text: str) -> None:
    """Print it byte for byte, whatever the terminal can show."""
    typer.echo(text.encode(), nl=False)
