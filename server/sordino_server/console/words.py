"""What the words of the console mean: tooltips of pages, and the page of all of them."""

from __future__ import annotations

from collections.abc import Mapping

# The word as pages have it, and what it means in one sentence.
WORDS: Mapping[str, str] = {
    "question": "What is asked of devices, once or again and again. The API calls it a campaign.",
    "device": "One app that answers at most once a round.",
    "share": "The part of the devices for which something is true.",
    "step": "A stretch of values that is counted together.",
    "±": "In 19 of 20 such results all true values lie that close, so you may pick any of them afterwards.",
    "band": "In 19 of 20 such results all true values lie inside, so you may pick any of them afterwards.",
    "best value": "The usual nearest guess among the values that are possible.",
    "cannot be told": "The noise is larger than what you look for.",
    "privacy ε": "How much the answers of one device can say about its owner; smaller is more private.",
    "privacy spent": "The sum of ε that one device can have told: in the period, and for life.",
    "price": "What each device spends, and what its answer can say about its owner.",
    "privacy left": "The sum of ε that one device may still tell before the limit.",
    "limit": "What nobody can exceed: the server refuses, and so does each device.",
    "wanted": "So many devices, after which the question closes by itself.",
    "expected error": "Known before anybody is asked.",
    "method": "How devices add noise; chosen for this question.",
    "best possible": "No method of this kind can be more precise.",
    "fake reports": "What a share of dishonest devices can move at most.",
    "who is asked": "The population: the devices of one app.",
    "proof": "What each device checks before it answers.",
}

# What the API, the command line and the plans call it, and what pages say.
INSTEAD_OF: Mapping[str, str] = {
    "campaign": "question",
    "workload": "question",
    "bin": "step",
    "cell": "step",
    "prefix": "step",
    "user": "device",
    "cap": "limit",
    "ledger": "privacy spent",
    "population": "who is asked",
    "mechanism": "method",
    "kernel": "method",
    "lower bound": "best possible",
    "manipulation": "fake reports",
    "half width": "±",
    "manifest": "proof",
    "device part": "proof",
}


def meaning(word: str) -> str:
    """The sentence of a word; raises KeyError for one that is not in the list."""
    return WORDS[word]
