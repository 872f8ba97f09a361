"""Everything that commands say is wrong, by its code: what it means, how bad it is, what to do.

The texts are data, in the files beside this one. docs/ has tables of them, which
``python -m supply.catalogue`` writes. A link in a text is one of docs/troubleshooting.md.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from importlib.resources import files

import msgspec

_LINK = re.compile(r"\[([^]]*)]\(([^)#]*)([^)]*)\)")
_HERE = "troubleshooting.md"


class Severity(StrEnum):
    """How bad a finding is, the worst first."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    OK = "ok"
    UNKNOWN = "unknown"


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to do where something else is said."""

    said: str
    """A part of the text in the case at hand."""
    action: str


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is told of one code, beside the text in the case at hand."""

    short: str = ""
    """After a number of nodes: "3 without room on one disk". Of a note, what keeps the pod waiting
    whatever fits. Empty for what is neither."""
    meaning: str = ""
    """Empty if the text in the case at hand says all of it."""
    action: str = ""
    cases: tuple[Case, ...] = ()
    """Where another action is right; the first that is so counts."""
    severity: Severity = Severity.ERROR
    check: str = ""
    """What `doctor` looked at."""

    def action_for(self, text: str) -> str:
        """Return what to do where *text* is said."""
        return next((each.action for each in self.cases if each.said in text), self.action)


Table = Mapping[str, Entry]


@cache
def _read(name: str) -> Mapping[str, Table]:
    text = files("cli.catalogue").joinpath(f"{name}.toml").read_text(encoding="utf-8")
    return msgspec.toml.decode(text, type=dict[str, dict[str, Entry]])


_OF_FILTER, _OF_VOLUMES = _read("filter"), _read("volume")
REJECTIONS = _OF_FILTER["rejections"]
EXCLUSIONS = _OF_FILTER["exclusions"]
PREDICATES = _OF_FILTER["predicates"]
DISKS = _OF_FILTER["disks"]
ERRORS = _OF_FILTER["errors"]
NOTES = _OF_FILTER["notes"]
REASONS: Table = {code: each for table in _OF_FILTER.values() for code, each in table.items()}
"""All that `filter` and `plan` say of pods, nodes and disks."""
PLACES = _OF_VOLUMES["places"]
WAITS = _OF_VOLUMES["waits"]
PODS = _OF_VOLUMES["pods"]
MEANINGS = _OF_VOLUMES["meanings"]
OBSTACLES = _read("may-drain")["obstacles"]
RISKS = _read("survey")["findings"]
PROBLEMS = _read("doctor")["problems"]
REMEDIES = _read("remedies")["remedies"]
"""What can be done, from the least to the most costly; the actions have figures to fill in."""


def in_words(action: str) -> str:
    """Return an action as a terminal shows it: each link as its text, and where it leads."""

    def told(link: re.Match[str]) -> str:
        text, page, heading = link.groups()
        return f"{text} (docs/{page or _HERE}{heading})"

    return _LINK.sub(told, action)
