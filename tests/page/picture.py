"""Draws the page of the example plan: ``python -m tests.page.picture FILE``."""

import argparse
import asyncio
import base64
from pathlib import Path
from tempfile import TemporaryDirectory

from app.page.page import page
from cli.planning.answer import answered
from tests.page import browser
from tests.page.reports import example

_WIDTH, _HEIGHT = 1_000, 1_390
_SHOWN = "show(1); keep('shop/data-db-0')"
"""The step that places pods, and a volume with replicas on three nodes."""


async def draw(program: str) -> bytes:
    """Return the picture as PNG."""
    with TemporaryDirectory() as folder, browser.started(program) as address:
        async with browser.tab(address) as tab:
            await tab.resize(_WIDTH, _HEIGHT)
            await tab.call("Emulation.setScrollbarsHidden", hidden=True)
            await tab.open(
                browser.write(Path(folder), page(answered(example(), is_capacity=False).picture()))
            )
            await tab.run(_SHOWN)
            await tab.settle()
            shot = await tab.call("Page.captureScreenshot", format="png")
    return base64.b64decode(shot["data"])


def main() -> None:
    """Draw the picture."""
    parser = argparse.ArgumentParser(prog="python -m tests.page.picture", description=__doc__)
    parser.add_argument("file", type=Path, help="the PNG that is written, such as plan.png")
    arguments = parser.parse_args()
    program = browser.program()
    if program is None:
        parser.error(f"no browser found: install one of {', '.join(browser.NAMES)}")
    arguments.file.write_bytes(asyncio.run(draw(program)))


if __name__ == "__main__":
    main()
