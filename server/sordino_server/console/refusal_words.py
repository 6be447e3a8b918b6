"""Why reports were refused, in words: by the reason that the server counts them under."""

from __future__ import annotations

from collections.abc import Mapping

from sordino_analysis.percentages import percent
from sordino_shared.protocol import Problem, Refusal
from sordino_shared.quantities import quantity

# What follows "because".
REASONS: Mapping[str, str] = {
    Refusal.ID_CONFLICT: "a device sent another answer under the number of one that counts",
    Refusal.OUTSIDE_ALPHABET: "they are none that a device of this question can send",
    Refusal.WRONG_EPOCH: "they are of another period",
    Refusal.ROUND_FULL: "as many as were wanted had come",
    Refusal.TOKEN_INVALID: "their token is not valid",
    Refusal.TOKEN_SPENT: "their token was spent before",
    Problem.ROUND_NOT_OPEN.slug: "the question took no answers then",
    Problem.PLAN_MISMATCH.slug: "they were made for another round",
    Problem.UNAUTHORIZED.slug: "the upload token was missing or wrong",
    Problem.FORBIDDEN.slug: "the key may not send them",
    Problem.MALFORMED_BODY.slug: "they could not be read",
    Problem.INVALID_REQUEST.slug: "they do not fit the question",
    Problem.WRONG_ROUTE.slug: "they came by another way than the shuffler",
    Problem.TOO_LARGE.slug: "they were too large",
    "late": "they came after their period was over",
    "early": "they came before their period began",
    "paused": "the question was paused",
    "unopenable": "they could not be opened when the batch came",
}


def reason(slug: str) -> str:
    """What follows "because"; of a reason without words its name."""
    return REASONS.get(slug, f"of {slug}")


def refused_sentence(refusals: Mapping[str, int], counted: int) -> str:
    """How many reports were refused, of how many, and why most of them were."""
    refused = sum(refusals.values())
    if not refused:
        return "No report was refused."
    most = max(refusals, key=lambda slug: refusals[slug])
    which = "all" if refusals[most] == refused else f"{refusals[most]:,} of them"
    which = "" if refused == 1 else f" {which}"
    verb = "was" if refused == 1 else "were"
    return f"{refused:,} of {quantity(counted + refused, 'report')} {verb} refused,{which} because {reason(most)}."


def refused_share(refusals: Mapping[str, int], counted: int) -> str:
    """Of all that came, such as "0.5 % of all that came"."""
    refused = sum(refusals.values())
    return f"{percent(refused / (counted + refused), 1)} of all that came" if refused else "nothing was lost"
