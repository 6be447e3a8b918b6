"""Child processes forked from one process that has imported their modules, also where TMPDIR has a long name."""

from __future__ import annotations

import multiprocessing as mp
import os
import tempfile
from collections.abc import Sequence
from multiprocessing import forkserver, util
from multiprocessing.context import ForkServerContext

from sordino_shared.errors import SordinoError

# A Unix socket's path takes 107 bytes on Linux and 103 on macOS; multiprocessing adds
# "/pymp-" and 8 letters, "/listener-" and 8 letters.
_LONGEST_FOLDER = 103 - 32
_SHORT_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm")


class NoShortFolder(SordinoError):
    """No folder for temporary files has a name that is short enough for a socket in it."""

    def __init__(self, folder: str) -> None:
        super().__init__(
            f"TMPDIR is {folder}, {len(os.fsencode(folder))} bytes long, and processes are started through a socket "
            f"in it, whose path may have few bytes: set TMPDIR to a folder of at most {_LONGEST_FOLDER} bytes, or make "
            f"one of {', '.join(_SHORT_FOLDERS)} writable"
        )
        self.folder = folder


def preload(modules: Sequence[str]) -> None:
    """Let later processes be forks of one that has imported `modules`; raises `NoShortFolder`.

    That one starts with the first process, or with `start_importing`, and serves this whole process from then on.
    """
    fork_context().set_forkserver_preload(list(modules))


def start_importing() -> None:
    """Begin to import what is preloaded: it takes seconds, and the first work should not wait for it."""
    fork_context()
    forkserver.ensure_running()


def fork_context() -> ForkServerContext:
    """Starts processes as forks; raises `NoShortFolder`."""
    _choose_socket_folder()
    return mp.get_context("forkserver")


def _choose_socket_folder() -> None:
    """Where TMPDIR's name is too long, have multiprocessing make its folder, which it keeps, in a short one."""
    chosen = tempfile.gettempdir()
    if len(os.fsencode(chosen)) <= _LONGEST_FOLDER:
        return
    for folder in _SHORT_FOLDERS:
        tempfile.tempdir = folder
        try:
            util.get_temp_dir()
        except OSError:
            continue
        else:
            return
        finally:
            tempfile.tempdir = chosen
    raise NoShortFolder(chosen)
