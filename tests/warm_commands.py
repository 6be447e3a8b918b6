"""Starts `python -m sordino_server` as a fork of a process that has imported it, which takes two seconds otherwise.

So it does with modules of `benchmarks` and scripts of `tests` and `examples`.

What is started is a process like any other: a child of the one that starts it, with its own arguments, environment,
folder, open files and signals. Its first child forks in turn what it starts itself: a server its worker, a worker its
planning. Where a variable differs that Python reads before a program begins, or anything else that a fork cannot
repeat, a new interpreter is started; on systems other than Linux always.
"""

from __future__ import annotations

import _posixsubprocess
import atexit
import ctypes
import fcntl
import gc
import importlib
import io
import os
import pickle
import platform
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, NoReturn

# Not the modules of commands: the consoles that they create read the environment.
_IMPORTED = ("sordino_server.jobs.worker", "sordino_server.jobs.planning_process", "sordino_server.kit.migrations")
_IMPORTED += ("sordino_server.answers.picture", "sordino_server.answers.next_step", "sordino_server.simulation")
_IMPORTED += ("sordino_server.serving.http_protocol", "uvicorn", "psycopg", "clarabel", "httpx", "httptools")
_IMPORTED += ("cryptography.hazmat.primitives.asymmetric.ed25519",)
_IMPORTED += ("anyio._backends._asyncio", "rich.progress", "typer.rich_utils")
_PACKAGES = ("sordino_server", "benchmarks")
_SCRIPTS = tuple(str(Path(__file__).parents[1] / folder) + os.sep for folder in ("examples", "tests"))
_FORK_SERVER = "from multiprocessing.forkserver import main; "
_READ_AT_START = ("PYTHON", "LC_", "LANG", "LD_", "TZ", "OPENBLAS", "OMP", "TERMINAL_WIDTH", "FORCE_COLOR", "PY_COLORS")
_CLONE = {"x86_64": 56, "aarch64": 220}.get(platform.machine()) if sys.platform == "linux" else None
_CLONE_PARENT = 0x8000
FORKS = _CLONE is not None
_MESSAGE, _MOST_FILES, _ROOM = 1 << 17, 32, 4096
_new_interpreter = _posixsubprocess.fork_exec


@dataclass(frozen=True, kw_only=True)
class _Order:
    """What to start; `files` are the numbers that the files sent with it get."""

    arguments: list[str]
    folder: str
    environment: dict[bytes, bytes]
    files: list[int]
    new_session: bool
    group: int


class _Forks:
    """Starts programs by the process at the other end of `connection`, which is a child of this one."""

    def __init__(self, connect: Callable[[], socket.socket]) -> None:
        self._connect = connect
        self._turn = threading.Lock()
        self._at_start = _read_at_start(os.environb)

    def fork_exec(self, *given: Any) -> int:
        """`_posixsubprocess.fork_exec`, which subprocess and multiprocessing call."""
        arguments, _, closes, passed, folder, variables, *ends = given[:12]
        status, _, new_session, group, gid, gids, uid, umask, prepare = given[13:22]
        told = [os.fsdecode(argument) for argument in arguments]
        place = os.path.abspath(os.fsdecode(folder or "."))
        environment = dict(os.environb) if variables is None else dict(each.split(b"=", 1) for each in variables)
        plain = closes and os.path.isdir(place) and (gid, gids, uid, umask, prepare) == (None, None, None, -1, None)
        if not (plain and _is_known(told) and _read_at_start(environment) == self._at_start):
            return _new_interpreter(*given)
        streams = [end if end != -1 else number for number, end in enumerate((ends[0], ends[3], ends[5]))]
        files = [each for each in passed if each != status]
        order = _Order(
            arguments=told,
            folder=place,
            environment=environment,
            files=[0, 1, 2, *files],
            new_session=new_session,
            group=group,
        )
        with self._turn:
            connection = self._connect()
            socket.send_fds(connection, [pickle.dumps(astuple(order))], [*streams, *files])
            return int(connection.recv(_ROOM))


def _read_at_start(environment: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    names = tuple(name.encode() for name in _READ_AT_START)
    return {name: value for name, value in environment.items() if name.startswith(names)}


def _is_known(arguments: Sequence[str]) -> bool:
    if arguments[0] != sys.executable or arguments[1] == __file__:
        return False
    if arguments[1] == "-m":
        return arguments[2].partition(".")[0] in _PACKAGES
    return arguments[1].startswith(_SCRIPTS) or arguments[-1].startswith(_FORK_SERVER)


def _start_by(fork_exec: Callable[..., int]) -> None:
    _posixsubprocess.fork_exec = fork_exec
    subprocess._fork_exec = fork_exec  # type: ignore[attr-defined]  # private


@contextmanager
def started() -> Iterator[None]:
    """While the block runs, commands that this process starts are imported already from the first one on."""
    if not FORKS:
        yield
        return
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    running: list[subprocess.Popen[bytes]] = []

    def connect() -> socket.socket:
        if not running:
            command = [sys.executable, __file__, str(theirs.fileno()), " " * _ROOM]
            running.append(subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, cwd="/"))
            theirs.close()
        return ours

    _start_by(_Forks(connect).fork_exec)
    try:
        yield
    finally:
        _start_by(_new_interpreter)
        ours.close()
        theirs.close()
        for process in running:
            process.wait()


