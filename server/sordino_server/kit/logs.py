"""Logs on standard error: one event a line, for people or for machines. No address of a device is ever logged."""

from __future__ import annotations

import logging
import sys
import threading
from collections import Counter
from collections.abc import Callable, Hashable
from contextvars import ContextVar
from time import monotonic
from types import TracebackType

from sordino_server.kit.spared_imports import without

# It draws tracebacks with rich, which takes as long to import as all our tables. Ours are plain.
with without("rich"):
    import structlog

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


# Of the request that is being answered; empty outside of requests.
request_id: ContextVar[str] = ContextVar("request_id", default="")


def logger(name: str) -> structlog.typing.FilteringBoundLogger:
    """The log of a module."""
    bound: structlog.typing.FilteringBoundLogger = structlog.get_logger(name)
    return bound


def configure_logs(level: str, form: str) -> None:
    """Log from `level` on, as `text` or `json`."""
    stamp = structlog.processors.TimeStamper(fmt="iso", utc=True)
    processors: list[structlog.typing.Processor] = [
        _add_request_id,
        structlog.processors.add_log_level,
        stamp,
    ]
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
    _take_over_libraries(_LEVELS[level])


def _add_request_id(_: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    if identifier := request_id.get():
        event["request_id"] = identifier
    return event


class Sparingly:
    """Counts events by key, of which one in `seconds` is to be logged: a flood of refusals must not cost more than
    the work that was refused.
    """

    def __init__(self, seconds: float = 1.0, clock: Callable[[], float] = monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._silent_until: dict[Hashable, float] = {}
        self._times: Counter[Hashable] = Counter()

    def times(self, key: Hashable) -> int:
        """How many there were since the last one that was logged, this one included; 0 if this is not to be."""
        self._times[key] += 1
        now = self._clock()
        if now < self._silent_until.get(key, now):
            return 0
        self._silent_until[key] = now + self._seconds
        return self._times.pop(key)


class _Libraries(logging.Handler):
    """What libraries log with the standard library's loggers, in the same form as the events of the server."""

    def emit(self, record: logging.LogRecord) -> None:
        # Levels between the named ones are allowed there and unknown here.
        level = min(record.levelno // 10 * 10, logging.CRITICAL)
        try:
            structlog.get_logger().log(level, record.getMessage(), logger=record.name, exc_info=record.exc_info)
        except Exception:
            # As every handler does: a line that cannot be written stops nobody's work.
            self.handleError(record)


def _take_over_libraries(level: int) -> None:
    root = logging.getLogger()
    for handler in [each for each in root.handlers if isinstance(each, _Libraries)]:
        root.removeHandler(handler)
    # Below warnings they tell of single requests and connections.
    root.addHandler(_Libraries(max(level, logging.WARNING)))
    logging.getLogger("uvicorn.error").addFilter(_not_logged_before)


def log_what_python_prints() -> None:
    """Make warnings and tracebacks of the interpreter events of the log: printed, they are several lines."""
    logging.captureWarnings(True)

    def log_end(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, trace)
        else:
            structlog.get_logger().error("bug", exc_info=(kind, error, trace))

    def log_end_of_thread(ended: threading.ExceptHookArgs) -> None:
        name = None if ended.thread is None else ended.thread.name
        known = ended.exc_value and (ended.exc_type, ended.exc_value, ended.exc_traceback)
        structlog.get_logger().error("bug", thread=name, exc_info=known)

    sys.excepthook = log_end
    threading.excepthook = log_end_of_thread


def _not_logged_before(record: logging.LogRecord) -> bool:
    """The handler of bugs has logged the exception with its path by the time that uvicorn sees it."""
    return not record.getMessage().startswith("Exception in ASGI application")
