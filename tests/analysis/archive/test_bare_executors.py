"""Machines that only add up: they have numpy, and for parts pyarrow, and nothing else of the server's."""

from __future__ import annotations

import hashlib
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np

from sordino_analysis.evaluation.accumulate import accumulate
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from tests.randomizers import SAMPLES

THERE = ("numpy", "sordino_shared", "sordino_analysis")
ADD_UP = f"""
import hashlib, pickle, sys

class NothingElse:
    def find_spec(self, name, path=None, target=None):
        root = name.partition(".")[0]
        if root not in {THERE} and root not in sys.stdlib_module_names:
            raise ModuleNotFoundError(f"there is no {{name}} here")

sys.meta_path.insert(0, NothingElse())
from sordino_analysis.evaluation.accumulate import accumulate
import sordino_analysis.archive.spark
for randomizer, payloads in pickle.load(open(sys.argv[1], "rb")):
    print(hashlib.sha256(accumulate(randomizer, payloads).tobytes()).hexdigest())
"""


def test_every_randomizer_is_added_up_with_numpy_alone(tmp_path: Path) -> None:
    reports = []
    for randomizer in (sample.randomizer for samples in SAMPLES.values() for sample in samples.values()):
        cells = np.arange(50) % randomizer.size
        reports.append((randomizer, randomize_many(randomizer, cells, SeededRandomness(1))))
    (tmp_path / "reports").write_bytes(pickle.dumps(reports))
    done = subprocess.run(
        [sys.executable, "-c", ADD_UP, tmp_path / "reports"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    expected = [hashlib.sha256(accumulate(*each).tobytes()).hexdigest() for each in reports]
    assert done.stdout.split() == expected
