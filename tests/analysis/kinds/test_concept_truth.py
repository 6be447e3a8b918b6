"""What is said of a chosen rule beside the truth."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sordino_analysis.kinds.comparison import JudgedEstimate
from sordino_analysis.kinds.concepts import ConceptExtras, ConceptsKind

TRUTH = {"late": 0.1, "early": 0.3, "never": 0.4, "always": 0.6}


def judged(rules: list[str], interval: tuple[float, float] | None = None, beats_base: bool = True) -> JudgedEstimate:
    named = [SimpleNamespace(text=rule) for rule in rules]
    extras = ConceptExtras.model_construct(
        rule=SimpleNamespace(text="early"),
        confidence_set=SimpleNamespace(rules=named, truncated=False),
        beats_base=beats_base,
        interval=interval,
    )
    estimate: Any = SimpleNamespace(extras=extras)
    compared: Any = SimpleNamespace(labels=tuple(TRUTH), truth=np.array(list(TRUTH.values())))
    return ConceptsKind().judged(estimate, compared)


@pytest.mark.parametrize(("rules", "holds"), [(["late", "early"], True), (["early"], False)])
def test_the_statement_is_compared_with_the_truth(rules: list[str], holds: bool) -> None:
    verdict = "agrees with the truth" if holds else "is WRONG"
    found = judged(rules)
    assert found.lines == [
        f"the statement {verdict}: the best rule is late, 10.00 %; the chosen one exceeds it by 20.00 %"
    ]
    assert found.fields["statement_holds"] is holds
    assert found.fields["excess"] == pytest.approx(0.2)


@pytest.mark.parametrize(("interval", "place"), [((0.3, 0.35), "inside"), ((0.31, 0.35), "outside")])
def test_the_true_loss_is_in_the_interval_or_not(interval: tuple[float, float], place: str) -> None:
    found = judged(["late"], interval)
    assert found.lines[-1] == f"the chosen rule's true loss, 30.00 %, is {place} its interval"
    assert found.fields["interval_holds"] is (place == "inside")
