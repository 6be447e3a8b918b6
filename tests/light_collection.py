"""What every worker does before its first test is done once, or not at all.

pytest rewrites the assertions of a file once and keeps the result. In a new clone all workers begin at the same moment
and each would rewrite all files, which takes 11 s of a processor. Here the process that starts them does so before,
and the workers read what it kept. They also pause Python's search for unreachable objects while they make ten
thousand tests, all of which stay.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Generator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace

import pytest
from _pytest.assertion.rewrite import PYC_TAIL, _read_pyc, _rewrite_test, _write_pyc, get_cache_dir, try_makedirs

TESTS = Path(__file__).parent
_FEW = 20


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Before xdist's hook of this name, which starts the workers."""
    config = session.config
    starts_workers = getattr(config.option, "tx", None) and not hasattr(config, "workerinput")
    if starts_workers and not sys.dont_write_bytecode:
        keep_rewritten(list(map(kept_file, TESTS.rglob("test_*.py"))), config)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Objects of the collection are never looked at again: neither here nor in the processes that fork from here."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def kept_file(source: Path) -> tuple[Path, Path]:
    """A file of tests, and where pytest keeps what it rewrote."""
    return source, get_cache_dir(source) / f"{source.stem}{PYC_TAIL}"


def keep_rewritten(files: list[tuple[Path, Path]], config: pytest.Config) -> None:
    """Rewrite the files of which nothing valid is kept, on all processors; a few are left to the workers."""
    stale = [(source, kept) for source, kept in files if _read_pyc(source, kept) is None]
    if len(stale) <= _FEW:
        return
    with ProcessPoolExecutor(
        os.cpu_count(), mp_context=get_context("fork"), initializer=_begin, initargs=(config,)
    ) as pool:
        list(pool.map(_keep, stale, chunksize=_FEW))


def _begin(config: pytest.Config) -> None:
    global _config
    _config = config


def _keep(file: tuple[Path, Path]) -> None:
    source, kept = file
    source_hash, code = _rewrite_test(source, _config)
    if try_makedirs(kept.parent):
        _write_pyc(SimpleNamespace(trace=lambda _: None), code, source_hash, kept)  # type: ignore[arg-type]


_config: pytest.Config
