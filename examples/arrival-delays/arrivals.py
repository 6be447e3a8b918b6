"""How late do flights arrive? A plan, its errors, and a simulated campaign, from a CSV file. `# %%` begins a cell."""

# %% The question: the cumulative distribution of a delay, cut at six edges in minutes
from pathlib import Path

import numpy as np

import sordino_analysis as sa

delays = sa.prefix([-15, 0, 15, 30, 60, 120], name="arrival_delay", unit="min")
print(delays)

# %% The plan: the mechanism with the least exact variance at ε = 1, and a bound that no mechanism of its class can beat
plan = sa.plan(delays, epsilon=1)
print(plan)

# %% How many users are needed, and what more users or another ε would give
print("users for an error of 1 point:", f"{plan.users_needed(error=0.01):,}")
for users in (2_000, 20_000, 200_000):
    print(f"{users:7,} users: error at most {100 * plan.errors(users).max():.2f} points")

# %% One simulated campaign: each row of the file is a user, whose value goes through the device's own randomizer
flights = Path(__file__).with_name("arrivals.csv")
values = sa.read_csv(flights, delays)
campaign = sa.simulate(plan, values, seed=2)
print(campaign)

# %% The same answers as arrays, for a chart or a table
estimate = campaign.estimate
print(np.column_stack([estimate.values, estimate.standard_errors]).round(4))

# %% The plan as bytes: what devices fetch, and what analysts decode with; a reader proves ε again
again = sa.read_plan(plan.device.content, plan.analyst.content)
print(all(check.holds for check in again.audit()), sa.estimate(again, campaign.aggregate).users)

# %% Another question of the same file: how likely do two flights belong to different carriers?
diversity = sa.pairwise_statistic(Path(__file__).parents[1] / "flights-gini" / "workload.yaml")
pairs = sa.plan_pairwise(diversity, epsilon=1, users=len(values), protocol="two_round")
print(sa.simulate_pairwise(pairs, sa.read_csv(flights, pairs), seed=2))
