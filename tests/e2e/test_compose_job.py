"""The optional job that runs the quickstart in a container engine: what it takes from the page, without an engine."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

from tests.e2e.compose import ROOT
from tests.patience import PATIENCE_S

JOB = ROOT / ".ci" / "compose"
PAGE = (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")
COMPOSE = (ROOT / "docs" / "compose.md").read_text(encoding="utf-8")
OPERATIONS = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def job() -> ModuleType:
    """The job's functions; the file has no ending."""
    spec = spec_from_loader("compose_job", SourceFileLoader("compose_job", str(JOB)))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_s_blocks_are_one_program_in_the_page_s_order(job: ModuleType) -> None:
    program = job.script(PAGE, COMPOSE, OPERATIONS)
    subprocess.run(["bash", "-n"], input=program, text=True, check=True)
    wanted = (
        "docker compose up --build --detach --wait",
        "export SORDINO_KEY=$(sordino keys create",
        "sordino populations create passengers",
        "sordino campaigns create --name delays",
        "client.answer(campaign",
        "sordino campaigns close delays",
        "sordino campaigns watch delays",
        "sordino campaigns estimates delays",
        "FIRST ESTIMATE",
        "/rounds/0/estimates?format=csv",
        "sordino audit delays",
        "sordino db backup /backups/monday.sqlite3",
        "dropdb --username sordino --force sordino",
        "sordino db restore monday.sqlite3",
        'campaigns estimates delays)" = "$(cat before)"',
    )
    places = [program.index(text) for text in wanted]
    assert places == sorted(places)
    assert "openssl" not in program
    assert program.count("sordino populations create") == 1
    assert "<id" not in program


def test_a_block_that_the_page_lost_is_missed(job: ModuleType) -> None:
    with pytest.raises(ValueError, match="unpack"):
        job.script(PAGE.replace("sordino campaigns close", "sordino campaigns end"), COMPOSE, OPERATIONS)


@pytest.mark.parametrize(("wanted", "code"), [("", 0), ("required", 1)])
def test_without_an_engine_it_says_so(tmp_path: Path, wanted: str, code: int) -> None:
    (tmp_path / "docker").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "docker").chmod(0o755)
    environment = os.environ | {"PATH": str(tmp_path), "ENGINE": wanted}
    done = subprocess.run(
        [sys.executable, str(JOB)], env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert (done.returncode, done.stdout) == (code, "NO CONTAINER ENGINE: nothing was built or run\n")


def test_the_gate_does_not_need_it() -> None:
    assert "compose" not in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
