"""The scheduling policy that a user names."""

import json
from pathlib import Path

from app.errors import InputError
from cli.documents import read_bytes
from cli.stdin import INPUT, name_of
from planner.policy import SEED_POLICY, TODAY_POLICY, Policy, PolicyError
from planner.policy_file import read_policy

_BUILT_IN = {"today": TODAY_POLICY, "seed": SEED_POLICY}
_SIZE_LIMIT_BYTES = 2**20


def named_policy(name: str) -> Policy:
    """Return a built-in policy, or that of a file.

    Raises:
        InputError: There is no such file, or it holds no policy.
    """
    if name in _BUILT_IN:
        return _BUILT_IN[name]
    path = Path(name)
    try:
        is_there = path == INPUT or path.exists()
    except OSError:  # a name too long
        is_there = False
    if not is_there:
        raise InputError(f"there is no policy {name}; give {' or '.join(_BUILT_IN)}, or a file")
    try:
        return read_policy(json.loads(read_bytes(path, _SIZE_LIMIT_BYTES)))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name_of(path)} is not JSON: {error}") from error
    except PolicyError as error:
        raise InputError(f"{name_of(path)}: {error}") from error
