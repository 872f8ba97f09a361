"""The command `scheduler-config`: files, and what is printed where."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
import typer

from app.errors import InputError
from cli.documents import read_bytes
from cli.options import Output, command_of, load_settings, print_answer, warn
from cli.paragraphs import output_width, paragraph
from cli.scheduler_config.autoscaler import CONFIGURATION, For, template_capacities
from cli.scheduler_config.checking import Flaw, flaws
from cli.scheduler_config.editing import merged, removed
from cli.scheduler_config.given import SIZE_LIMIT_BYTES, Given, read_given
from cli.scheduler_config.options import Options, contradictions, of_no_use
from cli.scheduler_config.wanted import (
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


@command_of(Options)
def configure_scheduler(given: Options) -> None:
    """Print kube-scheduler's configuration with the extender in it; change no file.

    With --for cluster-autoscaler print the one for its --scheduler-config-file.

    FILE may be -, which is what comes in on stdin.

    Exit status: 0 printed, or nothing is wrong, 1 --check found something, 2 the input cannot be
    used.
    """
    _refuse(of_no_use(given))
    if given.for_ is For.CLUSTER_AUTOSCALER:
        _print_for_autoscaler(given)
        return
    distribution = given.distribution
    if distribution is None:
        raise InputError(
            f"--distribution is missing: what kube-scheduler is run by, one of "
            f"{', '.join(Distribution)}"
        )
    _refuse(contradictions(given))
    address = None if given.url is None else _address(given.url, distribution)
    if given.check is not None:
        raise typer.Exit(_check(given.check, distribution, address, given.output))
    if given.remove is not None:
        _print_file(removed(_read(given.remove, distribution), address))
        return
    if given.url is None:
        raise InputError("--url is missing: the address that kube-scheduler calls")
    wanted = make_wanted(distribution, given.url, _tls(given, distribution))
    if given.merge is None:
        _print_file(written(wanted, own_document=given.talos_document))
        return
    _print_merged(given.merge, wanted, address, quiet=given.quiet)


def _refuse(found: Iterable[str]) -> None:
    """Refuse what is given for the first reason found, if there is one."""
    for text in found:
        raise InputError(text)


def _print_for_autoscaler(given: Options) -> None:
    classes, disks = given.storage_class or [], given.template_node_disk or []
    labels = given.template_node_label or []
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


def _tls(given: Options, distribution: Distribution) -> dict[str, str] | None:
    """Return tlsConfig, or none if there is no CA; only Talos takes what is in the files."""
    ca, certificate, key = given.tls_ca, given.tls_cert, given.tls_key
    if (certificate is None) != (key is None):
        raise InputError("--tls-cert and --tls-key go together; give both, or none")
    if ca is None:
        if certificate is not None:
            raise InputError("--tls-cert needs --tls-ca: the CA of the service's certificate")
        return None
    if distribution is not Distribution.TALOS:
        return tls_files(ca, certificate, key, given.tls_server_name)
    return tls_contents(
        _pem(ca),
        None if certificate is None else _pem(certificate),
        None if key is None else _pem(key),
        given.tls_server_name,
    )


def _pem(file: str) -> bytes:
    content = read_bytes(Path(file), SIZE_LIMIT_BYTES)
    if b"-----BEGIN " not in content:
        raise InputError(f"{file} is not PEM; give the file as docs/tls.md makes it")
    return content


def _print_file(text: str) -> None:
    """Print it byte for byte, whatever the terminal can show."""
    typer.echo(text.encode(), nl=False)
