"""What the searches for pairwise protocols trade, quality against time, memory or bytes.

`python -m benchmarks.tuning pairwise` plans with each value at half, once and twice; see benchmarks/README.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sordino_analysis.request_terms import Effort


@dataclass(frozen=True, kw_only=True)
class FormKernelTuning:
    """The kernel of a quadratic form: `form_kernel.py`. Measured: `python -m benchmarks.tuning
    pairwise.form_kernel`."""

    steps: Mapping[Effort, int] = field(
        default_factory=lambda: {Effort.QUICK: 1, Effort.STANDARD: 2, Effort.THOROUGH: 4}
    )
    """Searches by effort, each at the weights that the last one found."""
    gap: float = 0.02
    """Of the factorization that starts the search: less takes longer and starts no better."""
    share_of_factorization: float = 0.1
    """Of a limited time. Plans without a time limit do not depend on it."""


@dataclass(frozen=True, kw_only=True)
class FormBoundsTuning:
    """The lower bounds of a protocol: `form_bounds.py`. Measured: `python -m benchmarks.tuning
    pairwise.form_bounds`."""

    most_types: int = 8
    """Types of the game of one round: 2^m rows are rechecked, and the program grows with them."""
    candidates: int = 10
    """Types that are compared for each next one, where there are more than these."""
    first_types: int = 6
    """Types that a population of any number of rounds is nearly all of: those whose pairs differ most."""
    expected_steps: float = 64.0
    """Draws of predicted variances, after which half of this part is done for people who wait."""
    least_inside: float = 2.0
    """Below this ε populations of one type prove as much as others."""
    inside: tuple[float, ...] = (0.5, 1.0, 2.0)
    """Shares of a second type, times e^−ε: the reports of so many users are as many as false ones."""
    most_inside: int = 6
    """Types with populations of two: their pairs make the program large."""
    margin: float = 0.05
    """How near to a multiple of its last digit a value may be, in units of it: other machines round sums otherwise."""
    nudge: float = 3e-9
    """By which share ν is raised where a value is nearer: a third of the last digit's unit, about."""
    most_nudges: int = 64
    """So often at most; one or two are enough."""


@dataclass(frozen=True, kw_only=True)
class OneRoundSplitTuning:
    """Vectors in two halves: `one_round_split.py`. Measured: `python -m benchmarks.tuning
    pairwise.one_round_split`."""

    gap: float = 0.01
    """Of the factorization: the variance is no more above the least."""
    reductions: tuple[float, ...] = (1.0, 0.5, 0.25, 0.125)
    """Shares of the rank to which a random projection reduces the vectors (Ghazi et al., Lemma 12): less noise and
    more of its own error."""


@dataclass(frozen=True, kw_only=True)
class BinsTuning:
    """The number of bins: `pairwise_request.py`. Measured: `python -m benchmarks.tuning pairwise.bins`."""

    share_of_time: float = 0.4
    """Of a limited time. Plans without a time limit do not depend on it."""


@dataclass(frozen=True, kw_only=True)
class ComparisonTuning:
    """The comparison of protocols: `protocol_planner.py`. Measured: `python -m benchmarks.tuning
    pairwise.comparison`."""

    tie: float = 0.01
    """Two protocols closer than this are as good as each other; the simpler one, with fewer rounds, is taken."""


@dataclass(frozen=True, kw_only=True)
class SampleSizeTuning:
    """The number of users for a margin: `pairwise_sample_size.py`. Measured: `python -m benchmarks.tuning
    pairwise.sample_size`."""

    first_users: int = 10_000
    """Users that the search starts with."""
    most_plans: int = 12
    """Plans that it makes at most."""
    settled: float = 0.02
    """A predicted error changes slowly with the number of users: the search ends at a number within so much of the
    last."""
    spare: float = 1.01
    """So many times the users needed are tried next, so that the last plan is on the right side of the margin."""


@dataclass(frozen=True, kw_only=True)
class SecondRoundTuning:
    """The kernels of a second round: `second_round.py`. Measured: `python -m benchmarks.tuning
    pairwise.second_round`."""

    share_of_search: float = 0.8
    """Of a limited time; the rest is for the second round's kernels, one for each reference, which take up to half
    a second. Plans without a time limit do not depend on it."""
    most_draws: int = 64
    """First rounds that are drawn for the variance at one histogram: its standard error is a hundredth, for four times
    as many half of it."""
    fewest_draws: int = 8
    """The same where there are many types."""
    types_drawn: int = 4096
    """The draws times the number of types: a kernel of a thousand types takes half a second."""


@dataclass(frozen=True, kw_only=True)
class ThreeRoundTuning:
    """The protocol of three rounds: `three_round_mechanism.py`. Measured: `python -m benchmarks.tuning
    pairwise.three_round`."""

    gap: float = 0.01
    """Of the factorization: the variance is no more above the least."""
    plays: int = 32
    """The first two rounds are played through so often for a prediction, which then scatters by 5 % or less."""


@dataclass(frozen=True, kw_only=True)
class TwoRoundTuning:
    """The protocols of two rounds: `two_round.py`, `two_round_shared.py`. Measured: `python -m benchmarks.tuning
    pairwise.two_round`."""

    shares: tuple[float, ...] = (0.35, 0.2, 0.5, 0.1, 0.65, 0.05)
    """Shares of the users that answer the first round, the nearest to the first guess first: they are tried while
    time is."""
    first_guess_share: float = 0.3
    """What the kernel of the first round is searched for, before the share is known."""
    first_guess_step: float = 0.7
    """The same for λ."""
    first_guess_shared: float = 0.7
    """The same where all users answer both rounds."""


FORM_KERNEL = FormKernelTuning()


@dataclass(frozen=True, kw_only=True)
class WorstKernelTuning:
    """The kernel for the worst population: `worst_kernel.py`. Measured: `python -m benchmarks.tuning
    pairwise.worst_kernel`."""

    most_types: int = 8
    """The program has a cone for each of 2^k rows and each population."""
    least_share: float = 1e-6
    """Rows with a smaller share, of the largest, are left out: the solver's zeros."""
    spare: float = 1e-7
    """Of each column at least, given to rows of single types, so that what was left out can be balanced."""
    rounds: int = 200
    """Steps of the weights of populations for a decoder."""
    least_weight: float = 1e-6
    """No weight falls below it, so that it can grow again."""
    ridge: float = 1e-6
    """Of the decoder's quadratic forms, so that each has an inverse."""


FORM_BOUNDS = FormBoundsTuning()
WORST_KERNEL = WorstKernelTuning()
ONE_ROUND_SPLIT = OneRoundSplitTuning()
BINS = BinsTuning()
COMPARISON = ComparisonTuning()
SAMPLE_SIZE = SampleSizeTuning()
SECOND_ROUND = SecondRoundTuning()
THREE_ROUND = ThreeRoundTuning()
TWO_ROUND = TwoRoundTuning()
