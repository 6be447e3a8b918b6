"""The notebooks of examples/ run from the first cell to the last, and their answers are those of the drawn users."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pandas")

EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


class Ran:
    """A notebook whose cells were run in one namespace; `shown` has what each cell shows below itself."""

    def __init__(self, path: Path) -> None:
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.shown: list[Any] = []
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        for number, cell in enumerate(cells):
            if cell["cell_type"] == "code":
                self._run("".join(cell["source"]), f"{path.name}, cell {number}")

    def _run(self, source: str, place: str) -> None:
        """As Jupyter does: the value of a last line that is an expression is shown."""
        tree = ast.parse(source, place)
        last = tree.body[-1]
        shown = None
        if isinstance(last, ast.Expr):
            tree.body.pop()
            shown = ast.Expression(last.value)
        exec(compile(tree, place, "exec"), self.names)
        if shown is not None:
            self.shown.append(eval(compile(shown, place, "eval"), self.names))


def ran(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Ran:
    """The notebook run in an empty folder."""
    monkeypatch.chdir(folder)
    return Ran(EXAMPLES / f"{name}.ipynb")


def test_every_notebook_is_run_below() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["ab-test", "web-performance"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_outputs(path: Path) -> None:
    """Version 4.5, each cell with an id: what Jupyter reads without a conversion, and no numbers of another machine."""
    stored = json.loads(path.read_text(encoding="utf-8"))
    assert (stored["nbformat"], stored["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in stored["cells"]]
    assert len(ids) == len(set(ids))
    for cell in stored["cells"]:
        assert cell["cell_type"] == "markdown" or (cell["outputs"], cell["execution_count"]) == ([], None)
    assert stored["cells"][0]["cell_type"] == "markdown"
    linked = [part.split(")")[0] for cell in stored["cells"] for part in "".join(cell["source"]).split("](")[1:]]
    assert all((EXAMPLES / link.partition("#")[0]).exists() for link in linked)


def test_web_performance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers within six standard errors of the drawn users: one false alarm in 5·10^8 for each."""
    names = (run := ran("web-performance", tmp_path, monkeypatch)).names
    visits, means = names["visits"], names["mean_table"]
    clipped = visits["load_ms"].clip(0, 10_000)
    true_means = [clipped.mean(), *clipped.groupby(visits["country"]).mean()]
    assert means["label"].tolist()[0] == "mean of load_ms"
    assert (abs(means["value"] - true_means) < 6 * means["standard_error"]).all()
    assert (means["standard_error"] < 300).all()
    medians, truth = names["medians"], visits.groupby("country")["load_ms"].median()
    assert (medians["lower"] <= truth.to_numpy()).all()
    assert (truth.to_numpy() <= medians["upper"]).all()
    assert medians["lower"][1] > medians["upper"][0]
    slow = names["slow"]
    true_slow = (visits["load_ms"] > 2000).groupby(visits["country"]).mean().to_numpy()
    assert (abs(slow["value"] - true_slow) < 6 * slow["standard_error"]).all()
    assert names["top"]["label"].tolist() == ["page: /", "page: /search", "page: /cart"]
    assert "<svg" in run.shown[-1]._repr_svg_()


def test_an_experiment_from_its_plan_to_its_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ran("ab-test", tmp_path, monkeypatch).names
    days, looks, without = names["days"], names["looks"], names["no_effect"]
    assert names["primary"] == "load_ms ≤ 1000 ms"
    assert 1.05 < names["users"] / names["one_look"] < 1.08
    # Nothing is there to be found, and the last day has spent all of the level.
    assert len(without) == days
    assert {each["comparisons"][0]["verdict"] for each in without} == {"undecided"}
    assert without[-1]["ended"]
    found = looks[-1]["comparisons"][0]
    assert found["verdict"] == "higher"
    assert len(looks) < days
    assert found["lower"] <= 0.02 <= found["upper"]
    assert f"day {len(looks)} of {days}: B is higher" in capsys.readouterr().out
