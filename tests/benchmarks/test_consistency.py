"""The consistency benchmark counts what is worse, and on its data nothing is."""

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from benchmarks.consistency import measure
from benchmarks.consistency.populations import populations
from sordino_analysis.request_terms import Effort

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("population", populations(8), ids=lambda population: population.name)
def test_consistent_answers_are_never_worse_with_few_or_many_users(population, monkeypatch):
    monkeypatch.setattr(measure, "_REPORTS", 100_000)
    for row in measure.errors([population], [100, 10_000], 1.0, Effort.QUICK):
        assert row.worse == 0
        assert row.ratio <= 1
        assert np.isfinite(row.unbiased)


def test_campaigns_that_consistency_made_worse_are_counted(monkeypatch):
    monkeypatch.setattr(measure, "_squared_errors", lambda population, plan, users, seed: (1.0, 0.9 + 0.2 * (seed % 2)))
    (row,) = measure.errors(populations(8)[:1], [100], 1.0, Effort.QUICK)
    assert row.worse == row.campaigns // 2
    assert row.ratio == pytest.approx(1.0)


def test_users_are_drawn_from_the_domain_they_are_asked_about():
    for population in populations(8):
        cells = population.draw(500, 1)
        assert cells.shape == (500,)
        assert 0 <= cells.min() <= cells.max() < population.workload.size
        np.testing.assert_array_equal(cells, population.draw(500, 1))


@pytest.mark.slow
def test_it_prints_and_draws_a_line_for_each_population(tmp_path):
    command = [sys.executable, "-m", "benchmarks.consistency", "--quick", "--json", "--chart", str(tmp_path / "c.svg")]
    rows = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
    drawn = ElementTree.parse(tmp_path / "c.svg").getroot()
    lines = [element for element in drawn.iter() if element.tag.endswith("polyline")]
    assert len(lines) == len({row["population"] for row in rows})
