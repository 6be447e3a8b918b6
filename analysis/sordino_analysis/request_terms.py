"""Terms of a plan request that every storey and the server's API share; they import nothing else of this package."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

# The variance that is minimised: of the worst query, or the mean over all queries.
Objective = Literal["max", "mean"]

# Of a pairwise statistic: the mean over pairs of different users, or the quadratic form of their histogram.
Target = Literal["pairs", "histogram"]

# Why a search ended before it was satisfied.
CutShort = Literal["time limit", "interrupted"]


class Effort(StrEnum):
    """How long the search may take before it is satisfied."""

    QUICK = "quick"
    STANDARD = "standard"
    THOROUGH = "thorough"


# Which data sets of a trusted curator differ in one person: by what the person holds, or by whether they are in it.
Neighbours = Literal["replace", "add-remove"]

# Questions of one kind that are answered at a time, and characters of one: together below the 64 KiB of a URL beyond
# which uvicorn takes no request.
MOST_QUESTIONS = 16
# Characters of a question: a line of a table.
LONGEST_QUESTION = 900

# Of a comparison or an experiment: what a band of a million answers leaves to each is then still seen in doubles.
MOST_LEVEL = 1 - 1e-9
