"""What a process has loaded before its command begins."""

import subprocess
import sys

LOADED = "import sys, cli.__main__, cli.serving; print(*sys.modules)"


def test_rich_is_not_loaded_though_it_is_installed():
    process = subprocess.run(
        [sys.executable, "-c", LOADED],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(process.stdout.split())

    assert {"structlog", "typer"} <= loaded
    assert not {"rich.console", "rich.pretty", "pygments", "attr"} & loaded