def _serve(connection: socket.socket) -> NoReturn:
    """Fork until the other end is closed; each fork runs what it is told, beside one that forks for it."""
    while True:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        order = _fork_orders(connection)
        _become(order)
        if order.arguments[-1].startswith(_FORK_SERVER):
            _end_after(order.arguments)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        if os.fork():
            theirs.close()
            _start_by(_Forks(lambda: ours).fork_exec)  # noqa: B023  # the process that returns binds another
            _end_after(order.arguments)
        ours.detach()
        nothing = os.open(os.devnull, os.O_RDWR)
        _place([nothing, nothing, nothing, theirs.detach()], [0, 1, 2, 3])
        connection = socket.socket(fileno=3)
        os.chdir("/")
        _show([sys.executable, __file__])


def _fork_orders(connection: socket.socket) -> _Order:
    """Fork until the other end is closed; returns in each new process, with what it is to be."""
    while True:
        message, files, _, _ = socket.recv_fds(connection, _MESSAGE, _MOST_FILES)
        if not message:
            os._exit(0)
        process = _fork_sibling()
        if process == 0:
            names = _Order.__dataclass_fields__
            order = _Order(**dict(zip(names, pickle.loads(message), strict=True)))
            connection.detach()
            _place(files, order.files)
            return order
        for file in files:
            os.close(file)
        connection.send(str(process).encode())


def _fork_sibling() -> int:
    """`os.fork`, but the new process is a child of this one's parent."""
    python, system = ctypes.pythonapi, ctypes.PyDLL(None)
    python.PyOS_BeforeFork()
    process = int(system.syscall(_CLONE, ctypes.c_long(_CLONE_PARENT | signal.SIGCHLD), 0, 0, 0, 0))
    (python.PyOS_AfterFork_Parent if process else python.PyOS_AfterFork_Child)()
    return process


def _place(files: Sequence[int], numbers: Sequence[int]) -> None:
    """Give the files these numbers, and close all others."""
    moved = [fcntl.fcntl(file, fcntl.F_DUPFD, max(numbers) + 1) for file in files]
    for file, number in zip(moved, numbers, strict=True):
        os.dup2(file, number)
    for number in {int(name) for name in os.listdir("/proc/self/fd")} - set(numbers):
        with suppress(OSError):  # the folder itself, which is closed by now
            os.close(number)


def _become(order: _Order) -> None:
    """Take over what the order says, and forget what was read from the environment before."""
    if order.new_session:
        os.setsid()
    elif order.group != -1:
        os.setpgid(0, order.group)
    os.chdir(order.folder)
    for name in os.environb.keys() - order.environment.keys():
        del os.environb[name]
    os.environb.update(order.environment)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    tempfile.tempdir = None
    values = importlib.import_module("prometheus_client.values")
    values.ValueClass = values.get_value_class()
    _show(order.arguments)
    encoding, errors = sys.stdout.encoding, sys.stdout.errors
    sys.stdin = sys.__stdin__ = open(0, encoding=encoding, errors=errors, closefd=False)  # noqa: SIM115
    sys.stdout = sys.__stdout__ = _output(1, encoding, errors)
    sys.stderr = sys.__stderr__ = _output(2, encoding, "backslashreplace")


def _show(arguments: Sequence[str]) -> None:
    """Have /proc/PID/cmdline say these arguments."""
    with open("/proc/self/stat") as status:
        fields = status.read().rpartition(")")[2].split()
    start, end = int(fields[45]), int(fields[46])
    shown = "\0".join(arguments).encode()[: end - start - 1]
    ctypes.memmove(start, shown.ljust(end - start, b"\0"), end - start)


def _output(number: int, encoding: str, errors: str | None) -> Any:
    unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))
    lines = number == 2 or os.isatty(number)
    binary = open(number, "wb", 0 if unbuffered else -1, closefd=False)  # noqa: SIM115
    return io.TextIOWrapper(binary, encoding, errors, line_buffering=lines, write_through=unbuffered)


def _end_after(arguments: Sequence[str]) -> NoReturn:
    """Run what the arguments of an interpreter say, and end as it does."""
    code: Any = None
    try:
        _run(arguments)
    except SystemExit as end:
        code = end.code
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        code = -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    if not isinstance(code, int | None):
        print(code, file=sys.stderr)
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]  # private
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
    except OSError:
        code = 120
    if code == -signal.SIGINT:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit((code or 0) & 0xFF)


def _run(arguments: Sequence[str]) -> None:
    if arguments[1] == "-m":
        sys.argv, sys.path[0] = ["-m", *arguments[3:]], os.getcwd()
        runpy.run_module(arguments[2], run_name="__main__", alter_sys=True)
    elif arguments[1].startswith(_SCRIPTS):
        sys.argv, sys.path[0] = list(arguments[1:]), os.path.dirname(arguments[1])
        runpy.run_path(arguments[1], run_name="__main__")
    else:
        sys.argv, sys.path[0] = ["-c"], ""
        sys.modules["__main__"] = types.ModuleType("__main__")
        exec(arguments[-1], vars(sys.modules["__main__"]))


if __name__ == "__main__":
    from sordino_server.serving.app import PRELOADED

    for module in (*_IMPORTED, *PRELOADED):
        importlib.import_module(module)
    importlib.import_module("sordino_server.serving.api").all_routes(with_console=True)
    gc.collect()
    gc.freeze()
    _serve(socket.socket(fileno=int(sys.argv[1])))
