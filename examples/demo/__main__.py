"""Shows what the service does for the charter's pods: `make demo`.

It starts `serve` on a cluster that is played, asks it over HTTP as kube-scheduler does, writes what
kube-scheduler and Longhorn would write, and draws the disks. The exit status is 0 only if every
answer is the expected one. It is that of a program which the signal has ended, 128 and its number,
after Ctrl-C (SIGINT), and when nobody reads any more (SIGPIPE).
"""

import os
import signal
import sys
from collections.abc import Callable, Iterable

from examples.demo.api_server import api_server
from examples.demo.players import Cluster
from examples.demo.screen import print_lines, verdict
from examples.demo.service import service_on
from examples.demo.stage import Stage
from examples.demo.story import STORY


def main(story: Iterable[Callable[[Stage], None]]) -> int:
    """Show one screen after the other; return the exit status.

    Raises:
        SystemExit: The service did not start, answer, or end well.
    """
    with api_server() as api, service_on(api) as service:
        stage = Stage(Cluster(api), service)
        for screen in story:
            screen(stage)
    print_lines(verdict(stage.checked, stage.wrong))
    return 1 if stage.wrong else 0


def run() -> int:
    """Show all of it, for as long as somebody looks; return the exit status."""
    try:
        return main(STORY)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the flush at exit
        return 128 + signal.SIGPIPE


if __name__ == "__main__":
    sys.exit(run())
