"""What the processes import that check, answer and search for this server, before the first of them starts."""

from __future__ import annotations

# Importing them takes half a second each time otherwise. The planner is named by its requests, since
# `sordino_analysis.requests` imports them when they are asked for.
PRELOADED = (
    "sordino_server.workloads.checking",
    "sordino_server.plans.checking",
    "sordino_server.releases.checking",
    "sordino_server.datasets.checking",
    "sordino_server.answers.on_demand_computing",
    "sordino_server.answers.series_computing",
    "sordino_server.plans.checking",
    "sordino_analysis.planning.linear_request",
    "sordino_analysis.pairwise.pairwise_request",
    "sordino_analysis.price_of_locality",
    "sordino_analysis.curator.plan",
    # Reads the version of a distribution, which the key of a plan has.
    "email.parser",
)
