"""The page's recheck of variances, ε and every kind of bound runs as it is printed, on plans of its own commands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from sordino_analysis.documents.certificate import Bound
from sordino_server.cli import app

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "certificates.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the plans that the page's commands make."""
    folder = tmp_path_factory.mktemp("plans")
    (folder / "parities.yaml").write_text(blocks("yaml")[0], encoding="utf-8")
    for name, text in zip(
        ("thresholds.json", "triples.json", "pairs_of_bits.json", "costs.json", "stack.json", "sizes.json"),
        blocks("json"),
        strict=True,
    ):
        (folder / name).write_text(text, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for line in blocks("sh")[0].splitlines():
            done = CliRunner().invoke(app, shlex.split(line)[1:])
            assert done.exit_code == 0, done.output
    return folder


@pytest.fixture
def run_page(plans: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs the page's code in that folder; `claimed` changes the parts of plans that it reads."""

    def run(claimed: Any = lambda *parts: parts) -> None:
        monkeypatch.chdir(plans)
        names: dict[str, Any] = {}
        reading, *rechecks = blocks("python")
        exec(reading, names)
        read = names["parts"]
        names["parts"] = lambda name: claimed(*read(name))
        for code in rechecks:
            exec(code, names)

    return run


def test_everything_that_the_page_asserts_holds(run_page: Any) -> None:
    run_page()


@pytest.mark.parametrize("kind", [kind.kind for kind in Bound.__args__])
def test_a_bound_that_claims_more_fails_and_every_kind_is_on_the_page(run_page: Any, kind: str) -> None:
    def raised(device: Any, analyst: Any) -> Any:
        certificate = {
            objective: bound | ({"value": bound["value"] * 1.001} if bound["kind"] == kind else {})
            for objective, bound in analyst["certificate"].items()
        }
        return device, analyst | {"certificate": certificate}

    with pytest.raises(AssertionError):
        run_page(raised)


@pytest.mark.parametrize("figure", ["max_variance", "mean_variance"])
def test_a_variance_that_is_claimed_too_small_fails(run_page: Any, figure: str) -> None:
    def lowered(device: Any, analyst: Any) -> Any:
        return device, analyst | {"figures": analyst["figures"] | {figure: analyst["figures"][figure] * 0.999}}

    with pytest.raises(AssertionError):
        run_page(lowered)


def test_a_kernel_that_spends_more_than_it_claims_fails(run_page: Any) -> None:
    def spends_more(device: Any, analyst: Any) -> Any:
        randomizer = device["randomizer"]
        rows, high = randomizer["rows"], np.frombuffer(randomizer["rows"]["high"]["data"], "<u8").copy()
        high[0] += high[0] // 10**6
        changed = rows | {"high": rows["high"] | {"data": high.tobytes()}}
        return device | {"randomizer": randomizer | {"rows": changed}}, analyst

    with pytest.raises(AssertionError):
        run_page(spends_more)


def test_the_words_are_exact() -> None:
    text = " ".join(PAGE.split())
    assert "unbiased, one-round, non-adaptive mechanisms whose estimator is a sum over users" in text
