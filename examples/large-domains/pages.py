"""How often is each of three pages slow, if 200,000 devices report a URL that nobody has listed?"""

from pathlib import Path

import numpy as np

import sordino_analysis as sa
from sordino_analysis.vectorized.domains import codes_many
from sordino_analysis.vectorized.randomizers import randomize_part
from sordino_analysis.vectorized.randomness import SeededRandomness

# %% The plan, whose salt is drawn: another run prints other answers.
plan = sa.plan(sa.workload(Path(__file__).with_name("pages.yaml")), epsilon=1, objective="mean")
print(f"{plan.mechanism}: variance {plan.variance:.3f}, bound {plan.bound:.3f}")
print(f"bytes of a report: {plan.device.randomizer.payload_bytes}")

# %% What 200,000 devices send. Half a million pages exist; page 1 is the most frequent.
ranks = np.random.default_rng(1).zipf(1.3, 200_000) % 500_000
urls = [f"https://example.org/{rank}" for rank in ranks.tolist()]
reports = randomize_part(plan.device, codes_many(plan.domain, urls), SeededRandomness(1))

# %% Shares of pages that somebody names, from the log of reports.
named = [f"https://example.org/{page}" for page in (1, 2, 10)]
found = sa.items(plan, reports, named)
print(found)
truth = [urls.count(url) / len(urls) for url in named]
print("truth:", ", ".join(f"{share:.2%}" for share in truth))
