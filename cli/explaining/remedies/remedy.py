"""What is told of one reason, and how a terminal shows it."""

import re

import msgspec

_LINK = re.compile(r"\[([^]]*)]\(([^)#]*)([^)]*)\)")
_HERE = "troubleshooting.md"
"""Where the actions stand, links to its own headings included."""


class Remedy(msgspec.Struct, frozen=True):
    """What is to be told of one reason, beside its text in the case at hand."""

    short: str
    """After a number of nodes: "3 without room on one disk". Of a note, what keeps the pod waiting
    whatever fits. Empty for what is neither."""
    action: str
    meaning: str = ""
    """Empty if the text in the case at hand says all of it."""


def in_words(action: str) -> str:
    """Return an action as a terminal shows it: each link as its text, and where it leads."""

    def told(link: re.Match[str]) -> str:
        text, page, heading = link.groups()
        return f"{text} (docs/{page or _HERE}{heading})"

    return _LINK.sub(told, action)
