"""What stops a plan: something in it that the user can correct."""

from collections.abc import Iterable
from difflib import get_close_matches

from planner.naming import natural


class PlanError(Exception):
    """A step names something that is not there, or asks for what cannot be; one line."""


def unknown(kind: str, name: str, names: Iterable[str]) -> PlanError:
    """Say that there is no object of a name, and which one may be meant."""
    known = sorted(names, key=natural)
    meant = get_close_matches(name, known, 1)
    if meant:
        hint = f"; did you mean {meant[0]}?"
    elif known:
        shown = ", ".join(known[:5]) + (", …" if len(known) > 5 else "")
        hint = f"; there are {shown}"
    else:
        hint = "; there are none"
    return PlanError(f"there is no {kind} {name[:253]}{hint}")
