"""kube-scheduler's configuration with our extender: printed, merged, checked, removed."""

from cli.scheduler_config.checking import Flaw, flaws
from cli.scheduler_config.editing import merged, removed
from cli.scheduler_config.given import SIZE_LIMIT_BYTES, Given, read_given
from cli.scheduler_config.owners import Namespaces, OwnedEntry, Owner, owned_entries
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

__all__ = [
    "SIZE_LIMIT_BYTES",
    "Distribution",
    "Flaw",
    "Given",
    "Namespaces",
    "OwnedEntry",
    "Owner",
    "Wanted",
    "check_reachable",
    "checked_url",
    "flaws",
    "make_wanted",
    "merged",
    "owned_entries",
    "read_given",
    "removed",
    "tls_contents",
    "tls_files",
    "written",
]
