"""Log set-up: structured lines on stdout, JSON unless it is a terminal."""

import logging
import os
import sys
from collections.abc import Mapping
from typing import Any

import msgspec
import structlog
from structlog.types import Processor


def has_colours(environ: Mapping[str, str]) -> bool:
    """Whether a terminal may be sent escape sequences: see https://no-color.org."""
    return not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def configure_logs(level: str) -> None:
    """Write our own lines, and those of libraries in the same form.

    Ours do not go through the standard library's logging, which is slow for a line per answer.
    """
    shared: list[Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    is_terminal = sys.stdout.isatty()
    for_people = structlog.dev.ConsoleRenderer(colors=has_colours(os.environ))
    structlog.configure(
        processors=[*shared, for_people if is_terminal else _as_json],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=(
            structlog.PrintLoggerFactory()
            if is_terminal
            else structlog.BytesLoggerFactory(sys.stdout.buffer)
        ),
    )
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                for_people if is_terminal else structlog.processors.JSONRenderer(),
            ],
        )
    )
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    logging.getLogger("uvicorn").setLevel(logging.ERROR)


def _as_json(_logger: Any, _method: str, event: structlog.types.EventDict) -> bytes:
    return msgspec.json.encode(event, enc_hook=repr)
