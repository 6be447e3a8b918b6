"""Users of whole numbers."""

from __future__ import annotations

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.questions.linear.operators import Indices


def whole_users(shares: Floats, users: int) -> Indices:
    """How many of the users are of each class: rounded down, the rest to the largest remainders.

    `shares` (m,), not negative → (m,) integers that sum to `users`.
    """
    wanted = users * shares / shares.sum()
    whole = np.floor(wanted).astype(np.intp)
    left = users - int(whole.sum())
    whole[np.argsort(whole - wanted, kind="stable")[:left]] += 1
    return np.asarray(whole)
