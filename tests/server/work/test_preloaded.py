"""A process that is forked for work has imported nearly all that the work needs.

New interpreters run the code here: the commands and fork servers that tests start otherwise have imported more than
those of a server.
"""

from __future__ import annotations

import json
import subprocess
import sys

DOMAIN = [{"name": "v", "kind": "categorical", "labels": ["a", "b"]}]
HISTOGRAM = {"name": "h", "domain": DOMAIN, "queries": "histogram"}
STATISTIC = {"name": "s", "domain": DOMAIN, "statistic": {"kind": "gini_diversity"}}
ORDERS = [(HISTOGRAM, {"epsilon": "1"}), (STATISTIC, {"epsilon": "1", "users": 1000})]
# What a plan needs of its own choice, such as the estimator of its randomizer; 5 when this was written. A planner that
# is not preloaded takes 500, the estimators 300.
FEW = 12

SERVER = """
import asyncio, json, sys
from sordino_server.plans.schemas import PlanOrder
from sordino_server.serving.app import PRELOADED
from sordino_server.work.fork_server import preload
from sordino_server.work.work_queue import ANSWERS, CHECKS, WorkQueue
from tests.server.work.imports_counted import imported

async def count(orders):
    preload(PRELOADED)
    checks, answers, found = WorkQueue(CHECKS), WorkQueue(ANSWERS), {}
    for question, options in orders:
        kind = question["name"]
        body = json.dumps(question).encode()
        found[kind + " checked"], checked = await checks.run(
            imported, "sordino_server.workloads.checking:check_workload", body
        )
        order = PlanOrder(workload=checked.id, **options)
        found[kind + " ordered"], _ = await checks.run(
            imported, "sordino_server.plans.checking:content_key", order, checked.specification, checked.queries
        )
    for module in ("releases.checking", "datasets.checking"):
        found[module], _ = await checks.run(imported, "sordino_server." + module)
    for module in ("answers.on_demand_computing", "answers.series_computing", "plans.checking"):
        found[module], _ = await answers.run(imported, "sordino_server." + module)
    for module in ("planning.shuffling", "price_of_locality", "curator.counts", "curator.plan"):
        found[module], _ = await checks.run(imported, "sordino_analysis." + module)
    answers.close()
    print(json.dumps(found))

asyncio.run(count(json.loads(sys.argv[1])))
"""
WORKER = """
import json, sys
from sordino_analysis.planning_options import PlanError, PlanningOptions
from sordino_server.jobs.planning_process import PlanningProcess
from tests.server.work.imports_counted import Refusing

found = {}
for question, options in json.loads(sys.argv[1]):
    request = Refusing(json.dumps(question), PlanningOptions.of(**options, effort="quick"))
    try:
        PlanningProcess(memory_mb=2048, time_limit_s=60).compute(request, lambda progress: None)
    except PlanError as error:
        found[question["name"] + " planned"] = json.loads(str(error))
print(json.dumps(found))
"""


def found_by(code: str) -> dict[str, list[str]]:
    """Imported modules by the work that a new interpreter has done in forks."""
    done = subprocess.run([sys.executable, "-c", code, json.dumps(ORDERS)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


def test_a_fork_of_the_server_checks_and_answers_without_imports() -> None:
    found = found_by(SERVER)
    assert len(found) == 13
    assert {work: modules for work, modules in found.items() if modules} == {}


def test_a_fork_of_the_worker_imports_little_for_a_plan() -> None:
    found = found_by(WORKER)
    assert len(found) == 2
    assert max(len(modules) for modules in found.values()) <= FEW, found
