"""The command `scheduler-config`: files, and what is printed where."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import typer

from app.config import NAME
from app.errors import InputError
from cli.documents import read_bytes
from cli.options import command_of, load_settings, print_answer, tell, warn
from cli.paragraphs import output_width, paragraph
from cli.scheduler_config.autoscaler import CONFIGURATION, For, template_capacities
from cli.scheduler_config.checking import Flaw, flaws
from cli.scheduler_config.editing import merged, removed
from cli.scheduler_config.given import SIZE_LIMIT_BYTES, Given, read_given
from cli.scheduler_config.options import Options, contradictions, of_no_use
from cli.scheduler_config.owners import Namespaces, OwnedEntry, Owner, owned_entries
from cli.scheduler_config.wanted import (
    Distribution,
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
    entries: Sequence[OwnedEntry]
    """Of the extenders, those for pods that ask for the resource."""


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
    settings = load_settings()
    namespaces = Namespaces(ours=settings.namespace, longhorns=settings.longhorn_namespace)
    if given.remove is not None:
        _print_removed(_read(given.remove, distribution), given, namespaces)
    elif given.check is not None:
        raise typer.Exit(_check(_read(given.check, distribution), given, distribution, namespaces))
    else:
        _print_with_ours(given, distribution, namespaces)


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


def _check(found: Given, given: Options, distribution: Distribution, namespaces: Namespaces) -> int:
    """Print what is missing or wrong in a configuration; return the exit status."""
    address = None if given.url is None else _address(given.url, distribution)
    checked = _checked(found, given, distribution, address, namespaces)
    print_answer(checked, given.output, _lines(checked))
    return _WRONG if checked.flaws else _RIGHT


def _checked(
    found: Given,
    given: Options,
    distribution: Distribution,
    address: str | None,
    namespaces: Namespaces,
) -> Checked:
    """Find what is missing or wrong in a configuration, and whose entries there are."""
    owned = owned_entries(found.entries, address, namespaces)
    score = not given.no_capacity_score
    wrong = flaws(found, distribution, address, owned, capacity_score=score)
    return Checked(file=found.origin, flaws=wrong, entries=owned)


def _print_with_ours(given: Options, distribution: Distribution, namespaces: Namespaces) -> None:
    """Print a configuration with our entry in it, and warn of what is not ours to set."""
    if given.url is None:
        raise InputError("--url is missing: the address that kube-scheduler calls")
    address = _address(given.url, distribution)
    tls = _tls(given, address, distribution, namespaces)
    score = not given.no_capacity_score
    wanted = make_wanted(distribution, address, tls, namespaces.ours, capacity_score=score)
    if given.merge is None:
        text = written(wanted, own_document=given.talos_document)
    else:
        found = _read(given.merge, distribution)
        text = merged(found, wanted, namespaces, given.replace or ())
        again = read_given(found.origin, text.encode(), distribution)
        left = _checked(again, given, distribution, address, namespaces).flaws
        warn((f"{each.text} -> {each.remedy}" for each in left), quiet=given.quiet)
    _print_file(text)
    if not given.quiet:
        tell("note: ", _what_it_needs(address, tls, distribution))


def _print_removed(found: Given, given: Options, namespaces: Namespaces) -> None:
    """Print a configuration without our entry, and say whose are left."""
    address = None if given.url is None else checked_url(given.url)
    text = removed(found, address, namespaces)
    owned = owned_entries(found.entries, address, namespaces)
    left = (each for each in owned if each.owner is not Owner.OURS)
    warn((f"{each}. It is left" for each in left), quiet=given.quiet)
    _print_file(text)


def _address(url: str, distribution: Distribution) -> str:
    """Return the address, if kube-scheduler would reach the service there."""
    address = checked_url(url)
    check_reachable(address, distribution)
    return address


def _lines(found: Checked) -> Iterator[str]:
    """Write how many there are, and each with its remedy below; then whose the entries are."""
    count = len(found.flaws)
    yield f"{found.file}: {f'{count} found' if count else 'nothing is missing or wrong'}"
    for flaw in found.flaws:
        yield from paragraph("", flaw.text, output_width(), indent=0)
        yield from paragraph("  -> ", flaw.remedy, output_width())
    told = {flaw.text for flaw in found.flaws}
    for each in found.entries:
        if str(each) in told:
            continue
        yield from paragraph("", str(each), output_width(), indent=0)
        if each.owner is Owner.UNKNOWN and each.url is not None:
            yield from paragraph("  -> ", "say with --url where this service is", output_width())


def _read(path: Path, distribution: Distribution) -> Given:
    return read_given(name_of(path), read_bytes(path, SIZE_LIMIT_BYTES), distribution)


def _tls(
    given: Options, address: str, distribution: Distribution, namespaces: Namespaces
) -> dict[str, str] | None:
    """Return tlsConfig; none for plain HTTP. Only Talos takes what is in the files."""
    ca, certificate, key = given.tls_ca, given.tls_cert, given.tls_key
    if (certificate is None) != (key is None):
        raise InputError("--tls-cert and --tls-key go together; give both, or none")
    if ca is None and certificate is None and not address.startswith("https:"):
        return None
    name = given.tls_server_name or f"{NAME}.{namespaces.ours}.svc"
    if distribution is not Distribution.TALOS:
        return tls_files(ca, certificate, key, name)
    if ca is None:
        return None  # which is refused with the address
    return tls_contents(
        _pem(ca),
        None if certificate is None else _pem(certificate),
        None if key is None else _pem(key),
        name,
    )


def _what_it_needs(address: str, tls: Mapping[str, str] | None, distribution: Distribution) -> str:
    """Say what the configuration relies on besides the address."""
    if tls is None:
        return (
            f"{address} is plain HTTP: kube-scheduler believes whoever answers there, and the "
            f"service answers only if it is said to be insecure (docs/tls.md)"
        )
    if distribution is Distribution.TALOS:
        return "the key of kube-scheduler's certificate is in what is printed: keep it secret"
    files = ", ".join(tls[field] for field in ("caFile", "certFile", "keyFile"))
    if distribution is Distribution.SECONDARY:
        return f"its pods read {files} of the Secret {NAME}-client"
    return (
        f"kube-scheduler reads {files} on each control-plane node: copy them there first, from "
        f"ca.crt, tls.crt and tls.key of the Secret {NAME}-kube-scheduler, readable by root alone, "
        f"and mount their folder for it (docs/tls.md)"
    )


def _pem(file: str) -> bytes:
    content = read_bytes(Path(file), SIZE_LIMIT_BYTES)
    if b"-----BEGIN " not in content:
        raise InputError(f"{file} is not PEM; give the file as docs/tls.md makes it")
    return content


def _print_file(text: str) -> None:
    """Print it byte for byte, whatever the terminal can show."""
    typer.echo(text.encode(), nl=False)
