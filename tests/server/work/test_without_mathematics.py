"""A server whose image has no solvers, in an interpreter of its own that cannot import them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.patience import PATIENCE_S

# Where it is in the path, importing them fails as where they are not installed.
MISSING = "raise ModuleNotFoundError(f'No module named {__name__!r}', name=__name__)\n"
SERVER = """
import asyncio, json
from sordino_server.errors import ServerError
from sordino_server.plans.checking import content_key
from sordino_server.plans.schemas import PlanOrder
from sordino_server.work.work_queue import CHECKS, WorkQueue
from sordino_server.workloads.checking import check_workload

async def ask():
    work = WorkQueue(CHECKS)
    try:
        checked = await work.run(check_workload, BODY)
        order = PlanOrder(workload=checked.id, epsilon="1")
        await work.run(content_key, order, checked.specification, checked.queries)
        return "ordered"
    except ServerError as error:
        return [error.problem.status, error.detail]
    finally:
        work.close()

if __name__ == "__main__":
    print(json.dumps(asyncio.run(ask())))
"""
BODY = json.dumps(
    {"name": "h", "domain": [{"name": "v", "kind": "categorical", "labels": ["a", "b"]}], "queries": "histogram"}
)


def answer(path: str) -> object:
    """What a server says to the order of a plan, with these folders first in its path."""
    done = subprocess.run(
        [sys.executable, "-c", SERVER.replace("BODY", repr(BODY.encode()))],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_what_needs_them_is_told_to_go_elsewhere(tmp_path: Path) -> None:
    root = str(Path(__file__).parents[3])
    assert answer(root) == "ordered"
    for name in ("scipy", "clarabel"):
        (tmp_path / f"{name}.py").write_text(MISSING)
    said = answer(f"{tmp_path}{os.pathsep}{root}")
    assert isinstance(said, list)
    assert said[0] == 503
    assert "send the request to one that has them" in said[1]
