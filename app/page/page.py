"""A picture as one HTML page, which draws itself in a browser and loads nothing.

All that is from the cluster is in JSON, in a script block that no browser runs. page.js makes text
of it, and nothing else. By its Content-Security-Policy the page runs that script and no other, and
may load nothing and send nothing.
"""

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from string import Template

import msgspec

from planner.picture import NodeReport, Picture

_HARMFUL = {
    b"<": b"\\u003c",  # would end the block, or begin a comment that swallows its end
    b">": b"\\u003e",
    b"&": b"\\u0026",
    "\u2028".encode(): b"\\u2028",  # ends a line in scripts
    "\u2029".encode(): b"\\u2029",
}


def page(picture: Picture) -> str:
    """Return the whole page."""
    return opening(picture) + closing()


def opening(picture: Picture) -> str:
    """Return the page up to where `more_nodes` may follow, and then `closing`.

    A large picture can so be made piece by piece.
    """
    start, _ = _halves()
    style, script = _asset("page.css"), _asset("page.js")
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    embedded = f'<script type="application/json" id="report">{_inert(picture)}</script>\n'
    return Template(start).substitute(policy=policy, style=style) + embedded


def more_nodes(nodes: Sequence[NodeReport]) -> str:
    """Return more nodes of the first step, for between `opening` and `closing`."""
    return f'<script type="application/json" class="nodes">{_inert(nodes)}</script>\n'


def closing() -> str:
    """Return the end of the page."""
    _, end = _halves()
    return Template(end).substitute(script=_asset("page.js"))


def _inert(found: object) -> str:
    """Write JSON that ends no script block and begins no markup, whatever its texts are."""
    text = msgspec.json.encode(found)
    for harmful, escaped in _HARMFUL.items():
        text = text.replace(harmful, escaped)
    return text.decode()


def _halves() -> tuple[str, str]:
    """Return the frame of the page before and after its data."""
    start, _, end = _asset("page.html").partition("$data")
    return start, end


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


@cache
def _asset(name: str) -> str:
    """Return a file of this folder."""
    return files("app.page").joinpath(name).read_text(encoding="utf-8")
