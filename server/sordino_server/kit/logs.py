"""Logs on standard error: one event a line, for people or for machines. No address of a device is ever logged."""

from __future__ import annotations

import logging
import sys

import structlog

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


def configure_logs(level: str, form: str) -> None:
    """Log from `level` on, as `text` or `json`."""
    stamp = structlog.processors.TimeStamper(fmt="iso", utc=True)
    processors: list[structlog.typing.Processor] = [structlog.processors.add_log_level, stamp]
    if form == "json":
        processors += [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    else:
        # The default traceback shows the values of variables, secrets among them, and takes seconds to draw.
        plain = structlog.dev.plain_traceback
        processors.append(structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=plain))
    structlog.configure(
        processors=processors,
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
