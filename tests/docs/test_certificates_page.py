"""The page's recheck of every kind of bound runs as it is printed, on plans made by its own commands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sordino_server.cli import app
from sordino_shared.protocol.plans import Bound

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "certificates.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the plans that the page's commands make."""
    folder = tmp_path_factory.mktemp("plans")
    (folder / "parities.yaml").write_text(blocks("yaml")[0], encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for line in blocks("sh")[0].splitlines():
            done = CliRunner().invoke(app, shlex.split(line)[1:])
            assert done.exit_code == 0, done.output
    return folder


@pytest.fixture
def run_page(plans: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs the page's code in that folder; `claimed` changes what the plans say."""

    def run(claimed: Any = lambda certificate: certificate) -> None:
        monkeypatch.chdir(plans)
        names: dict[str, Any] = {}
        reading, *rechecks = blocks("python")
        exec(reading, names)
        read = names["published"]
        names["published"] = lambda name: (read(name)[0], claimed(read(name)[1]))
        for code in rechecks:
            exec(code, names)

    return run


def test_every_bound_of_the_page_is_what_its_weights_prove(run_page: Any) -> None:
    run_page()


@pytest.mark.parametrize("kind", [kind.kind for kind in Bound.__args__])
def test_a_bound_that_claims_more_fails_and_every_kind_is_on_the_page(run_page: Any, kind: str) -> None:
    def raised(certificate: Any) -> Any:
        return {
            objective: bound | ({"value": bound["value"] * 1.001} if bound["kind"] == kind else {})
            for objective, bound in certificate.items()
        }

    with pytest.raises(AssertionError):
        run_page(raised)


def test_the_words_are_exact() -> None:
    text = " ".join(PAGE.split())
    assert "unbiased, one-round, non-adaptive mechanisms whose estimator is a sum over users" in text
