"""What `demo` and `simulate` print of a plan."""

from __future__ import annotations

from sordino_server.cli.simulation.summary import variance_against_bound


def test_a_biased_answer_is_not_compared_with_the_bound_of_unbiased_ones() -> None:
    unbiased = {"max_variance": 3.352, "lower_bound_max": 3.351, "ratio_max": 1.0003, "bias_bound": 1e-15}
    assert variance_against_bound(unbiased) == "variance 3.352, 1.000× lower bound"
    biased = unbiased | {"max_variance": 0.15, "ratio_max": 0.045, "bias_bound": 0.42}
    assert (
        variance_against_bound(biased)
        == "variance 0.15 and a bias; the lower bound, 3.351, is for answers without bias"
    )
    none = unbiased | {"lower_bound_max": 0.0, "ratio_max": None}
    assert variance_against_bound(none) == "no lower bound above 0 at this ε"
