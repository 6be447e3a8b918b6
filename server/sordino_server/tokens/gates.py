"""Who gets a token, and how often the same: a limit in memory, and the operator's program behind the gate `hook`."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import threading
from collections import OrderedDict
from pathlib import Path
from tempfile import TemporaryFile

from sordino_server.errors import ServerError
from sordino_server.kit.logs import logger
from sordino_shared.protocol import Problem

log = logger(__name__)

_DAY_S = 86_400
# A device that never gets an answer asks again at most so often; each takes six milliseconds.
MOST_TIMES = 16
# About 15 MB. With more elements than this in a day one is answered more often.
MOST_ELEMENTS = 100_000
# More of the operator's programs at once would starve what counts reports.
MOST_HOOKS = 8
_TOLD_BYTES = 500
YES, NO = 0, 1


class Repeats:
    """How often each element was evaluated in this process today (UTC): a lost answer is given again, not forever."""

    def __init__(self, most: int = MOST_ELEMENTS) -> None:
        self._most = most
        self._day = -1
        self._times: OrderedDict[bytes, int] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, element: bytes, now: int) -> int | None:
        """Count one evaluation: None, or the seconds until it may be asked for again where it was too often."""
        name = hashlib.sha256(element).digest()[:16]
        with self._lock:
            if now // _DAY_S != self._day:
                self._day = now // _DAY_S
                self._times.clear()
            times = self._times.pop(name, 0)
            self._times[name] = min(times + 1, MOST_TIMES)
            if len(self._times) > self._most:
                self._times.popitem(last=False)
            return None if times < MOST_TIMES else _DAY_S - now % _DAY_S


class Hook:
    """The operator's program, which says by its exit status whether what a device sent gets a token: 0 yes, 1 no.

    It gets the credential on its standard input, and as arguments the campaign, the round and the blinded element in
    hexadecimal digits, which an attestation should name: else one attestation could be shown for many elements.
    """

    def __init__(self, program: Path | None, timeout_s: float) -> None:
        self._program = program
        self._timeout_s = timeout_s
        self._running = threading.Semaphore(MOST_HOOKS)

    def allows(self, campaign: str, index: int, blinded: bytes, credential: bytes) -> bool:
        """Whether the program says yes; raises `unavailable` where it says neither, and `overloaded`."""
        if self._program is None:
            raise ServerError(Problem.UNAVAILABLE, "SORDINO_TOKEN_HOOK is not set on this server: tell its operator")
        if not self._running.acquire(blocking=False):
            raise ServerError(Problem.OVERLOADED, "too many tokens are being decided about; try again later")
        try:
            return self._ask([str(self._program), campaign, str(index), blinded.hex()], credential)
        finally:
            self._running.release()

    def _ask(self, command: list[str], credential: bytes) -> bool:
        try:
            ended = _run(command, credential, self._timeout_s)
        except subprocess.TimeoutExpired as error:
            log.error("the token hook took too long and was ended", seconds=self._timeout_s)
            raise _undecided() from error
        except OSError as error:
            log.error("the token hook cannot be run", problem=str(error))
            raise _undecided() from error
        if ended.returncode not in (YES, NO):
            told = ended.stderr.decode("utf-8", "replace")
            log.error("the token hook failed", status=ended.returncode, said=told)
            raise _undecided()
        return ended.returncode == YES


def _run(command: list[str], credential: bytes, timeout_s: float) -> subprocess.CompletedProcess[bytes]:
    """As `subprocess.run`, but what the program began is killed with it, and only the start of its errors is read."""
    with TemporaryFile() as errors:
        # In a session of its own: a shell that is killed alone leaves what it waits for behind.
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True
        ) as program:
            try:
                program.communicate(credential, timeout=timeout_s)
            except subprocess.TimeoutExpired:
                os.killpg(program.pid, signal.SIGKILL)
                raise
        errors.seek(0)
        return subprocess.CompletedProcess(command, program.returncode, stderr=errors.read(_TOLD_BYTES))


def _undecided() -> ServerError:
    return ServerError(Problem.UNAVAILABLE, "the server's operator could not decide about the token; try again later")
