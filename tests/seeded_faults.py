"""One fault for every promise of docs/guarantees.md, and the tests of `make test` that must fail with it.

`python -m tests.seeded_faults [PROMISE…]` copies the packages, changes one line of the copy and runs the tests on it;
first it runs them all on an unchanged copy, where they must pass.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

ROOT = Path(__file__).parents[1]
DISTRIBUTIONS = ("shared", "client", "shuffler", "analysis", "migrations", "server")
_ALL_PASSED, _SOME_FAILED = 0, 1


@dataclass(frozen=True)
class Fault:
    """`right` in `file`, which holds it once, becomes `wrong`; `tests` are node ids, at least one of which fails."""

    promise: str
    file: str
    right: str
    wrong: str
    tests: tuple[str, ...]

    def plant(self, folder: Path) -> None:
        """Change the copy of the packages in `folder`; raises `ValueError` where the line is not there once."""
        path = folder / self.file
        text = path.read_text(encoding="utf-8")
        if text.count(self.right) != 1:
            raise ValueError(f"{self.file} has {self.right!r} {text.count(self.right)} times, not once")
        path.write_text(text.replace(self.right, self.wrong), encoding="utf-8")


_STORE = "tests/contracts/test_store.py::TestSqliteStore::"
FAULTS = (
    Fault(
        "The guarantee itself",
        "shared/sordino_shared/randomizers/randomized_response.py",
        "beyond = randomness.bits(self.bits) - self.own_weight",
        "beyond = randomness.bits(self.bits) - self.own_weight - self.own_weight // 10",
        ("tests/shared/randomizers/test_laws.py::test_randomized_response_of_a_device_is_counted_out",),
    ),
    Fault(
        "1. 2xx means durable",
        "server/sordino_server/reports/writer.py",
        "_answer_all([(future, error) for _, future in group])",
        "_answer_all([(future, ReportOutcomes(request.count, 0, ())) for request, future in group])",
        (_STORE + "test_a_failed_transaction_fails_all_its_requests_and_counts_nothing",),
    ),
    Fault(
        "2. Exactly once",
        "server/sordino_server/reports/verdicts.py",
        "verdicts[index] = Verdict.REPLAYED if",
        "verdicts[index] = Verdict.ACCEPTED if",
        (
            _STORE + "test_the_same_bytes_are_acknowledged_and_not_counted_again",
            _STORE + "test_twenty_concurrent_uploads_of_one_report_count_once",
        ),
    ),
    Fault(
        "3. ε is spent once",
        "client/sordino_client/_ledger.py",
        "(bytes(session.campaign), index, proved.nano, now, terms.period_start)",
        "(bytes(session.campaign), index, proved.nano // 2, now, terms.period_start)",
        ("tests/client/test_ledger.py",),
    ),
    Fault(
        "4. The device does not trust the server",
        "shared/sordino_shared/audit.py",
        "if proved is None or proved.nano > part.guarantee.nano:",
        "if proved is None:",
        ("tests/client/test_session.py",),
    ),
    Fault(
        "5. Closing is atomic",
        "server/sordino_server/reports/ingest.py",
        "if row.state != RoundState.OPEN:",
        "if row.state not in (RoundState.OPEN, RoundState.CLOSED):",
        (
            _STORE + "test_a_report_is_in_the_aggregate_or_refused_as_late",
            _STORE + "test_a_round_that_is_not_open_takes_nothing",
        ),
    ),
    Fault(
        "6. No silent loss",
        "server/sordino_server/reports/ingest.py",
        "recorded.refusals[upload.campaign, error.counted_as] += upload.count",
        "recorded.refusals[upload.campaign, error.counted_as] += 1",
        (_STORE + "test_a_request_for_another_plan_is_refused_whole",),
    ),
    Fault(
        "7. A result never changes",
        "server/sordino_server/answers/stored.py",
        "        raise _not_ready(session, row, now)\n    check_not_cancelled(session, campaign)\n    return content",
        "        raise _not_ready(session, row, now)\n"
        "    import time\n    return content + b' ' * (time.time_ns() % 1009)",
        ("tests/server/estimates/test_endpoints.py::test_the_result_never_changes",),
    ),
    # One batch a round, with its blanket.
    Fault(
        "8. One batch a round, with its blanket",
        "shuffler/sordino_shuffler/mixing.py",
        "if released.root(row.campaign, row.number) is not None or received < floor:",
        "if received < floor:",
        ("tests/shuffler/test_mixing.py::test_a_folder_restored_to_before_it_mixed_sends_nothing",),
    ),
    # A batch without a blanket.
    Fault(
        "8. One batch a round, with its blanket",
        "shuffler/sordino_shuffler/rounds.py",
        "for _ in range(route.blanket)]\n",
        "for _ in range(route.blanket - 1)]\n",
        ("tests/shuffler/test_rounds.py::test_a_batch_holds_every_report_and_the_blanket",),
    ),
    # The random reports of every arm in the first one.
    Fault(
        "8. One batch a round, with its blanket",
        "shuffler/sordino_shuffler/rounds.py",
        "sealed_plaintext(arm, arms, payload + token)",
        "sealed_plaintext(0, arms, payload + token)",
        ("tests/shuffler/test_rounds.py::test_each_arm_has_a_blanket_of_its_own",),
    ),
    # An order that tells.
    Fault(
        "8. One batch a round, with its blanket",
        "shuffler/sordino_shuffler/store.py",
        "SELECT id, body FROM sealed WHERE round_id = ? AND id > ? ORDER BY id LIMIT ?",
        "SELECT id, body FROM sealed WHERE round_id = ? AND id > ? ORDER BY body LIMIT ?",
        ("tests/shuffler/test_mixing.py::test_a_batch_is_in_the_order_of_its_digests",),
    ),
    # A claim that nobody proves.
    Fault(
        "8. One batch a round, with its blanket",
        "shared/sordino_shared/shuffling/claims.py",
        "* WHOLE_ATTO <= claim.atto_delta:",
        "* WHOLE_ATTO <= 2 * claim.atto_delta:",
        (
            "tests/client/test_shuffled.py::test_a_claim_that_is_smaller_than_the_truth_is_refused",
            "tests/shuffler/test_app.py::test_a_claim_that_is_smaller_than_the_truth_is_served_by_nobody",
        ),
    ),
    # A way round the shuffler.
    Fault(
        "8. One batch a round, with its blanket",
        "shared/sordino_shared/protocol/campaigns.py",
        "return (self.route.shuffler,) if isinstance(self.route, ShuffledRoute) else self.servers",
        "return self.servers",
        ("tests/client/test_shuffled.py::test_there_is_no_way_round_the_shuffler",),
    ),
    Fault(
        "Fields of an estimate",
        "analysis/sordino_analysis/estimation/linear_estimate.py",
        "return np.sqrt(self.variances / self.users)",
        "return 0.99 * np.sqrt(self.variances / self.users)",
        (
            "tests/analysis/estimation/test_linear.py"
            "::test_expected_sums_give_the_true_answers_and_their_exact_standard_errors",
        ),
    ),
    Fault(
        "Fields of a plan",
        "analysis/sordino_analysis/evaluation/variance.py",
        "return answer_moments(device.randomizer, decoder, workload).type_variances()",
        "return 0.99 * answer_moments(device.randomizer, decoder, workload).type_variances()",
        ("tests/analysis/evaluation/test_variance.py::test_variances_of_a_plan",),
    ),
)


class Planted(Protocol):
    """A change of a copy of the packages."""

    def plant(self, folder: Path) -> None: ...


def run_tests(tests: tuple[str, ...], fault: Planted | None = None) -> subprocess.CompletedProcess[str]:
    """pytest on `tests` with a copy of the packages, changed by `fault`; slow tests stay out, as in `make test`."""
    with tempfile.TemporaryDirectory(prefix="seeded-fault-") as name:
        folder = Path(name)
        for distribution in DISTRIBUTIONS:
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / distribution, folder / distribution, ignore=ignored)
        if fault is not None:
            fault.plant(folder)
        packages = os.pathsep.join(str(folder / distribution) for distribution in DISTRIBUTIONS)
        command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", "-x", *tests]
        environment = os.environ | {"PYTHONPATH": packages, "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def is_caught(fault: Fault) -> bool:
    """Whether a test fails with the fault; a test that cannot run at all has not caught it."""
    done = run_tests(fault.tests, fault)
    if done.returncode not in (_ALL_PASSED, _SOME_FAILED):
        raise RuntimeError(f"the tests of {fault.promise!r} did not run: {done.stdout}{done.stderr}")
    return done.returncode == _SOME_FAILED


def all_tests() -> tuple[str, ...]:
    """The tests of all faults, each once."""
    return tuple(dict.fromkeys(test for fault in FAULTS for test in fault.tests))


def main(promises: list[str]) -> int:
    sound = run_tests(all_tests())
    if sound.returncode != _ALL_PASSED:
        print(sound.stdout, sound.stderr, "the tests fail without any fault", sep="\n", file=sys.stderr)
        return 1
    missed = 0
    for fault in FAULTS:
        if not promises or any(fault.promise.startswith(promise) for promise in promises):
            caught = is_caught(fault)
            missed += not caught
            print(f"{'caught' if caught else 'MISSED':8}{fault.promise:44}{fault.file}", flush=True)
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
