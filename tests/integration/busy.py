"""The program, which at SIGUSR1 takes the main thread for some seconds, as a long answer does.

Run as ``python -m tests.integration.busy ARGUMENT...`` in place of ``python -m cli``.
"""

import signal
import time
from types import FrameType

from cli.__main__ import main

CPU_SECONDS = 4.0


def take(_number: int, _frame: FrameType | None) -> None:
    """Do nothing else for a while."""
    end = time.thread_time() + CPU_SECONDS
    while time.thread_time() < end:
        pass


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, take)
    main()
