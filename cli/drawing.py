"""The page that `--html` writes."""

import os
from pathlib import Path

from app.errors import InputError
from planner.picture import Picture


def check_writable(path: Path) -> None:
    """Raise InputError if a page cannot be written: better said before long work than after."""
    folder = path.parent
    try:
        if path.is_dir():
            raise InputError(f"--html: {path} is a folder; name a file")
        if not folder.is_dir():
            raise InputError(f"--html: there is no folder {folder}; make it, or name another file")
        if not os.access(path if path.exists() else folder, os.W_OK):
            raise InputError(f"--html: {path} cannot be written; name another file")
    except OSError as error:  # a name too long
        raise InputError(f"--html: {path} cannot be written: {error.strerror}") from error


def draw(picture: Picture, path: Path) -> None:
    """Write a picture as one page for a browser."""
    from app.page.page import page  # noqa: PLC0415 (only some plans are drawn)

    try:
        path.write_text(page(picture), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from error
